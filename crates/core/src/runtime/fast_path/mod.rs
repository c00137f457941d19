//! Steps of an instance that bypass both queues.
//!
//! The store keeps both queues complete, so every shortcut can be dropped at any time and the
//! queues take over. Turns and activities meet only here. The rules:
//!
//! 1. *Lease by commit.* The commit of a turn may lease the activities that it schedules to this
//!    node ([`LeasePlan`]). Only those: activities without a session, which the node's tag filter
//!    accepts and whose handler it has, and which the turn has not cancelled.
//! 2. *A slot first.* A planned activity occupies a slot before the commit. The last free slot
//!    stays with the worker queue, and a slot that owns a session stays with the session, so that
//!    activities in the queue cannot starve.
//! 3. *Prefetch.* Quick activities, as far as this node has measured ([`durations`]), may be leased
//!    beyond the free slots. They wait for a slot for a bounded time; what has not started by then
//!    is released to the queue and to other nodes ([`prefetch`]). Activities with a start limit are
//!    not prefetched.
//! 4. *Streaks are bounded.* A slot may continue with an activity of the turn that its own result
//!    caused, without a poll of the queue. While no other slot is free, it does so for a bounded
//!    number of steps and a bounded time ([`lease_plan`]).
//! 5. *Direct turn.* A finished activity may cause the next turn of its instance without a message,
//!    if the store accepts direct turns, the execution is in memory, has no pending commit, no
//!    messages wait for it, and it is the execution that scheduled the activity. [`direct_turns`]
//!    decides that: `takes_direct_turns` about the store, `take_execution` about the rest.
//! 6. *One leader.* At most one task takes direct turns of an instance at a time. Results that
//!    arrive meanwhile join its next turn ([`completions`]). A fetched turn leads too, so that
//!    results do not collide with it.
//! 7. *The store decides.* A direct turn counts only if nothing else has happened to the instance.
//!    Otherwise the execution is dropped, and the results go through the queue.
//! 8. *Leases stay.* Every activity keeps its lease until its result is stored. If this node dies,
//!    the leases expire and the queue redelivers.

mod completions;
mod direct_turns;
mod durations;
mod lease_plan;
mod prefetch;
mod release;
mod slot_runner;
mod state;
mod sync;

pub(crate) use lease_plan::{Assignment, LeasePlan, LeasedActivities, Streak};
pub(crate) use state::FastPath;
