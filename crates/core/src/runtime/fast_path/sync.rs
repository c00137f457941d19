//! The primitives of files that `crates/interleavings` includes and tests with others.

pub(super) use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
