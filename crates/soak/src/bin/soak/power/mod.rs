//! Power loss: the file calls of a node are recorded with the acknowledgements of its store, and
//! the store is opened again as any power cut within that recording could have left it.

mod args;
mod command;
mod cut;
mod disk_log;
mod image;
mod recorded_node;
mod recording;
mod recovery;
mod trace;

pub(crate) use args::{parse, parse_recorded};
pub(crate) use command::run;
pub(crate) use recorded_node::run as run_recorded_node;
