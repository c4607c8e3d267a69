//! The scripted model: what a chapter runs against when there is no API key.
//!
//! It is a real HTTP server on this machine's loopback address, so that the
//! real client, the real loop and the real tools run; only the model's words
//! come from the chapter's `demo.json`. The tests and the book's transcripts
//! play the same file.

mod demo;
mod server;

pub use demo::Demo;
pub use server::serve;
