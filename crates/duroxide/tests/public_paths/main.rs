//! Every public path, signature, field and variant that programs written for duroxide 0.1.x use.
//!
//! Compiling this file is the test: a missing or different item does not compile. Most functions
//! are therefore never called. Deliberate differences are in COMPAT.md. `provider_kit` names what
//! is newer: the parts that a provider outside this repository builds on.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test names the variants that it expects")]

mod activity;
mod client;
mod context;
mod context_hooks;
mod derives;
mod model;
mod observability;
mod provider_data;
mod provider_kit;
mod provider_traits;
mod registry;
mod root;
mod runtime;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(feature = "test-hooks")]
mod test_hooks;
#[cfg(feature = "testing")]
mod testing;
mod transfer;
#[cfg(all(feature = "sqlite", feature = "macros"))]
mod typed;

/// Asserts the type of a value.
fn is<T>(_value: T) {}

/// Asserts that a future may move between threads, as the runtime requires.
fn is_send<F: Future + Send>(future: F) -> F {
    future
}
