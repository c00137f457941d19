//! The test kit of Duroxide. Programs use it as `duroxide::testing`; `docs/testing.md` shows how.
//!
//! [`TestEnv`] runs workflows on a store in memory, with a clock that skips to the next timer.
//! [`ActivityEnv`] runs one activity. [`Replayer`] replays recorded histories.

mod activity_env;
mod blueprint;
mod builder;
mod crashes;
mod env;
mod error;
mod gate;
mod handlers;
mod journal;
mod limits;
mod mock;
mod node_store;
mod orders;
mod replayer;
mod snapshot;
mod time;

pub use activity_env::ActivityEnv;
pub use builder::TestEnvBuilder;
pub use crashes::CrashReport;
pub use env::TestEnv;
pub use error::TestError;
pub use journal::RecordedCall;
pub use replayer::Replayer;
