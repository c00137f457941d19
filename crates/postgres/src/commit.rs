//! Committing turns: history, queues, values and status, all or nothing.

use std::collections::HashMap;

use deadpool_postgres::Object;
use duroxide_core::model::ExecutionStatus;
use duroxide_core::providers::{
    CommittedTurn, DirectTurn, ExecutionMetadata, HistoryMark, LeasedWork,
    ScheduledActivityIdentifier, TurnCommit,
};
use duroxide_core::{Event, EventKind};
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
    fn leased(&self, rows: &HashMap<Uuid, Option<i64>>) -> Vec<LeasedWork> {
        let leased = self.work.iter().enumerate().filter_map(|(index, work)| {
            let (id, _) = work.lease?;
            let row = rows.get(&id).copied().flatten()?;
            Some(LeasedWork { index, lock_token: WorkToken { id, row }.text() })
        });
        leased.collect()
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

/// Commits turns under live leases, in one call. `Err` means that none was committed.
pub(crate) async fn commit_turns(
    store: &Store,
    client: &Object,
    commits: &[&EncodedCommit],
) -> Result<Vec<Committed>, JobError> {
    let columns = Columns::of(commits);
    let now = store.now();
    let mut params: Vec<&(dyn ToSql + Sync)> = vec![&now, &store.node];
    columns.append_to(&mut params);
    let rows = connection::query(client, &store.schema.sql(COMMIT_SQL), &params).await?;
    let mut outcomes: Vec<Committed> = Vec::with_capacity(commits.len());
    outcomes.resize_with(commits.len(), || Err(turn_lock::unknown_token()));
    let (mut ready, mut lost) = (false, false);
    let mut leased = HashMap::new();
    for row in rows {
        let (turn, code): (i32, i32) = (row.get(0), row.get(1));
        let value: Option<i64> = row.get(2);
        match turn {
            ABOUT_THE_CALL => {
                ready = code != 0;
                store.told(value.unwrap_or_default());
            }
            CANCELLED_RUNNING_WORK => lost = true,
            ABOUT_WORK => {
                leased.insert(row.get::<_, Option<Uuid>>(3).unwrap_or_default(), value);
            }
            _ => {
                let index = usize::try_from(turn).unwrap_or_default().wrapping_sub(1);
                let (Some(outcome), Some(commit)) = (outcomes.get_mut(index), commits.get(index))
                else {
                    continue;
                };
                *outcome = commit.outcome(code, value);
            }
        }
    }
    for (outcome, commit) in outcomes.iter_mut().zip(commits) {
        if let Ok((Some(committed), _)) = outcome {
            committed.leased = commit.leased(&leased);
        }
    }
    if let Some(Ok((_, changes))) = outcomes.iter_mut().find(|it| it.is_ok()) {
        changes.orchestrator_queue |= ready;
        changes.work_locks |= lost;
    }
    Ok(outcomes)
}

// What a row of the answer is about, if not about a turn.
const ABOUT_THE_CALL: i32 = 0;
const ABOUT_WORK: i32 = -1;
const CANCELLED_RUNNING_WORK: i32 = -2;

/// Commits turns.
pub(crate) const COMMIT_SQL: &str = "SELECT * FROM {schema}.commit_turns(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
    $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38,
    $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49, $50, $51, $52)";

/// Commits as the database takes them: one array for each column.
#[derive(Default)]
struct Columns<'a> {
    turns: TurnColumns<'a>,
    direct: DirectColumns,
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

#[derive(Default)]
struct DirectColumns {
    turns: Vec<i32>,
    incarnations: Vec<i64>,
    executions: Vec<i64>,
    events: Vec<i64>,
    finished_turns: Vec<i32>,
    finished_rows: Vec<i64>,
    finished_tokens: Vec<Uuid>,
}

impl DirectColumns {
    fn push(&mut self, turn: i32, direct: &Direct) {
        self.turns.push(turn);
        self.incarnations.push(to_db(direct.mark.incarnation));
        self.executions.push(to_db(direct.mark.execution_id));
        self.events.push(to_db(direct.mark.event_id));
        for token in &direct.finished {
            self.finished_turns.push(turn);
            self.finished_rows.push(token.row);
            self.finished_tokens.push(token.id);
        }
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
        let mut columns = Self::default();
        for (index, commit) in commits.iter().enumerate() {
            columns.push(place(index), commit);
        }
        columns
    }

    fn push(&mut self, turn: i32, commit: &'a EncodedCommit) {
        self.turns.push(commit);
        if let Some(direct) = &commit.direct {
            self.direct.push(turn, direct);
        }
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
        params.extend::<[&'p (dyn ToSql + Sync); 16]>([
            &self.direct.turns,
            &self.direct.incarnations,
            &self.direct.executions,
            &self.direct.events,
            &self.direct.finished_turns,
            &self.direct.finished_rows,
            &self.direct.finished_tokens,
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
