//! The likely mistakes, each with the whole text that reports it: `texts` has one file for each.
//! Those that do not compile are in `crates/macros/tests/compile_fail`.

#![cfg(all(feature = "sqlite", feature = "macros", feature = "testing"))]

mod determinism;
mod guide;
mod in_production;
mod registration;
mod steps;
mod texts;
mod types;
