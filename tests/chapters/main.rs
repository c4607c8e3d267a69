//! Black-box tests: each runs a chapter's binary against a fake model, as a
//! reader would run it against a real one. One test binary, one module a
//! chapter; later chapters must pass the tests of all earlier ones.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

mod support;

mod client;
mod gate;
mod gate_fuzz;
mod recorded;
mod terminal;
mod wire;

mod s00;
mod s01;
mod s02;
mod s03;
mod s04;
mod s05;
mod s06;
mod s07;
mod s08;
