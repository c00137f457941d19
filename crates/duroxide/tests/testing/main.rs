//! The test kit, used as programs use it.

#![cfg(all(feature = "testing", feature = "macros"))]

mod activity_env;
mod clippy_settings;
mod clock;
mod code;
mod crashes;
mod futures_crate;
mod long;
mod mocks;
mod orders;
mod replayer;
mod shape;
