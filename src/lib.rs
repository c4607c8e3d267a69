//! Build a code agent from zero: what the chapters stand on.
//!
//! First the helpers, then the one module that each chapter adds, in the order
//! of the book. A module may use what stands above it, never what comes later.

pub mod bash;
pub mod cli;
pub mod files;
pub mod llm;
pub mod message;
pub mod offline;
pub mod process;
pub mod schema;
pub mod settings;
pub mod store;
pub mod text;
pub mod tool;

#[path = "../chapters/s02-tool-use/registry.rs"]
pub mod registry;
