//! What is new in this contract: batches, known history, waiting for changes, parking, progress,
//! schedule-to-start limits, live workers, and what the decisions of this project promise beyond
//! the published suite.

mod batches;
mod changes;
mod commits;
mod known_history;
mod leases;
mod listings;
mod messages;
mod outcomes;
mod progress;
mod start_limits;
mod unknown_instances;
mod versions;
mod waiting;
mod work_batches;
mod workers;

mod list;

pub use batches::*;
pub use changes::*;
pub use commits::*;
pub use known_history::*;
pub use leases::*;
pub use listings::*;
pub use messages::*;
pub use outcomes::*;
pub use progress::*;
pub use start_limits::*;
pub use unknown_instances::*;
pub use versions::*;
pub use waiting::*;
pub use work_batches::*;
pub use workers::*;
