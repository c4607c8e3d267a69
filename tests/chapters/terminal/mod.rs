//! The terminal of all chapters, seen from outside: exit codes, pipes, signals
//! and a real pseudo-terminal.

mod pipes;
mod program;
mod pty;
mod signals;
