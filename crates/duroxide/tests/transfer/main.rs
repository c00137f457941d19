//! Instances that are exported from one store and imported into another one of a different kind:
//! nothing is lost, and they go on where they stopped.

#![cfg(all(feature = "sqlite", feature = "postgres"))]

mod support;

mod bad_files;
mod ended;
mod long;
mod old_events;
mod running;
mod trees;
mod waiting;
