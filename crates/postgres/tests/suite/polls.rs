//! Waiting until a fetch has polled the server and waits for work.

use std::time::Duration;

use tokio::time::timeout;

use crate::support::*;

/// A fetch that has not polled by then continues with the result of an earlier poll.
const POLLS_WITHIN: Duration = Duration::from_secs(2);
/// A response that the server has sent before these is received during them.
const ROUND_TRIPS: usize = 5;

/// The polls of a store's nodes since some moment.
pub(crate) struct Polls {
    sql: Sql,
    since: String,
}

impl Polls {
    /// Call it before the fetch.
    pub(crate) async fn from_now(store: &Store) -> Self {
        let sql = store.sql().await;
        let since = sql.text("SELECT clock_timestamp()::TEXT").await;
        Self { sql, since }
    }

    /// Waits until a poll has ended, and none runs. The fetch has to be polled meanwhile.
    pub(crate) async fn until_one_ends(&self) {
        let ended = format!(
            "SELECT CASE WHEN bool_or(state <> 'idle') THEN 0 ELSE count(*) END
             FROM pg_stat_activity
             WHERE query LIKE '%$%fetch_turns%' AND pid <> pg_backend_pid()
                 AND query_start >= '{}'",
            self.since
        );
        let polled = async { while self.sql.count(&ended).await == 0 {} };
        drop(timeout(POLLS_WITHIN, polled).await);
        for _ in 0..ROUND_TRIPS {
            self.sql.count("SELECT 1::BIGINT").await;
        }
    }
}
