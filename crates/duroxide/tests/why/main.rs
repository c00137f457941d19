//! Why an instance waits: each kind of waiting, on each store, as the text that operators read.
//!
//! The clock stands still unless a test moves it, so that the texts are exact.
#![cfg(all(feature = "replay-version-test", any(feature = "sqlite", feature = "postgres")))]

#[macro_use]
mod world;

mod activities;
mod calls;
mod ends;
mod nodes;
mod other_providers;
mod suspensions;
mod turns;
