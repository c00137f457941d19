//! The primitives of the included files.

pub(super) use shuttle::sync::{Arc, Mutex, MutexGuard};
pub(super) use std::sync::PoisonError;
