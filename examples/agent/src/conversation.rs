//! The state of a conversation, and what clients see of it.

use serde::{Deserialize, Serialize};

use crate::model::Message;

/// Messages that the model sees. Older ones are forgotten when an execution ends.
const MESSAGES_KEPT: usize = 20;

/// Lines in the status: enough for a client that reads a little late.
const LINES_KEPT: usize = 30;

/// All that one execution leaves to the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// Tokens that the model may still use.
    pub tokens_left: u64,
    /// What was said.
    pub messages: Vec<Message>,
    /// What clients see.
    pub status: Status,
}

/// The custom status, as JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Whether the agent waits for the user.
    pub waiting: bool,
    /// How many messages of the user are answered.
    pub answered: u64,
    /// The last lines of the conversation, with their numbers. A client prints those that it has
    /// not seen, so that it misses none although it does not see every status.
    pub lines: Vec<(u64, String)>,
}

impl Conversation {
    /// A conversation that has not started.
    pub fn new(tokens: u64) -> Self {
        Self { tokens_left: tokens, messages: Vec::new(), status: Status::default() }
    }

    /// Adds a line for clients.
    pub(crate) fn note(&mut self, line: String) {
        let lines = &mut self.status.lines;
        let number = lines.last().map_or(1, |(last, _line)| last + 1);
        lines.push((number, line));
        lines.drain(..lines.len().saturating_sub(LINES_KEPT));
    }

    /// Drops old messages, so that neither the model's work nor the next execution's input grows.
    /// A real agent would let the model sum them up.
    pub(crate) fn forget(&mut self) {
        self.messages.drain(..self.messages.len().saturating_sub(MESSAGES_KEPT));
    }
}
