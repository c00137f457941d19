//! Parts that every storage provider needs and writes alike.
//!
//! The bundled providers use them, and a provider of your own can too. None of them knows a
//! database: they turn values of the contract into the columns of a row and back, and wait.
//!
//! - [`EncodedEvent`], [`EncodedMessage`], [`EncodedActivity`], [`EncodedWorker`]: the columns of a
//!   row, and what may go into which queue.
//! - [`decode_event`], [`decode_history`], [`decode_messages`], [`decode_activity`],
//!   [`decode_stored_event`]: rows back into values, and what happens to a row that cannot be
//!   decoded.
//! - [`kv_changes`], [`last_kv_changes`], [`last_custom_status`], [`ends_execution`]: what the
//!   events of a commit change besides the history.
//! - [`has_started`]: whether an instance runs, also if its first event cannot be decoded.
//! - [`StartedOrchestration`]: what an instance runs that is not stored yet.
//! - [`LongPoll`]: the wait between two polls of a fetch.
//! - [`Changes`]: what a commit changed, published to the [`ChangeHub`](super::ChangeHub) once it
//!   is durable.
//! - [`to_db`], [`from_db`], [`count_from_db`]: unsigned numbers in signed columns.
//! - [`read_status_in_two_calls`]: a status whose parts are read separately.
//! - [`cursor_at`], [`number_behind`]: cursors of a list that is ordered by one number.
//! - [`TurnPlace`]: cursors of the list of stranded turns.
//! - [`RowScan`], [`RowPlace`], [`RowKey`]: cursors and pages of a query over instances.
//! - [`query_by_index`], [`count_by_index`], [`InstanceSource`]: queries over instances by the
//!   indexes of a store.
//! - [`ATTRIBUTE_KEYS_FROM`], [`ATTRIBUTE_KEYS_END`], [`decode_attribute`]: search attributes among
//!   the key-value state.
//! - [`BulkErrors`]: an operation on many instances that goes on past one that fails.
//! - `+=` on [`DeleteInstanceResult`](super::DeleteInstanceResult) and
//!   [`PruneResult`](super::PruneResult): totals of operations on many instances.
//!
//! A fetch of a provider, in outline:
//!
//! ```
//! use std::time::Duration;
//!
//! use duroxide_core::providers::kit::LongPoll;
//! use duroxide_core::providers::{ChangeHub, ChangeScope, Clock, FetchedTurn, ProviderError};
//!
//! # async fn poll_database() -> Result<(Vec<FetchedTurn>, Option<u64>), ProviderError> {
//! #     Ok((Vec::new(), None))
//! # }
//! async fn fetch(
//!     hub: &ChangeHub,
//!     clock: &dyn Clock,
//!     poll_timeout: Duration,
//! ) -> Result<Vec<FetchedTurn>, ProviderError> {
//!     // The watch exists before the first poll, so a change after that poll ends the wait.
//!     let mut long_poll = LongPoll::new(hub, ChangeScope::OrchestratorQueue, poll_timeout);
//!     loop {
//!         let (turns, next_due) = poll_database().await?;
//!         if !turns.is_empty() || !long_poll.wait(clock, next_due).await {
//!             return Ok(turns);
//!         }
//!     }
//! }
//! ```

mod announced_turns;
mod bulk;
mod changes;
mod cursor;
mod decode;
mod delta;
mod encode;
mod long_poll;
mod number;
mod row_error;
mod row_place;
mod search;
mod started;
mod status;
mod totals;
mod turn_place;

pub use crate::model::stored_attribute::{
    ATTRIBUTE_KEYS_END, ATTRIBUTE_KEYS_FROM, decode_attribute,
};
pub use announced_turns::{decode_announced_turns, encode_announced_turns};
pub use bulk::BulkErrors;
pub use changes::Changes;
pub use cursor::{cursor_at, number_behind};
pub use decode::{
    activity_name, decode_activity, decode_event, decode_history, decode_messages,
    decode_start_event, decode_stored_event, decode_worker, has_started, message_variant,
    waiting_start,
};
pub use delta::{KvChange, ends_execution, kv_changes, last_custom_status, last_kv_changes};
pub use encode::{EncodedActivity, EncodedEvent, EncodedMessage, EncodedWorker, MessageKind};
pub use long_poll::LongPoll;
pub use number::{count_from_db, from_db, to_db};
pub use row_error::RowError;
pub use row_place::{RowKey, RowPlace, RowScan};
pub use search::{
    InstanceSet, InstanceSource, KeyRequest, KeySource, count_by_index, prefix_end, query_by_index,
};
pub use started::StartedOrchestration;
pub use status::read_status_in_two_calls;
pub use turn_place::TurnPlace;
