//! The terminal: where prompts come from and where everything is printed.
//!
//! stdout carries the answers and nothing else, so that a chapter can be used
//! in a pipe; notices, traces and questions go to stderr. One line at a time
//! is read, on a thread of its own: a thread that waits for the keyboard
//! cannot be cancelled, but a turn can.

mod args;
mod console;
mod input;
mod question;
mod run;
mod screen;
mod source;
mod start;
mod ui;

pub use console::{Console, Labelled, Unattended};
pub use run::main;
pub use screen::{Look, note, show};
pub use start::Setup;
pub use ui::Ui;
