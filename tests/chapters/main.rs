//! Black-box tests: each runs a chapter's binary against a fake model, as a
//! reader would run it against a real one. One test binary, one module a
//! chapter; later chapters must pass the tests of all earlier ones.

mod support;

mod s00;
mod s01;
mod s02;
