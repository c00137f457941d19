//! Commits as the database takes them: one array for each column.

use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::commit::encoded::{Direct, EncodedCommit};
use crate::queues::worker_queue::WorkColumns;
use crate::read::kv::KvChange;
use crate::schema::number::{place, to_db};
use crate::schema::stored_text::stored;

/// The parameters of a commit.
#[derive(Default)]
pub(crate) struct Columns<'a> {
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
    first: Vec<bool>,
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
    /// Commits in order; their places count from one.
    pub(crate) fn of(commits: &[&'a EncodedCommit]) -> Self {
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
    pub(crate) fn append_to<'p>(&'p self, params: &mut Vec<&'p (dyn ToSql + Sync)>) {
        let turns = &self.turns;
        params.extend::<[&'p (dyn ToSql + Sync); 16]>([
            &turns.instances,
            &turns.tokens,
            &turns.again,
            &turns.first,
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
        self.first.push(commit.is_first);
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
