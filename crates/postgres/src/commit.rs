//! Committing turns: history, queues, values and status, all or nothing.

use std::collections::HashMap;

use deadpool_postgres::Object;
use duroxide_core::model::ExecutionStatus;
use duroxide_core::providers::{
    CommittedTurn, DirectTurn, ExecutionMetadata, HistoryMark, LeasedWork,
    ScheduledActivityIdentifier, TurnCommit,
};
use duroxide_core::{Event, EventKind};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::change::Changes;
use crate::connection;
use crate::error::JobError;
use crate::history::NewEvent;
use crate::kv::{self, KvChange};
use crate::number::{from_db, place, to_db};
use crate::orchestrator_queue::NewMessage;
use crate::store::Store;
use crate::stored_text::{from_stored, stored};
use crate::token::{TurnToken, WorkToken};
use crate::turn_lock;
use crate::version_key::version_key;
use crate::worker_queue::{NewWork, WorkColumns};

/// A commit whose parts are encoded.
#[derive(Debug)]
pub(crate) struct EncodedCommit {
    pub(crate) token: TurnToken,
    /// An earlier try may have been done: then this one is the same and changes nothing.
    pub(crate) again: bool,
    execution_id: i64,
    events: Vec<NewEvent>,
    kv: Vec<KvChange>,
    /// The last status that the delta sets, if any.
    custom_status: Option<Option<String>>,
    work: Vec<NewWork>,
    messages: Vec<NewMessage>,
    metadata: StoredMetadata,
    cancelled: Vec<ScheduledActivityIdentifier>,
    incarnation: i64,
    direct: Option<Direct>,
}

/// What a turn that was not fetched has to prove.
#[derive(Debug)]
struct Direct {
    mark: HistoryMark,
    finished: Vec<WorkToken>,
}

#[derive(Debug)]
struct StoredMetadata {
    name: Option<String>,
    version: Option<String>,
    parent: Option<String>,
    pin: Option<String>,
    pin_key: Option<Vec<u8>>,
    status: Option<String>,
    output: Option<String>,
    ends: bool,
}

impl StoredMetadata {
    fn of(metadata: &ExecutionMetadata) -> Self {
        let named =
            metadata.orchestration_name.as_ref().zip(metadata.orchestration_version.as_ref());
        let (name, version) = named.unzip();
        let pin = metadata.pinned_duroxide_version.as_ref();
        Self {
            name: name.map(|name| stored(name)),
            version: version.map(|version| stored(version)),
            parent: metadata.parent_instance_id.as_deref().map(stored),
            pin: pin.map(ToString::to_string),
            pin_key: pin.map(version_key),
            status: metadata.status.as_deref().map(stored),
            output: metadata.output.as_deref().map(stored),
            ends: ends_execution(metadata),
        }
    }
}

fn ends_execution(metadata: &ExecutionMetadata) -> bool {
    metadata
        .status
        .as_deref()
        .and_then(ExecutionStatus::parse)
        .is_some_and(ExecutionStatus::is_terminal)
}

impl EncodedCommit {
    /// Encodes the commit of a fetched turn.
    pub(crate) fn encode(commit: &TurnCommit) -> Result<Self, JobError> {
        let token = || TurnToken::parse(&commit.lock_token).ok_or_else(turn_lock::unknown_token);
        Self::encode_as(commit, token)
    }

    /// Encodes a turn that was not fetched.
    pub(crate) fn encode_direct(turn: &DirectTurn) -> Result<Self, JobError> {
        // The token is how a repeated commit knows itself.
        let token = || Ok(TurnToken { id: Uuid::new_v4(), instance: stored(&turn.instance) });
        let encoded = Self::encode_as(&turn.commit, token)?;
        // What is no token of ours holds nothing. Whether that matters is judged with the rest.
        let nobody = WorkToken { id: Uuid::nil(), row: 0 };
        let parse = |token: &String| WorkToken::parse(token).unwrap_or(nobody);
        let finished = turn.finished_work.iter().map(parse).collect();
        Ok(Self { direct: Some(Direct { mark: turn.mark, finished }), ..encoded })
    }

    fn encode_as(
        commit: &TurnCommit,
        token: impl Fn() -> Result<TurnToken, JobError>,
    ) -> Result<Self, JobError> {
        let work = NewWork::encode_all(commit)?;
        // An activity among the messages belongs to the other queue and is left out.
        let messages = commit
            .orchestrator_items
            .iter()
            .filter_map(|item| NewMessage::encode(item).transpose())
            .collect::<Result<_, _>>()?;
        let events = NewEvent::encode_all(&commit.history_delta)?;
        Ok(Self {
            token: token()?,
            again: false,
            execution_id: to_db(commit.execution_id),
            events,
            kv: kv::changes(&commit.history_delta),
            custom_status: last_custom_status(&commit.history_delta),
            work,
            messages,
            metadata: StoredMetadata::of(&commit.metadata),
            cancelled: commit.cancelled_activities.clone(),
            incarnation: new_incarnation(),
            direct: None,
        })
    }

    fn outcome(&self, code: i32, incarnation: Option<i64>) -> Committed {
        let incarnation = incarnation.map(from_db);
        match code {
            0 => {
                let committed = CommittedTurn { incarnation, ..CommittedTurn::default() };
                Ok((Some(committed), self.changes()))
            }
            2 => Err(turn_lock::expired()),
            3 => Ok((None, Changes::default())),
            _ => Err(turn_lock::unknown_token()),
        }
    }

    /// The activities that were enqueued under a lease. None of a commit that was done before:
    /// nobody here knows their rows any more, and their leases run out.
    fn leased(&self, rows: &HashMap<Uuid, i64>) -> Vec<LeasedWork> {
        let leased = self.work.iter().enumerate().filter_map(|(index, work)| {
            let (id, _) = work.lease?;
            let row = rows.get(&id).copied()?;
            Some(LeasedWork { index, lock_token: WorkToken { id, row }.text() })
        });
        leased.collect()
    }

    /// Whether the row of the execution may have to be written. One that goes on has it already.
    fn concerns_execution(&self) -> bool {
        let metadata = &self.metadata;
        self.direct.is_none() || metadata.status.is_some() || metadata.pin.is_some()
    }

    fn changes(&self) -> Changes {
        let mut changes = Changes::default();
        let instance = from_stored(self.token.instance.clone());
        if self.metadata.ends {
            changes.instance(&instance);
        } else {
            changes.step(&instance);
        }
        // A commit that leases its own activities tells nobody of them.
        for work in self.work.iter().filter(|work| work.lease.is_none()) {
            changes.worker_queue(&work.route);
            if work.start_limit.is_some() {
                changes.start_limits();
            }
        }
        if !self.messages.is_empty() {
            changes.orchestrator_queue();
        }
        changes
    }
}

fn last_custom_status(events: &[Event]) -> Option<Option<String>> {
    events.iter().rev().find_map(|event| {
        let EventKind::CustomStatusUpdated { status } = &event.kind else { return None };
        Some(status.as_deref().map(stored))
    })
}

/// A random number that is not zero, so that an id used again gives another one.
fn new_incarnation() -> i64 {
    let (random, _) = Uuid::new_v4().as_u64_pair();
    to_db((random >> 1).max(1))
}

/// A turn that was committed, and what it changed; `None` if a direct turn does not follow.
pub(crate) type Committed = Result<(Option<CommittedTurn>, Changes), JobError>;

/// Commits turns under live leases, in one call. `Err` means that none was committed. Without turns
/// it is a rehearsal, as for everything that is written in groups.
pub(crate) async fn commit_turns(
    store: &Store,
    client: &Object,
    commits: &[&EncodedCommit],
) -> Result<Vec<Committed>, JobError> {
    let columns = Columns::of(commits);
    let now = store.now();
    let fetched = commits.iter().filter(|commit| commit.direct.is_none()).count();
    let fetched = i32::try_from(fetched).unwrap_or(i32::MAX);
    let nameless = commits.iter().any(|commit| commit.metadata.name.is_none());
    let executions = commits.iter().any(|commit| commit.concerns_execution());
    let mut params: Vec<&(dyn ToSql + Sync)> = vec![&now, &store.node];
    columns.append_to(&mut params);
    params.extend::<[&(dyn ToSql + Sync); 3]>([&fetched, &nameless, &executions]);
    let rows = connection::query(client, &store.schema.sql(COMMIT_SQL), &params).await?;
    let Some(row) = rows.first() else {
        return Err(JobError::Broken("commit_turns gave no answer".to_owned()));
    };
    Ok(read_answer(store, row, commits))
}

fn read_answer(store: &Store, row: &Row, commits: &[&EncodedCommit]) -> Vec<Committed> {
    store.told(row.get(0));
    // Without codes all are committed.
    let codes: Vec<i32> = row.get::<_, Option<_>>(1).unwrap_or_default();
    let turns: Vec<i32> = row.get(2);
    let incarnations: Vec<Option<i64>> = row.get(3);
    let incarnations: HashMap<i32, Option<i64>> = turns.into_iter().zip(incarnations).collect();
    let ids: Vec<i64> = row.get::<_, Option<_>>(4).unwrap_or_default();
    let tokens: Vec<Uuid> = row.get::<_, Option<_>>(5).unwrap_or_default();
    let leased: HashMap<Uuid, i64> = tokens.into_iter().zip(ids).collect();
    let outcome = |(index, commit): (usize, &&EncodedCommit)| {
        let code = codes.get(index).copied().unwrap_or_default();
        let incarnation = incarnations.get(&place(index)).copied().flatten();
        let mut outcome = commit.outcome(code, incarnation);
        if let Ok((Some(committed), _)) = &mut outcome {
            committed.leased = commit.leased(&leased);
        }
        outcome
    };
    let mut outcomes: Vec<Committed> = commits.iter().enumerate().map(outcome).collect();
    if let Some(Ok((_, changes))) = outcomes.iter_mut().find(|it| it.is_ok()) {
        changes.orchestrator_queue |= row.get::<_, bool>(6);
        changes.work_locks |= row.get::<_, bool>(7);
    }
    outcomes
}

/// Commits turns.
pub(crate) const COMMIT_SQL: &str = "SELECT * FROM {schema}.commit_turns(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
    $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38,
    $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49, $50, $51, $52, $53, $54)";

/// Commits as the database takes them: one array for each column.
#[derive(Default)]
struct Columns<'a> {
    turns: TurnColumns<'a>,
    direct: DirectColumns,
    finished: FinishedColumns,
    event_turns: Vec<i32>,
    event_ids: Vec<i64>,
    event_types: Vec<&'static str>,
    event_texts: Vec<&'a str>,
    kv: KvColumns<'a>,
    work_turns: Vec<i32>,
    work: WorkColumns<'a>,
    cancel_turns: Vec<i32>,
    cancel_instances: Vec<String>,
    cancel_executions: Vec<i64>,
    cancel_activities: Vec<i64>,
    message_turns: Vec<i32>,
    message_instances: Vec<&'a str>,
    message_texts: Vec<&'a str>,
    message_dues: Vec<Option<i64>>,
    message_kinds: Vec<i16>,
}

#[derive(Default)]
struct TurnColumns<'a> {
    instances: Vec<&'a str>,
    tokens: Vec<Uuid>,
    again: Vec<bool>,
    executions: Vec<i64>,
    names: Vec<Option<&'a str>>,
    versions: Vec<Option<&'a str>>,
    parents: Vec<Option<&'a str>>,
    incarnations: Vec<i64>,
    pins: Vec<Option<&'a str>>,
    pin_keys: Vec<Option<&'a [u8]>>,
    statuses: Vec<Option<&'a str>>,
    outputs: Vec<Option<&'a str>>,
    ends: Vec<bool>,
    custom_set: Vec<bool>,
    customs: Vec<Option<&'a str>>,
}

/// What direct turns have to prove; nothing for each of the others.
#[derive(Default)]
struct DirectColumns {
    incarnations: Vec<Option<i64>>,
    executions: Vec<Option<i64>>,
    events: Vec<Option<i64>>,
}

impl DirectColumns {
    fn push(&mut self, direct: Option<&Direct>) {
        let mark = direct.map(|direct| &direct.mark);
        self.incarnations.push(mark.map(|mark| to_db(mark.incarnation)));
        self.executions.push(mark.map(|mark| to_db(mark.execution_id)));
        self.events.push(mark.map(|mark| to_db(mark.event_id)));
    }
}

/// Activities that direct turns answer.
#[derive(Default)]
struct FinishedColumns {
    turns: Vec<i32>,
    rows: Vec<i64>,
    tokens: Vec<Uuid>,
}

impl FinishedColumns {
    /// In the order of the rows, so that two calls cannot wait for each other.
    fn of(commits: &[&EncodedCommit]) -> Self {
        let finished = commits.iter().enumerate().flat_map(|(index, commit)| {
            let tokens = commit.direct.iter().flat_map(|direct| &direct.finished);
            tokens.map(move |token| (token.row, place(index), token.id))
        });
        let mut finished: Vec<(i64, i32, Uuid)> = finished.collect();
        finished.sort_unstable_by_key(|(row, ..)| *row);
        let mut columns = Self::default();
        for (row, turn, token) in finished {
            columns.turns.push(turn);
            columns.rows.push(row);
            columns.tokens.push(token);
        }
        columns
    }
}

#[derive(Default)]
struct KvColumns<'a> {
    turns: Vec<i32>,
    ops: Vec<i16>,
    keys: Vec<Option<&'a str>>,
    values: Vec<Option<&'a str>>,
    times: Vec<Option<i64>>,
}

impl<'a> Columns<'a> {
    fn of(commits: &[&'a EncodedCommit]) -> Self {
        let mut columns = Self { finished: FinishedColumns::of(commits), ..Self::default() };
        for (index, commit) in commits.iter().enumerate() {
            columns.push(place(index), commit);
        }
        columns
    }

    fn push(&mut self, turn: i32, commit: &'a EncodedCommit) {
        self.turns.push(commit);
        self.direct.push(commit.direct.as_ref());
        for event in &commit.events {
            self.event_turns.push(turn);
            self.event_ids.push(event.event_id);
            self.event_types.push(event.event_type);
            self.event_texts.push(&event.text);
        }
        for change in &commit.kv {
            self.kv.push(turn, change);
        }
        for work in &commit.work {
            self.work_turns.push(turn);
            self.work.push(work);
        }
        for activity in &commit.cancelled {
            self.cancel_turns.push(turn);
            self.cancel_instances.push(stored(&activity.instance));
            self.cancel_executions.push(to_db(activity.execution_id));
            self.cancel_activities.push(to_db(activity.activity_id));
        }
        for message in &commit.messages {
            self.message_turns.push(turn);
            self.message_instances.push(&message.instance);
            self.message_texts.push(&message.text);
            self.message_dues.push(message.due);
            self.message_kinds.push(message.kind);
        }
    }

    /// In the order of the function's parameters.
    fn append_to<'p>(&'p self, params: &mut Vec<&'p (dyn ToSql + Sync)>) {
        let turns = &self.turns;
        params.extend::<[&'p (dyn ToSql + Sync); 15]>([
            &turns.instances,
            &turns.tokens,
            &turns.again,
            &turns.executions,
            &turns.names,
            &turns.versions,
            &turns.parents,
            &turns.incarnations,
            &turns.pins,
            &turns.pin_keys,
            &turns.statuses,
            &turns.outputs,
            &turns.ends,
            &turns.custom_set,
            &turns.customs,
        ]);
        params.extend::<[&'p (dyn ToSql + Sync); 15]>([
            &self.direct.incarnations,
            &self.direct.executions,
            &self.direct.events,
            &self.finished.turns,
            &self.finished.rows,
            &self.finished.tokens,
            &self.event_turns,
            &self.event_ids,
            &self.event_types,
            &self.event_texts,
            &self.kv.turns,
            &self.kv.ops,
            &self.kv.keys,
            &self.kv.values,
            &self.kv.times,
        ]);
        params.extend::<[&'p (dyn ToSql + Sync); 19]>([
            &self.work_turns,
            &self.work.instances,
            &self.work.executions,
            &self.work.activities,
            &self.work.sessions,
            &self.work.routes,
            &self.work.texts,
            &self.work.tokens,
            &self.work.lock_for,
            &self.work.limits,
            &self.cancel_turns,
            &self.cancel_instances,
            &self.cancel_executions,
            &self.cancel_activities,
            &self.message_turns,
            &self.message_instances,
            &self.message_texts,
            &self.message_dues,
            &self.message_kinds,
        ]);
    }
}

impl<'a> TurnColumns<'a> {
    fn push(&mut self, commit: &'a EncodedCommit) {
        let metadata = &commit.metadata;
        self.instances.push(&commit.token.instance);
        self.tokens.push(commit.token.id);
        self.again.push(commit.again);
        self.executions.push(commit.execution_id);
        self.names.push(metadata.name.as_deref());
        self.versions.push(metadata.version.as_deref());
        self.parents.push(metadata.parent.as_deref());
        self.incarnations.push(commit.incarnation);
        self.pins.push(metadata.pin.as_deref());
        self.pin_keys.push(metadata.pin_key.as_deref());
        self.statuses.push(metadata.status.as_deref());
        self.outputs.push(metadata.output.as_deref());
        self.ends.push(metadata.ends);
        self.custom_set.push(commit.custom_status.is_some());
        self.customs.push(commit.custom_status.as_ref().and_then(Option::as_deref));
    }
}

impl<'a> KvColumns<'a> {
    fn push(&mut self, turn: i32, change: &'a KvChange) {
        let (op, key, value, at) = match change {
            KvChange::Set { key, value, at } => {
                (0, Some(key.as_str()), Some(value.as_str()), Some(*at))
            }
            KvChange::Clear { key } => (1, Some(key.as_str()), None, None),
            KvChange::ClearAll => (2, None, None, None),
        };
        self.turns.push(turn);
        self.ops.push(op);
        self.keys.push(key);
        self.values.push(value);
        self.times.push(at);
    }
}
