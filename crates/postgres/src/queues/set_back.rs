//! Messages of a time that was not: the server's clock was set back after they were added.
//!
//! A message that is visible at once carries the time of its arrival, so that messages are fetched
//! in the order in which they came and became due. If the clock is set back, that time is in the
//! future, and the message would wait for it.

use std::sync::Arc;

use crate::error::JobError;
use crate::notify::change::Changes;
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

/// Other messages have a time that was asked for, which stays.
async fn make_visible(store: &Store) -> Result<usize, JobError> {
    let sql = "WITH clock AS MATERIALIZED (SELECT coalesce($1, {schema}.now_ms()) AS now)
         UPDATE {schema}.orchestrator_queue q SET visible_at = c.now, created_at = c.now
         FROM clock c
         WHERE NOT q.parked AND q.visible_at > c.now AND q.visible_at = q.created_at
         RETURNING 1";
    Ok(store.query(sql, &[&store.now()]).await?.len())
}
