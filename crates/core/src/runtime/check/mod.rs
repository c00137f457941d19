//! The replay checker: compares recorded histories with the code of this build, before the build
//! is deployed. It only reads. `docs/upgrades.md` shows it in a test, in CI and at start-up.

mod checker;
mod files;
mod mending;
mod patches;
mod report;
mod startup;
mod store;
mod verdict;

pub use checker::Checker;
pub use patches::PatchUse;
pub use report::{CheckReport, Progress, VerdictCounts};
pub(crate) use startup::before_start;
pub use startup::{StartupCheck, StartupRefusal};
pub use verdict::{CheckedExecution, Verdict};

pub use crate::engine::{Agreement, Disagreement};
pub use crate::model::PatchState;
