//! Which changes wake which waiters, on this node and on others.
//!
//! A call collects its [`Changes`](change::Changes). Once they are durable, the
//! [`Notifier`](notifier::Notifier) wakes the waiters of this node and puts them into the outbox,
//! which notifies other nodes. What a commit changes is decided in `after_commit`.

pub(crate) mod after_commit;
pub(crate) mod change;
pub(crate) mod listener;
pub(crate) mod notifier;
pub(crate) mod outbox;
pub(crate) mod payload;
