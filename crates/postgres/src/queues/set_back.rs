//! Messages of a time that was not: the server's clock was set back after they were added.
//!
//! A message that is visible at once carries the time of its arrival, so that messages are fetched
//! in the order in which they came and became due. If the clock is set back, that time is in the
//! future, and the message would wait for it.

use std::sync::Arc;

use crate::error::JobError;
use crate::notify::change::Changes;
use crate::schema::call::Argument;
use crate::schema::number::count_from_db;
use crate::store::Store;

/// Makes such messages visible whenever the clock was set back, until the task is aborted.
pub(crate) async fn repair(store: Arc<Store>) {
    loop {
        store.clock_set_back.notified().await;
        match make_visible(&store).await {
            Ok(0) => {}
            Ok(count) => {
                tracing::warn!(
                    target: "duroxide::providers::postgres",
                    count,
                    "the server's clock was set back; messages from its future are visible now"
                );
                let mut changes = Changes::default();
                changes.orchestrator_queue();
                store.publish(changes);
            }
            Err(error) => {
                tracing::warn!(
                    target: "duroxide::providers::postgres",
                    %error,
                    "could not repair messages after the server's clock was set back; they are \
                     fetched when their time comes"
                );
            }
        }
    }
}

async fn make_visible(store: &Store) -> Result<usize, JobError> {
    let arguments: [Argument<'_>; 1] = [("p_now", &store.now())];
    let rows = store.call_repeatable("correct_future_messages", &arguments).await?;
    Ok(rows.first().map_or(0, |row| count_from_db(row.get("o_count"))))
}
