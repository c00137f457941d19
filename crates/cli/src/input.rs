//! Standard input. A thread of its own reads it: while it waits for a person or a pipe, the command
//! still notices an interrupt.

use tokio::sync::oneshot;

use crate::failure::{Failure, Result};

/// Runs a read of standard input without holding up the command.
pub(crate) async fn read<T: Send + 'static>(
    read: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let unreadable = || Failure::error("standard input cannot be read");
    let (sender, receiver) = oneshot::channel();
    // The thread may outlive the command: it ends with the process.
    let started = std::thread::Builder::new().spawn(move || drop(sender.send(read())));
    started.map_err(|_| unreadable())?;
    receiver.await.map_err(|_| unreadable())
}
