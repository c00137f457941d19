//! Names the transactions that add messages and activities, so that one whose response was lost can
//! be settled.
//!
//! Each of them writes its number into the row of its sender, and a sender has one transaction at a
//! time. After a lost response the node closes the sender: the row then shows whether the
//! transaction was committed, and if it was not, it never will be. The node then writes the rows
//! again under another sender, so that each has one effect. A row is kept for an hour after its
//! last use, and a node settles a transaction within the deadline of the call.
//!
//! A node replaces its senders from time to time: while a long transaction of another session keeps
//! the server from removing old versions of rows, each update reads all versions of its row.

use tokio::time::Instant;
use uuid::Uuid;

use crate::error::JobError;
use crate::limits;
use crate::schema::call::Argument;
use crate::store::Store;
use crate::write::group::no_result;

/// Has at most one transaction under way.
#[derive(Debug)]
pub(crate) struct Sender {
    id: Uuid,
    last: i64,
    since: Instant,
}

/// One transaction of a sender.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sending {
    pub(crate) sender: Uuid,
    pub(crate) number: i64,
}

impl Sender {
    pub(crate) fn new() -> Self {
        Self { id: Uuid::new_v4(), last: 0, since: Instant::now() }
    }

    /// Whether it may have another transaction.
    pub(crate) fn is_fresh(&self) -> bool {
        self.last < limits::SENDINGS_MAX && self.since.elapsed() < limits::SENDER_AGE_MAX
    }

    /// The next transaction.
    pub(crate) fn next(&mut self) -> Sending {
        self.last += 1;
        Sending { sender: self.id, number: self.last }
    }
}

impl Sending {
    /// Whether the transaction was committed. If not, it never will be.
    pub(crate) async fn settle(self, store: &Store) -> Result<bool, JobError> {
        let arguments: [Argument<'_>; 2] = [("p_now", &store.now()), ("p_sender", &self.sender)];
        let rows = store.call_repeatable("close_sender", &arguments).await?;
        let row = rows.first().ok_or_else(no_result)?;
        Ok(row.get::<_, i64>("o_number") >= self.number)
    }
}
