//! Acts on many instances: what is asked for, how far it is, and what became of each instance.
//!
//! A bulk act is an instance of a built-in orchestration, `duroxide.bulk`, whose code is in
//! `runtime::bulk`. Its histories are the record of the act: who asked for it and why, which ids it
//! concerns, and the outcome for each. Its custom status is the progress.

mod act;
mod calls;
mod outcomes;
mod progress;
mod recorded;

pub use act::{BulkAct, BulkRequest, BulkTarget};
pub use calls::BulkPlan;
pub use outcomes::{BulkOutcome, BulkOutcomes, BulkResult};
pub use progress::{BulkPhase, BulkProgress};
pub(crate) use recorded::{
    AppliedSlice, ApplyInput, BULK, BulkCode, BulkState, CURRENT_CODE, FIRST_CODE, FreezeInput,
    FrozenPage, Stage,
};
