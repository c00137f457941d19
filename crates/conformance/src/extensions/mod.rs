//! Promises beyond the suite of 0.1.32: batches, known history, activities leased by commits,
//! direct turns, waiting for changes, parking, progress, schedule-to-start limits, live workers,
//! kinds of errors, and stricter versions of older promises.

mod batches;
mod changes;
mod client_messages;
mod closing;
mod code_filter;
mod commits;
mod direct_failures;
mod direct_races;
mod direct_refusals;
mod direct_turns;
mod error_kinds;
mod known_history;
mod lease_holders;
mod leases;
mod listings;
mod lost_locks;
mod messages;
mod new_starts;
mod outcomes;
mod progress;
mod reclaiming;
mod start_limits;
mod suspension;
mod unknown_instances;
mod versions;
mod vouching;
mod waiting;
mod waiting_starts;
mod work_batches;
mod work_leases;
mod workers;

mod list;

pub use batches::*;
pub use changes::*;
pub use client_messages::*;
pub use closing::*;
pub use code_filter::*;
pub use commits::*;
pub use direct_failures::*;
pub use direct_races::*;
pub use direct_refusals::*;
pub use direct_turns::*;
pub use error_kinds::*;
pub use known_history::*;
pub use lease_holders::*;
pub use leases::*;
pub use listings::*;
pub use lost_locks::*;
pub use messages::*;
pub use new_starts::*;
pub use outcomes::*;
pub use progress::*;
pub use reclaiming::*;
pub use start_limits::*;
pub use suspension::*;
pub use unknown_instances::*;
pub use versions::*;
pub use vouching::*;
pub use waiting::*;
pub use waiting_starts::*;
pub use work_batches::*;
pub use work_leases::*;
pub use workers::*;
