//! Leasing turns.

use std::collections::HashMap;
use std::sync::Arc;

use duroxide_core::model::INITIAL_EXECUTION_ID;
use duroxide_core::providers::kit::{StartedOrchestration, decode_history, decode_messages};
use duroxide_core::providers::{
    DeferredHistory, FetchFilter, FetchedTurn, HistoryMark, KnownHistory, KvEntry,
    OrchestrationItem, RegisteredOrchestrations, SemverRange, TurnState, WorkItem,
};
use duroxide_core::{Event, EventKind};
use futures_util::future::join_all;
use tokio::time::Instant;
use tokio_postgres::Row;

use crate::connect::session::Session;
use crate::error::JobError;
use crate::fetch::held::ExpiredLeases;
use crate::fetch::isolation;
use crate::fetch::lease_token::TurnToken;
use crate::fetch::turn_lock::{self, Release};
use crate::limits;
use crate::queues::orchestrator_queue::code_key;
use crate::read::{history, kv};
use crate::schema::call::Argument;
use crate::schema::number::{attempts, from_db, lease_length, to_db};
use crate::schema::stored_text::from_stored;
use crate::schema::version_key::version_key;
use crate::store::Store;

/// What a dispatcher requests.
pub(crate) struct TurnRequest {
    pub(crate) turns_max: usize,
    pub(crate) lock_for: i64,
    pub(crate) filter: Arc<FetchFilter>,
    pub(crate) known: Option<Arc<dyn KnownHistory>>,
    /// The caller reads long histories for itself.
    pub(crate) defers_histories: bool,
}

/// What a fetch found.
#[derive(Debug, Default)]
pub(crate) struct TurnBatch {
    pub(crate) turns: Vec<RawTurn>,
    /// When something may become fetchable although nothing changes.
    pub(crate) next_due: Option<u64>,
    /// The call stopped before it had checked everything.
    pub(crate) unfinished: bool,
    /// Before the leases began.
    pub(crate) leased_at: Option<std::time::Instant>,
}

/// A locked turn whose texts are not decoded yet.
#[derive(Debug)]
pub(crate) struct RawTurn {
    token: TurnToken,
    /// `None` while the instance is not stored.
    named: Option<(String, String)>,
    execution_id: Option<i64>,
    incarnation: Option<u64>,
    last_event: Option<i64>,
    /// The commit that appended the last event.
    last_commit: Option<u64>,
    messages: Vec<(i64, String)>,
    attempt_count: u32,
    /// `None` if it is not read yet.
    kv_snapshot: Option<HashMap<String, KvEntry>>,
    history: StoredHistory,
    /// Bytes of the history, or of its first events.
    history_bytes: Option<i64>,
    mark: Option<HistoryMark>,
}

/// The part of a history that the caller does not have.
#[derive(Debug)]
enum StoredHistory {
    /// Not read yet.
    Missing,
    /// All of it.
    Whole(Vec<String>),
    /// What follows an event that the caller has.
    After(i64, Vec<String>),
    /// Read in parts, as the caller gets it.
    State(Box<TurnState>),
    /// The caller reads it.
    Deferred(DeferredHistory),
}

/// The function that leases turns.
const FETCH_TURNS: &str = "fetch_turns";

/// Locks up to `turns_max` instances that have visible messages.
pub(crate) async fn fetch_turns(
    store: &Store,
    request: &TurnRequest,
) -> Result<TurnBatch, JobError> {
    if !request.filter.allows_some_turn() {
        return Ok(TurnBatch::default());
    }
    let mut parameters = Parameters::of(store, request, ExpiredLeases::unknown(&store.holders));
    loop {
        let requested = Instant::now();
        let rows = match store.call(FETCH_TURNS, &parameters.arguments()).await {
            Ok(rows) => rows,
            Err(error) => {
                if !isolation::isolate(store, &parameters, &error).await {
                    return Err(error);
                }
                parameters.skip = store.set_aside.skipped(store.clock().now_ms());
                continue;
            }
        };
        let token = |instance: &String, id| TurnToken { id, instance: instance.clone() }.text();
        let expired = parameters.expired.found(&store.holders, &rows, "o_expired_instances", token);
        if let Some(expired) = expired {
            parameters.expired = expired;
            continue;
        }
        let mut batch = complete(store, request, read_batch(store, requested, &rows)).await?;
        if !parameters.skip.is_empty() {
            let due = store.set_aside.next_due(store.clock().now_ms());
            batch.next_due = batch.next_due.into_iter().chain(due).min();
        }
        return Ok(TurnBatch { leased_at: Some(requested.into_std()), ..batch });
    }
}

/// Runs the statements of a fetch on no rows.
pub(crate) async fn warm_up(store: &Store, session: &Session) -> Result<(), JobError> {
    let filter = Arc::new(FetchFilter::everything());
    let nothing =
        TurnRequest { turns_max: 0, lock_for: 0, filter, known: None, defers_histories: false };
    let parameters = Parameters::of(store, &nothing, ExpiredLeases::all_free());
    session.call(&store.schema, FETCH_TURNS, &parameters.arguments()).await?;
    Ok(())
}

impl TurnRequest {
    /// How many turns one call may lease.
    fn turns_max_in_db(&self) -> i32 {
        let turns_max = self.turns_max.min(limits::TURNS_PER_FETCH_MAX);
        i32::try_from(turns_max).unwrap_or(i32::MAX)
    }
}

/// The values of one call.
pub(crate) struct Parameters {
    pub(crate) now: Option<i64>,
    turns_max: i32,
    lock_for: i64,
    pub(crate) from: Option<Vec<Vec<u8>>>,
    pub(crate) to: Option<Vec<Vec<u8>>>,
    pub(crate) code: Option<Vec<Vec<u8>>>,
    pub(crate) node: i64,
    grace: i64,
    expired: ExpiredLeases<String>,
    /// Stored ids of instances that this node leaves alone.
    pub(crate) skip: Vec<String>,
}

impl Parameters {
    fn of(store: &Store, request: &TurnRequest, expired: ExpiredLeases<String>) -> Self {
        let ranges = request.filter.replays.as_ref().map(|it| &it.supported_duroxide_versions);
        let keys = |end: fn(&SemverRange) -> &semver::Version| {
            ranges.map(|ranges| ranges.iter().map(|range| version_key(end(range))).collect())
        };
        Self {
            now: store.now(),
            turns_max: request.turns_max_in_db(),
            lock_for: request.lock_for,
            from: keys(|range| &range.min),
            to: keys(|range| &range.max),
            code: request.filter.orchestrations.as_ref().map(code_keys),
            node: store.node,
            grace: lease_length(store.settings.warm_grace),
            expired,
            skip: store.set_aside.skipped(store.clock().now_ms()),
        }
    }

    fn arguments(&self) -> [Argument<'_>; 20] {
        [
            ("p_now", &self.now),
            ("p_turns_max", &self.turns_max),
            ("p_lock_for", &self.lock_for),
            ("p_from", &self.from),
            ("p_to", &self.to),
            ("p_code", &self.code),
            ("p_node", &self.node),
            ("p_grace", &self.grace),
            ("p_messages_max", &limits::TURN_MESSAGES_MAX),
            ("p_bytes_max", &limits::TURN_BYTES_MAX),
            ("p_alone_bytes", &limits::START_ALONE_BYTES),
            ("p_fetch_bytes_max", &limits::FETCH_BYTES_MAX),
            ("p_inline_events_max", &limits::INLINE_EVENTS_MAX),
            ("p_inline_bytes_max", &limits::INLINE_BYTES_MAX),
            ("p_asks", &self.expired.asks),
            ("p_free", &self.expired.free),
            ("h_instance", &self.expired.held_keys),
            ("h_token", &self.expired.held_tokens),
            ("p_skip", &self.skip),
            ("p_only", &None::<&str>),
        ]
    }
}

/// In the order of the database.
fn code_keys(registered: &RegisteredOrchestrations) -> Vec<Vec<u8>> {
    let mut keys: Vec<_> = registered.keys().iter().map(|key| code_key(key)).collect();
    keys.sort_unstable();
    keys
}

fn read_batch(store: &Store, requested: Instant, rows: &[Row]) -> TurnBatch {
    let mut batch = TurnBatch::default();
    for row in rows {
        match row.get::<_, Option<String>>("o_instance") {
            Some(instance) => batch.turns.push(raw_turn(row, instance)),
            None => {
                store.observe_server_time(requested, row.get("o_now"));
                batch.next_due = row.get::<_, Option<i64>>("o_due").map(from_db);
                batch.unfinished = row.get("o_unfinished");
                log_orphans(row);
            }
        }
    }
    batch
}

/// Logs messages that the fetch dropped or parked because their instance does not exist.
fn log_orphans(row: &Row) {
    let Some(instances) = row.get::<_, Option<Vec<String>>>("o_aside_instances") else { return };
    let counts: Vec<i64> = row.get::<_, Option<_>>("o_aside_counts").unwrap_or_default();
    let dropped: Vec<bool> = row.get::<_, Option<_>>("o_aside_dropped").unwrap_or_default();
    for ((instance, count), dropped) in instances.into_iter().zip(counts).zip(dropped) {
        let instance_id = from_stored(instance);
        if dropped {
            tracing::warn!(
                target: "duroxide::providers::postgres",
                %instance_id,
                count,
                "dropping messages for an instance that does not exist"
            );
        } else {
            tracing::warn!(
                target: "duroxide::providers::postgres",
                %instance_id,
                count,
                "parking queue messages for an instance that does not exist"
            );
        }
    }
}

/// Reads the histories that neither came with the turns nor the caller has.
async fn complete(
    store: &Store,
    request: &TurnRequest,
    mut batch: TurnBatch,
) -> Result<TurnBatch, JobError> {
    for turn in &mut batch.turns {
        let instance = from_stored(turn.token.instance.clone());
        let known = request.known.as_ref().and_then(|known| known.mark(&instance));
        turn.mark = known.filter(|mark| {
            turn.incarnation == Some(mark.incarnation)
                && turn.execution_id == Some(to_db(mark.execution_id))
        });
    }
    let reads = batch.turns.iter_mut().map(|turn| read_stored(store, request, turn));
    let failed: Vec<_> = join_all(reads).await.into_iter().map(Result::err).collect();
    let shared = failed.iter().flatten().find(|error| !error.concerns_data()).cloned();
    if let Some(error) = shared {
        // `Err` means that nothing is locked.
        if let Err(error) = undo(store, batch).await {
            tracing::warn!(
                target: "duroxide::providers::postgres",
                %error,
                "could not release turns; their leases will expire"
            );
        }
        return Err(error);
    }
    isolate(store, batch, failed).await
}

/// Takes turns out of a batch whose own data cannot be read; the others go on. They are fetched
/// again after a pause, without a count of the attempt.
async fn isolate(
    store: &Store,
    mut batch: TurnBatch,
    failed: Vec<Option<JobError>>,
) -> Result<TurnBatch, JobError> {
    let turns = std::mem::take(&mut batch.turns);
    for (turn, error) in turns.into_iter().zip(failed) {
        let Some(error) = error else {
            batch.turns.push(turn);
            continue;
        };
        tracing::error!(
            target: "duroxide::providers::postgres",
            instance_id = %from_stored(turn.token.instance.clone()),
            %error,
            pause = ?limits::UNREADABLE_TURN_PAUSE,
            "the stored state of an instance cannot be read; fetching it again after a pause"
        );
        let release = Release::new(Some(limits::UNREADABLE_TURN_PAUSE), true);
        store.publish(turn_lock::abandon(store, &turn.token, release).await?);
        batch.unfinished = true;
    }
    Ok(batch)
}

impl RawTurn {
    /// The first turn of a new instance.
    pub(crate) fn first(token: TurnToken, messages: Vec<(i64, String)>) -> Self {
        Self {
            token,
            named: None,
            execution_id: None,
            incarnation: None,
            last_event: None,
            last_commit: None,
            messages,
            attempt_count: 1,
            kv_snapshot: Some(HashMap::new()),
            history: StoredHistory::Whole(Vec::new()),
            history_bytes: None,
            mark: None,
        }
    }
}

fn raw_turn(row: &Row, instance: String) -> RawTurn {
    let name: Option<String> = row.get("o_name");
    let version: Option<String> = row.get("o_version");
    let ids: Vec<i64> = row.get("o_message_ids");
    let texts: Vec<String> = row.get("o_messages");
    let inline: Option<Vec<String>> = row.get("o_history");
    RawTurn {
        token: TurnToken { id: row.get("o_token"), instance },
        named: name.map(from_stored).zip(version.map(from_stored)),
        execution_id: row.get("o_execution"),
        incarnation: row.get::<_, Option<i64>>("o_incarnation").map(from_db),
        last_event: row.get("o_last_event"),
        last_commit: row.get::<_, Option<i64>>("o_last_commit").map(from_db),
        messages: ids.into_iter().zip(texts).collect(),
        attempt_count: attempts(row.get("o_attempts")),
        kv_snapshot: inline_values(row),
        history: inline.map_or(StoredHistory::Missing, StoredHistory::Whole),
        history_bytes: row.get("o_history_bytes"),
        mark: None,
    }
}

/// The key-value state that came with the turn, if any did.
fn inline_values(row: &Row) -> Option<HashMap<String, KvEntry>> {
    let keys = row.get::<_, Option<Vec<String>>>("o_kv_keys")?;
    let values: Vec<String> = row.get::<_, Option<_>>("o_kv_values").unwrap_or_default();
    let times: Vec<i64> = row.get::<_, Option<_>>("o_kv_times").unwrap_or_default();
    let entries = keys.into_iter().zip(values).zip(times);
    Some(entries.map(|((key, value), time)| kv::entry(key, value, time)).collect())
}

/// Reads what neither came with the turn nor the caller has.
async fn read_stored(
    store: &Store,
    request: &TurnRequest,
    turn: &mut RawTurn,
) -> Result<(), JobError> {
    let (Some(execution_id), Some(last)) = (turn.execution_id, turn.last_event) else {
        turn.history = StoredHistory::Whole(Vec::new());
        return Ok(());
    };
    let instance = &turn.token.instance;
    // A database restored from a backup may hold less than the caller, or other events.
    let held = turn.mark.map(|mark| (mark, to_db(mark.event_id)));
    if held.is_some_and(|(mark, at)| at == last && mark.matches_commit(turn.last_commit)) {
        turn.history = StoredHistory::After(last, Vec::new());
        return Ok(());
    }
    let is_near = |at: i64| at < last && last - at <= limits::INLINE_EVENTS_MAX;
    if let Some((mark, held)) = held.filter(|(_, at)| is_near(*at)) {
        let mut part = history::part_from(store, instance, execution_id, held).await?;
        let is_held = part.rows.first().is_some_and(|(id, _)| *id == held)
            && mark.matches_commit(part.first_commit);
        if !part.more && is_held {
            let after = part.rows.drain(1..).map(|(_, text)| text).collect();
            turn.history = StoredHistory::After(held, after);
            return Ok(());
        }
    }
    let is_here = matches!(turn.history, StoredHistory::Whole(_)) && turn.kv_snapshot.is_some();
    if is_here {
        return Ok(());
    }
    if request.defers_histories {
        turn.history = StoredHistory::Deferred(turn.size(last));
        return Ok(());
    }
    let state = history::turn_state(store, instance, execution_id).await?;
    turn.history = StoredHistory::State(Box::new(state));
    Ok(())
}

impl RawTurn {
    /// About the size of its history, from the size of the first events.
    fn size(&self, last: i64) -> DeferredHistory {
        let measured = last.clamp(1, limits::INLINE_EVENTS_MAX);
        let bytes_per_event = self.history_bytes.map_or(1024, |bytes| bytes / measured + 1);
        DeferredHistory::new(from_db(last), from_db(last.saturating_mul(bytes_per_event)))
    }
}

/// Releases turns whose caller went away, as if they had not been fetched.
pub(crate) async fn undo(store: &Store, batch: TurnBatch) -> Result<(), JobError> {
    for turn in batch.turns {
        match turn_lock::abandon(store, &turn.token, Release::UNTOUCHED).await {
            // Another node leased it or a client deleted it since: this lease no longer exists.
            Ok(changes) => store.publish(changes),
            Err(JobError::Refused(..)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Decodes a turn. What cannot be decoded concerns only its instance.
pub(crate) fn decode_turn(turn: RawTurn) -> FetchedTurn {
    let mut deferred = None;
    let mut state = TurnState::default();
    let (texts, after) = match turn.history {
        StoredHistory::Missing => (Vec::new(), 0),
        StoredHistory::Whole(texts) => (texts, 0),
        StoredHistory::After(held, texts) => (texts, from_db(held)),
        StoredHistory::State(read) => {
            state = *read;
            (Vec::new(), 0)
        }
        StoredHistory::Deferred(history) => {
            deferred = Some(history);
            (Vec::new(), 0)
        }
    };
    let instance = from_stored(turn.token.instance.clone());
    let messages = decode_messages(&instance, &turn.messages);
    match decode_history(&texts) {
        Ok(events) if !events.is_empty() => state.history = events,
        Ok(_) => {}
        Err(error) => state.history_error = Some(error.to_string()),
    }
    let (orchestration_name, version) = turn
        .named
        .unwrap_or_else(|| identify(turn.execution_id, &state.history, &texts, &messages));
    // Without a readable history, what the caller has cannot be trusted either.
    let history_after = if state.history_error.is_some() { 0 } else { after };
    // An execution in memory has its key-value state.
    let is_built = history_after == 0 && deferred.is_none();
    let kv_snapshot = state.kv_snapshot.or(turn.kv_snapshot).filter(|_| is_built);
    FetchedTurn::new(
        OrchestrationItem {
            orchestration_name,
            execution_id: turn.execution_id.map_or(INITIAL_EXECUTION_ID, from_db),
            version,
            history: state.history,
            messages,
            history_error: state.history_error,
            kv_snapshot: kv_snapshot.unwrap_or_default(),
            instance,
        },
        turn.token.text(),
        turn.attempt_count,
    )
    .with_history_after(history_after)
    .with_deferred(deferred)
}

/// The orchestration of an instance that is not stored: from seeded history or its start.
fn identify(
    execution_id: Option<i64>,
    history: &[Event],
    texts: &[String],
    messages: &[WorkItem],
) -> (String, String) {
    let started = match (execution_id, history.first().map(|event| &event.kind)) {
        (Some(_), Some(EventKind::OrchestrationStarted { name, version, .. })) => {
            return (name.clone(), version.clone());
        }
        (Some(_), _) => None,
        (None, _) => messages.iter().find_map(StartedOrchestration::from_message),
    };
    let first = || StartedOrchestration::from_first_event(texts.first().map(String::as_str));
    let started = started.unwrap_or_else(first);
    (started.name, started.version)
}
