//! Workloads and measurements that are the same for every engine.
//!
//! An engine implements [`Engine`] and [`Opener`]; [`child::Run`] runs one workload once and
//! returns one [`Sample`].

pub mod child;
pub mod engine;
pub mod job;
pub mod options;
pub mod postgres;
pub mod prefixed;
pub mod sample;
pub mod stats;
pub mod usage;
pub mod workload;
pub mod workloads;

pub use engine::{Engine, Failure, Opener};
pub use job::Job;
pub use sample::Sample;
pub use workload::{Case, Workload};
