//! What is new in this contract: batches, known history, leases and turns without a fetch, waiting for
//! changes, parking, and what the decisions of this project promise beyond the published suite.

mod batches;
mod changes;
mod commits;
mod direct_failures;
mod direct_races;
mod direct_refusals;
mod direct_turns;
mod known_history;
mod leases;
mod listings;
mod messages;
mod outcomes;
mod unknown_instances;
mod versions;
mod waiting;
mod work_batches;
mod work_leases;

mod list;

pub use batches::*;
pub use changes::*;
pub use commits::*;
pub use direct_failures::*;
pub use direct_races::*;
pub use direct_refusals::*;
pub use direct_turns::*;
pub use known_history::*;
pub use leases::*;
pub use listings::*;
pub use messages::*;
pub use outcomes::*;
pub use unknown_instances::*;
pub use versions::*;
pub use waiting::*;
pub use work_batches::*;
pub use work_leases::*;
