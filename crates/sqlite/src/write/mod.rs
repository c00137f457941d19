//! The thread that owns the write connection: its jobs, its transactions and its flushes.

pub(crate) mod flush;
#[cfg(test)]
mod flush_tests;
pub(crate) mod holder;
pub(crate) mod job;
pub(crate) mod round;
pub(crate) mod slices;
pub(crate) mod take_over;
pub(crate) mod writer;
