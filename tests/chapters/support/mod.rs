//! What every chapter's tests stand on.

pub mod agent;
pub mod case;
pub mod fake;
pub mod protocol;
pub mod raw;

pub use case::{Case, Run, until};
pub use fake::{Answer, call, calls, http, say};

/// Every binary, in the order of the book.
const BINARIES: [(&str, &str); 9] = [
    ("s00-llm-http", env!("CARGO_BIN_EXE_s00-llm-http")),
    ("s01-agent-loop", env!("CARGO_BIN_EXE_s01-agent-loop")),
    ("s02-tool-use", env!("CARGO_BIN_EXE_s02-tool-use")),
    ("s03-permission", env!("CARGO_BIN_EXE_s03-permission")),
    ("s04-hooks", env!("CARGO_BIN_EXE_s04-hooks")),
    ("s05-todo", env!("CARGO_BIN_EXE_s05-todo")),
    ("s06-subagent", env!("CARGO_BIN_EXE_s06-subagent")),
    ("s07-skill-loading", env!("CARGO_BIN_EXE_s07-skill-loading")),
    ("s08-context-compact", env!("CARGO_BIN_EXE_s08-context-compact")),
];

/// The binaries from chapter `first` on: what a chapter promises, all later
/// ones must keep.
pub fn since(first: &str) -> impl Iterator<Item = &'static str> {
    let names = BINARIES.iter().map(|(name, _)| *name);
    names.skip_while(move |name| !name.starts_with(first))
}

/// Where the binary of this name is.
fn path(name: &str) -> &'static str {
    let found = BINARIES.iter().find(|(one, _)| *one == name);
    found.unwrap_or_else(|| panic!("{name} is not in BINARIES")).1
}
