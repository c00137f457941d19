//! Warms up connections before they are needed.
//!
//! The first call of a function on a connection reads the catalogue and plans every statement,
//! which takes longer than a hundred later calls. A warm-up calls the functions without rows.

use duroxide_core::providers::RegisteredActivities;
use futures_util::future::{join, join_all};

use crate::commit::turn_commit;
use crate::connect::connection::{Pool, PooledSession};
use crate::connect::session::Session;
use crate::error::JobError;
use crate::fast_path::short_commit;
use crate::fetch::held::ExpiredLeases;
use crate::fetch::turns;
use crate::limits;
use crate::queues::{orchestrator_queue, work_route, worker_queue};
use crate::read::history;
use crate::schema::call::Argument;
use crate::store::Store;

/// Warms up the connections that a node always uses. If that fails, the first call that needs the
/// connection reports why.
pub(crate) async fn warm_up(store: &Store) {
    let readers = store.settings.connections.min(limits::WARM_READERS);
    let (writers, readers) = join(
        connections(&store.connections.writers, store.settings.writers),
        connections(&store.connections.pool, readers),
    )
    .await;
    let writers = join_all(writers.iter().map(|session| warm_up_writer(store, session)));
    let readers = join_all(readers.iter().map(|session| warm_up_reader(store, session)));
    let (writers, readers) = join(writers, readers).await;
    for error in writers.into_iter().chain(readers).filter_map(Result::err) {
        tracing::debug!(
            target: "duroxide::providers::postgres",
            %error,
            "could not warm up a connection; its first call takes longer"
        );
    }
}

/// Several at once, so that they are different ones.
async fn connections(pool: &Pool, count: usize) -> Vec<PooledSession> {
    let all = join_all((0..count).map(|_| pool.get())).await;
    all.into_iter().filter_map(Result::ok).collect()
}

async fn warm_up_writer(store: &Store, session: &Session) -> Result<(), JobError> {
    turn_commit::commit_turns(store, session, &[]).await?;
    short_commit::warm_up(store, session).await?;
    orchestrator_queue::insert_all(store, session, &[], None).await?;
    worker_queue::finish_all(store, session, &[]).await?;
    Ok(())
}

async fn warm_up_reader(store: &Store, session: &Session) -> Result<(), JobError> {
    turns::warm_up(store, session).await?;
    let (owners, locks): (Vec<Option<String>>, Vec<Option<i64>>) = (Vec::new(), Vec::new());
    let routes = Some(vec![work_route::route(None)]);
    let expired = ExpiredLeases::<i64>::all_free();
    let no_slots: [Argument<'_>; 10] = [
        ("p_now", &store.now()),
        ("p_lock_for", &0_i64),
        ("p_routes", &routes),
        ("p_code", &Some(vec![RegisteredActivities::ANY_NODE_KEY])),
        ("s_owner", &owners),
        ("s_lock_for", &locks),
        ("p_asks", &expired.asks),
        ("p_free", &expired.free),
        ("h_id", &expired.held_keys),
        ("h_token", &expired.held_tokens),
    ];
    session.call(&store.schema, worker_queue::FETCH_WORK, &no_slots).await?;
    let no_instance: [Argument<'_>; 2] =
        [("p_instances", &vec![""]), ("p_first_wanted", &vec![true])];
    session.call(&store.schema, history::READ_OUTCOMES, &no_instance).await?;
    Ok(())
}
