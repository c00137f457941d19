//! Times that were not: the server's clock was set back after they were stored.
//!
//! A message that is visible at once carries the time of its arrival, so that messages are fetched
//! in the order in which they came and became due. A lease or a delay carries the time at which it
//! ends. If the clock is set back, these times are too far in the future: messages would wait, and
//! the leases of dead nodes would last, for as long as the clock has lost.

use std::sync::Arc;

use tokio_postgres::Row;

use crate::error::JobError;
use crate::limits;
use crate::notify::change::{ANY_ROUTE, Changes};
use crate::schema::call::Argument;
use crate::schema::number::count_from_db;
use crate::store::Store;

/// Corrects such times whenever the clock was set back, until the task is aborted.
pub(crate) async fn repair(store: Arc<Store>) {
    // The first time it is not known whether the clock was set back while no node ran.
    let mut is_sure = false;
    loop {
        store.clock_set_back.notified().await;
        while let Outcome::Unfinished = repair_once(&store, is_sure).await {
            tokio::time::sleep(limits::SET_BACK_PAUSE).await;
        }
        is_sure = true;
    }
}

enum Outcome {
    Finished,
    /// Other transactions are changing some of them.
    Unfinished,
}

async fn repair_once(store: &Store, is_sure: bool) -> Outcome {
    match correct(store, is_sure).await {
        Ok(Corrected { messages: 0, leases: 0, outcome }) => outcome,
        Ok(Corrected { messages, leases, outcome }) => {
            tracing::warn!(
                target: "duroxide::providers::postgres",
                messages,
                leases,
                "the server's clock was set back; messages from its future are visible now, and \
                 leases and delays last for their own length"
            );
            let mut changes = Changes::default();
            changes.orchestrator_queue();
            changes.worker_queue(ANY_ROUTE);
            changes.start_limits();
            store.publish(changes);
            outcome
        }
        Err(error) => {
            tracing::warn!(
                target: "duroxide::providers::postgres",
                %error,
                "could not correct stored times after the server's clock was set back; messages \
                 are fetched and leases end when their stored time comes"
            );
            Outcome::Finished
        }
    }
}

struct Corrected {
    messages: usize,
    /// Leases, delays and limits.
    leases: usize,
    outcome: Outcome,
}

async fn correct(store: &Store, is_sure: bool) -> Result<Corrected, JobError> {
    let arguments: [Argument<'_>; 1] = [("p_now", &store.now())];
    let rows = store.background().call_repeatable("correct_future_leases", &arguments).await?;
    let leases = rows.first().map_or(0, count);
    let is_left = rows.first().is_some_and(|row| row.get("o_left"));
    let mut messages = correct_messages(store, is_sure).await?;
    if !is_sure && messages + leases > 0 {
        messages += correct_messages(store, true).await?;
    }
    let outcome = if is_left { Outcome::Unfinished } else { Outcome::Finished };
    Ok(Corrected { messages, leases, outcome })
}

/// Corrects all messages, or those that are quickly found.
async fn correct_messages(store: &Store, all: bool) -> Result<usize, JobError> {
    let arguments: [Argument<'_>; 2] = [("p_now", &store.now()), ("p_all", &all)];
    let rows = store.background().call_repeatable("correct_future_messages", &arguments).await?;
    Ok(rows.first().map_or(0, count))
}

fn count(row: &Row) -> usize {
    count_from_db(row.get("o_count"))
}
