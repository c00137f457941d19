//! Why an instance waits: one primary cause, its evidence, and what to try next.
//!
//! The answer comes from the store alone: what the history asked for and did not get, what the
//! queues hold of the instance, which nodes are live. No code of the instance is run.
//!
//! # The JSON form
//!
//! [`Why`] and its parts implement `serde::Serialize`. Each struct is an object with its fields as
//! keys; a value that does not exist is `null`. Times are milliseconds since the Unix epoch. An
//! enum is an object whose key `kind` is the variant in snake case, with its fields beside it. A
//! [`StrandedReason`](super::StrandedReason) is an object with the keys `reason`, the word that
//! metrics use, and `text`. Later releases add keys and kinds; they rename none.

mod answer;
mod assemble;
mod cause;
mod gather;
mod history;
mod json;
mod lines;
mod next_step;
mod parts;
mod streams;
mod text;
mod wait_text;

pub use answer::{
    ActivityState, BufferedMessages, ChildState, EarlierFailures, Ended, Listed, Outcome, Progress,
    QueuedStart, Suspended, TurnFacts, UndecodableEvents, UnreadMessages, WaitingActivity,
    WaitingChild, WaitingEvent, WaitingTimer, Why,
};
pub use cause::{Cause, LimitReached};
pub use next_step::NextStep;
