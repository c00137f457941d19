//! From a home-made job table to workflows, while both run.
//!
//! - [`JobTable`] is the old table, and [`old_worker`] the loop that polls it.
//! - [`run_job()`] is a job as a workflow: one instance for each, whose id is made from the id
//!   of the row.
//! - [`change_over()`] moves the jobs of one kind from the table to workflows. It claims rows, so
//!   that no old worker takes them, starts an instance for each, and marks the rows. Each step may
//!   be repeated after a crash: a row is claimed once, and an instance is started once.

mod job;
mod mover;
mod old_worker;
mod post;
mod table;

pub use job::{Worker, instance_id, run_job};
pub use mover::{OLD_STOPPED, change_over};
pub use old_worker::{old_worker, work_once};
pub use post::Post;
pub use table::{ATTEMPTS_MAX, Counts, Job, JobTable};
