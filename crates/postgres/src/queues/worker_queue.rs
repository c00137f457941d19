//! Activities: enqueueing, leasing, completing.

use std::collections::{BTreeSet, HashSet};

use duroxide_core::providers::kit::EncodedActivity;
use duroxide_core::providers::{
    FetchFilter, ProviderErrorKind, RegisteredActivities, ScheduledActivity,
    ScheduledActivityIdentifier, TagFilter, TurnCommit, WorkItem, WorkSlot,
};
use tokio::time::Instant;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::connect::session::Session;
use crate::error::JobError;
use crate::fetch::held::ExpiredLeases;
use crate::fetch::isolation;
use crate::fetch::lease_token::WorkToken;
use crate::fetch::turn_lock::{Extension, Release};
use crate::notify::change::{ANY_ROUTE, Changes};
use crate::queues::orchestrator_queue::NewMessage;
use crate::queues::sessions::{self, NewClaim};
use crate::queues::work_route::{codes, route, routes};
use crate::schema::call::Argument;
use crate::schema::codes;
use crate::schema::number::{attempts, from_db, lease_length, place, to_db};
use crate::schema::stored_text::{from_stored, stored};
use crate::store::Store;
use crate::write::sender::Sending;

/// An activity in its stored form.
#[derive(Debug)]
pub(crate) struct NewWork {
    pub(crate) instance: String,
    pub(crate) execution_id: i64,
    pub(crate) activity_id: i64,
    pub(crate) session_id: Option<String>,
    pub(crate) route: String,
    /// The key of its name. The commit that leases it omits the key: no fetch needs it, unless the
    /// lease is lost.
    code: String,
    pub(crate) text: String,
    /// The commit leases it for its caller: the token and the length of the lease.
    pub(crate) lease: Option<(Uuid, i64)>,
    /// How long it may wait for a worker.
    pub(crate) start_limit: Option<i64>,
}

impl NewWork {
    /// Encodes an activity; refuses any other message.
    pub(crate) fn encode(item: &WorkItem) -> Result<Self, JobError> {
        let activity = EncodedActivity::encode(item)?;
        Ok(Self {
            instance: stored(activity.instance),
            execution_id: to_db(activity.execution_id),
            activity_id: to_db(activity.activity_id),
            session_id: activity.session_id.map(stored),
            route: route(activity.tag),
            code: stored(&RegisteredActivities::key(activity.name)),
            text: activity.text,
            lease: None,
            start_limit: None,
        })
    }

    /// Encodes the activities of a commit; those with a lease belong to the caller at once.
    pub(crate) fn encode_all(commit: &TurnCommit) -> Result<Vec<Self>, JobError> {
        let encode = |activity: &ScheduledActivity| {
            let work = Self::encode(&activity.item)?;
            // An activity of a session has to be fetched: the session is leased with it.
            let lease = activity.lease.filter(|_| work.session_id.is_none());
            let lease = lease.map(|length| (Uuid::new_v4(), lease_length(length)));
            Ok(Self { start_limit: activity.start_limit.map(lease_length), lease, ..work })
        };
        commit.activities.iter().map(encode).collect()
    }

    /// The key of its name, if a fetch may need it.
    pub(crate) fn code(&self) -> Option<&str> {
        Some(self.code.as_str()).filter(|_| self.lease.is_none())
    }
}

/// Adds activities, visible at once.
pub(crate) async fn insert_all(
    store: &Store,
    session: &Session,
    work: &[&NewWork],
    sending: Sending,
) -> Result<Changes, JobError> {
    let columns = WorkColumns::of(work.iter().copied());
    let arguments: [Argument<'_>; 10] = [
        ("p_now", &store.now()),
        ("w_instance", &columns.instances),
        ("w_execution", &columns.executions),
        ("w_activity", &columns.activities),
        ("w_session", &columns.sessions),
        ("w_route", &columns.routes),
        ("w_code", &columns.codes),
        ("w_item", &columns.texts),
        ("p_sender", &sending.sender),
        ("p_number", &sending.number),
    ];
    let requested = Instant::now();
    let rows = session.call(&store.schema, ENQUEUE_WORK, &arguments).await?;
    if let Some(row) = rows.first() {
        store.observe_server_time(requested, row.get("o_now"));
    }
    Ok(added(work))
}

/// What new activities change.
pub(crate) fn added(work: &[&NewWork]) -> Changes {
    let mut changes = Changes::default();
    for work in work {
        changes.worker_queue(&work.route);
    }
    changes
}

/// The function that adds activities.
pub(crate) const ENQUEUE_WORK: &str = "enqueue_work";

/// Activities as arguments: one array for each column.
#[derive(Debug, Default)]
pub(crate) struct WorkColumns<'a> {
    pub(crate) instances: Vec<&'a str>,
    pub(crate) executions: Vec<i64>,
    pub(crate) activities: Vec<i64>,
    pub(crate) sessions: Vec<Option<&'a str>>,
    pub(crate) routes: Vec<&'a str>,
    pub(crate) codes: Vec<Option<&'a str>>,
    pub(crate) texts: Vec<&'a str>,
    pub(crate) tokens: Vec<Option<Uuid>>,
    pub(crate) lock_for: Vec<Option<i64>>,
    pub(crate) limits: Vec<Option<i64>>,
}

impl<'a> WorkColumns<'a> {
    /// The columns of these activities.
    pub(crate) fn of(work: impl Iterator<Item = &'a NewWork>) -> Self {
        let mut columns = Self::default();
        for work in work {
            columns.push(work);
        }
        columns
    }

    /// Adds one activity.
    pub(crate) fn push(&mut self, work: &'a NewWork) {
        self.instances.push(&work.instance);
        self.executions.push(work.execution_id);
        self.activities.push(work.activity_id);
        self.sessions.push(work.session_id.as_deref());
        self.routes.push(&work.route);
        self.codes.push(work.code());
        self.texts.push(&work.text);
        self.tokens.push(work.lease.map(|(token, _)| token));
        self.lock_for.push(work.lease.map(|(_, lock_for)| lock_for));
        self.limits.push(work.start_limit);
    }
}

/// What a worker requests.
#[derive(Debug)]
pub(crate) struct WorkRequest {
    pub(crate) slots: Vec<WorkSlot>,
    pub(crate) lock_for: i64,
    pub(crate) filter: FetchFilter,
}

/// What a fetch found.
#[derive(Debug, Default)]
pub(crate) struct WorkBatch {
    pub(crate) work: Vec<RawWork>,
    /// When something may become fetchable although nothing changes.
    pub(crate) next_due: Option<u64>,
    /// The call stopped before it had checked every activity.
    pub(crate) unfinished: bool,
}

/// A leased activity that is not decoded yet.
#[derive(Debug)]
pub(crate) struct RawWork {
    pub(crate) slot: usize,
    pub(crate) text: String,
    pub(crate) token: WorkToken,
    pub(crate) attempt_count: u32,
    /// The activity that the row's own columns name.
    pub(crate) scheduled: ScheduledActivityIdentifier,
    pub(crate) progress: Option<String>,
    /// The limit that passed before a worker started it.
    pub(crate) overdue: Option<u64>,
    /// The session that the fetch claimed with it.
    new_claim: Option<NewClaim>,
}

/// The function that leases activities.
pub(crate) const FETCH_WORK: &str = "fetch_work";

/// Leases one activity for each slot, in order, until none is left.
pub(crate) async fn fetch_work(
    store: &Store,
    request: &WorkRequest,
) -> Result<WorkBatch, JobError> {
    let session = |slot: &WorkSlot| slot.session.as_ref().map(|it| stored(&it.owner_id));
    let owners: Vec<Option<String>> = request.slots.iter().map(session).collect();
    let lock_for = |slot: &WorkSlot| slot.session.as_ref().map(|it| lease_length(it.lock_timeout));
    let session_lock_for: Vec<Option<i64>> = request.slots.iter().map(lock_for).collect();
    let (routes, code) = (routes(&request.filter.tags), codes(request.filter.activities.as_ref()));
    let mut expired = ExpiredLeases::unknown(&store.holders);
    loop {
        let arguments: [Argument<'_>; 10] = [
            ("p_now", &store.now()),
            ("p_lock_for", &request.lock_for),
            ("p_routes", &routes),
            ("p_code", &code),
            ("s_owner", &owners),
            ("s_lock_for", &session_lock_for),
            ("p_asks", &expired.asks),
            ("p_free", &expired.free),
            ("h_id", &expired.held_keys),
            ("h_token", &expired.held_tokens),
        ];
        let requested = Instant::now();
        let rows = match store.call(FETCH_WORK, &arguments).await {
            Err(error) if isolation::isolate_work(store, &error).await => continue,
            rows => rows?,
        };
        let token = |row: &i64, id| WorkToken { id, row: *row }.text();
        match expired.found(&store.holders, &rows, "o_expired_ids", token) {
            Some(found) => expired = found,
            None => return Ok(read_batch(store, requested, &rows, &owners)),
        }
    }
}

/// Leases activities that no worker started in time, the longest overdue first.
pub(crate) async fn fetch_overdue(
    store: &Store,
    work_max: i64,
    lock_for: i64,
) -> Result<WorkBatch, JobError> {
    loop {
        let (now, requested) = (store.now(), Instant::now());
        let given: [Argument<'_>; 3] =
            [("p_now", &now), ("p_work_max", &work_max), ("p_lock_for", &lock_for)];
        match store.call("fetch_overdue_work", &given).await {
            Err(error) if isolation::isolate_work(store, &error).await => {}
            rows => return Ok(read_batch(store, requested, &rows?, &[])),
        }
    }
}

fn read_batch(
    store: &Store,
    requested: Instant,
    rows: &[Row],
    owners: &[Option<String>],
) -> WorkBatch {
    let mut batch = WorkBatch::default();
    let summary = rows.iter().find(|row| row.get::<_, Option<i32>>("o_slot").is_none());
    let now = summary.map_or(0, |row| row.get("o_now"));
    store.observe_server_time(requested, now);
    let due = summary.and_then(|row| row.get::<_, Option<i64>>("o_due"));
    batch.next_due = due.map(from_db);
    batch.unfinished = due.is_some_and(|due| due <= now);
    for row in rows {
        let Some(slot) = row.get::<_, Option<i32>>("o_slot") else { continue };
        let slot = usize::try_from(slot).unwrap_or_default();
        let owner = owners.get(slot).cloned().flatten();
        let session =
            row.get::<_, Option<String>>("o_session").filter(|_| row.get::<_, bool>("o_claimed"));
        let new_claim = session.zip(owner).map(|(session_id, owner_id)| NewClaim {
            session_id,
            owner_id,
            claimed_at: now,
        });
        batch.work.push(raw_work(row, slot, new_claim));
    }
    batch.work.sort_by_key(|work| work.slot);
    batch
}

fn raw_work(row: &Row, slot: usize, new_claim: Option<NewClaim>) -> RawWork {
    RawWork {
        slot,
        token: WorkToken { row: row.get("o_id"), id: row.get("o_token") },
        text: row.get("o_item"),
        attempt_count: attempts(row.get("o_attempts")),
        scheduled: ScheduledActivityIdentifier {
            instance: from_stored(row.get("o_instance")),
            execution_id: from_db(row.get("o_execution")),
            activity_id: from_db(row.get("o_activity")),
        },
        progress: row.get::<_, Option<String>>("o_progress").map(from_stored),
        overdue: row.get::<_, Option<i64>>("o_overdue").map(from_db),
        new_claim,
    }
}

/// Releases activities whose caller went away, as if they had not been fetched.
pub(crate) async fn undo(store: &Store, batch: WorkBatch) -> Result<(), JobError> {
    for work in &batch.work {
        match release_unstarted(store, work.token, Release::UNTOUCHED).await {
            // Another worker leased it or a commit deleted it since: this lease no longer exists.
            Ok(changes) => store.publish(changes),
            Err(JobError::Refused(..)) => {}
            Err(error) => return Err(error),
        }
    }
    // After all activities are released: a leased one keeps its session.
    for claim in batch.work.iter().filter_map(|work| work.new_claim.as_ref()) {
        sessions::release(store, claim).await?;
    }
    Ok(())
}

/// A completed activity.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) token: WorkToken,
    pub(crate) completion: Option<NewMessage>,
    /// An earlier attempt may have succeeded: then the activity is gone, as it should be.
    pub(crate) again: bool,
}

/// The function that completes activities.
pub(crate) const COMPLETE_WORK: &str = "complete_work";

/// Removes activities under live leases and enqueues their completions.
pub(crate) async fn finish_all(
    store: &Store,
    session: &Session,
    finished: &[&Finished],
) -> Result<Vec<Result<Changes, JobError>>, JobError> {
    // In the order of the rows, so that two calls cannot deadlock.
    let mut ordered: Vec<(usize, &Finished)> = finished.iter().copied().enumerate().collect();
    ordered.sort_by_key(|(_, it)| it.token.row);
    let ids: Vec<i64> = ordered.iter().map(|(_, it)| it.token.row).collect();
    let tokens: Vec<Uuid> = ordered.iter().map(|(_, it)| it.token.id).collect();
    let again: Vec<bool> = ordered.iter().map(|(_, it)| it.again).collect();
    let mut place_of = vec![0; finished.len()];
    for (position, (index, _)) in ordered.iter().enumerate() {
        place_of[*index] = place(position);
    }
    let mut places: Vec<i32> = Vec::new();
    let mut instances: Vec<&str> = Vec::new();
    let mut texts: Vec<&str> = Vec::new();
    let mut kinds: Vec<i16> = Vec::new();
    for (index, it) in finished.iter().enumerate() {
        if let Some(message) = &it.completion {
            places.push(place_of[index]);
            instances.push(&message.instance);
            texts.push(&message.text);
            kinds.push(codes::message_kind(message.kind));
        }
    }
    let arguments: [Argument<'_>; 8] = [
        ("p_now", &store.now()),
        ("f_id", &ids),
        ("f_token", &tokens),
        ("f_again", &again),
        ("m_work", &places),
        ("m_instance", &instances),
        ("m_item", &texts),
        ("m_kind", &kinds),
    ];
    let requested = Instant::now();
    let rows = session.call(&store.schema, COMPLETE_WORK, &arguments).await?;
    let Some(row) = rows.first() else {
        return Err(JobError::Broken("complete_work returned no row".to_owned()));
    };
    store.observe_server_time(requested, row.get("o_now"));
    let ended: Vec<i32> = row.get("o_ended");
    let outcome = |(index, it): (usize, &&Finished)| {
        if !ended.contains(&place_of[index]) {
            return Err(lost_lease());
        }
        let mut changes = Changes::default();
        if it.completion.is_some() {
            changes.orchestrator_queue();
        }
        Ok(changes)
    };
    Ok(finished.iter().enumerate().map(outcome).collect())
}

/// Extends a lease from now on. Runs on the store's own thread.
pub(crate) async fn renew(
    store: &Store,
    token: WorkToken,
    extend_for: i64,
    extension: Extension,
) -> Result<(), JobError> {
    let arguments: [Argument<'_>; 5] = [
        ("p_now", &store.now()),
        ("p_id", &token.row),
        ("p_token", &token.id),
        ("p_extend_for", &extend_for),
        ("p_expired", &(extension == Extension::Unclaimed)),
    ];
    let rows = store.own().call_repeatable("renew_work", &arguments).await?;
    let renewed = rows.first().is_some_and(|row| row.get::<_, bool>("o_renewed"));
    if renewed { Ok(()) } else { Err(lost_lease()) }
}

/// Adds to the leases whose holder vouches for the activity; returns how many there are. Runs on
/// the store's own thread.
pub(crate) async fn vouch(store: &Store, token: WorkToken, leases: u32) -> Result<u32, JobError> {
    let leases = i32::try_from(leases).unwrap_or(i32::MAX);
    let sql = "UPDATE {schema}.worker_queue SET vouched = vouched + $3
         WHERE id = $1 AND lock_token = $2 RETURNING vouched";
    let rows = store.own().change(sql, &[&token.row, &token.id, &leases]).await?;
    rows.first().map(|row| attempts(row.get("vouched"))).ok_or_else(lost_lease)
}

/// Releases an activity. The lease may have expired, as long as no other worker has leased it.
pub(crate) async fn abandon(
    store: &Store,
    token: WorkToken,
    how: Release,
) -> Result<Changes, JobError> {
    release(store, token, how, false).await
}

/// Releases an activity whose handler was not called: the lease does not count as a start.
pub(crate) async fn release_unstarted(
    store: &Store,
    token: WorkToken,
    how: Release,
) -> Result<Changes, JobError> {
    release(store, token, how, true).await
}

async fn release(
    store: &Store,
    token: WorkToken,
    how: Release,
    unstarted: bool,
) -> Result<Changes, JobError> {
    let rows = store
        .change(
            "UPDATE {schema}.worker_queue
             SET lock_token = NULL, locked_until = NULL,
                 timed_at = coalesce($1, {schema}.now_ms()),
                 visible_at = coalesce(coalesce($1, {schema}.now_ms()) + $4::BIGINT, visible_at),
                 lane = CASE WHEN $4 IS NOT NULL OR visible_at > 0 THEN 2
                     ELSE (session_id IS NOT NULL)::INTEGER END,
                 attempt_count = greatest(attempt_count - $5::INTEGER, 0),
                 start_by = CASE WHEN NOT starting OR $6 THEN start_by END,
                 starting = FALSE
             WHERE id = $2 AND lock_token = $3
             RETURNING route, start_by IS NOT NULL AS limited",
            &[
                &store.now(),
                &token.row,
                &token.id,
                &how.delay,
                &i32::from(how.ignore_attempt),
                &unstarted,
            ],
        )
        .await?;
    let Some(row) = rows.first() else { return Err(lost_lease()) };
    let mut changes = Changes::default();
    changes.worker_queue(row.get("route"));
    if row.get("limited") {
        changes.start_limits();
    }
    Ok(changes)
}

/// The tokens that no longer hold a lease.
pub(crate) async fn find_lost(store: &Store, tokens: &[String]) -> Result<Vec<String>, JobError> {
    let parsed: Vec<Option<WorkToken>> = tokens.iter().map(|it| WorkToken::parse(it)).collect();
    let rows: Vec<i64> = parsed.iter().flatten().map(|token| token.row).collect();
    let ids: Vec<Uuid> = parsed.iter().flatten().map(|token| token.id).collect();
    let sql = "SELECT q.lock_token FROM unnest($1::BIGINT[], $2::UUID[]) AS t (id, token)
         JOIN {schema}.worker_queue q ON q.id = t.id AND q.lock_token = t.token";
    let held = store.query(sql, &[&rows, &ids]).await?;
    let held: HashSet<Uuid> = held.iter().map(|row| row.get("lock_token")).collect();
    let is_lost = |token: &Option<WorkToken>| token.is_none_or(|token| !held.contains(&token.id));
    let lost = tokens.iter().zip(&parsed).filter(|(_, parsed)| is_lost(parsed));
    Ok(lost.map(|(token, _)| token.clone()).collect())
}

/// The error for a lost lease.
pub(crate) fn lost_lease() -> JobError {
    JobError::refused(
        ProviderErrorKind::LostLease,
        "Invalid lock token: the work item is gone or its lease has run out",
    )
}

/// Whether a change of one of the routes concerns a worker with this filter.
pub(crate) fn concerns(filter: &TagFilter, changed: &BTreeSet<String>) -> bool {
    changed.contains(ANY_ROUTE)
        || routes(filter).is_none_or(|routes| routes.iter().any(|it| changed.contains(it)))
}
