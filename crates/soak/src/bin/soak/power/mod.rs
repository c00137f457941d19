//! Power loss and kills.
//!
//! Cuts: the file calls of a node are recorded with the acknowledgements of its store, and the
//! store is opened again as any power cut within that recording could have left it. Kill points: a
//! node is killed at each of its file calls. Kills: a PostgreSQL server is killed under load.

mod args;
mod command;
mod cut;
mod cuts;
mod disk_log;
mod held;
mod image;
mod kill_points;
mod parallel;
mod recorded_node;
mod recording;
mod recovery;
mod scenario;
mod server_kills;
mod trace;

pub(crate) use args::{parse, parse_recorded, parse_scenario};
pub(crate) use command::run;
pub(crate) use held::Held;
pub(crate) use recorded_node::run as run_recorded_node;
pub(crate) use scenario::run as run_scenario;
