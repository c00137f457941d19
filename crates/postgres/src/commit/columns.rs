//! Commits as the arguments of `commit_turns`: one array for each column.

use duroxide_core::providers::kit::KvChange;
use uuid::Uuid;

use crate::commit::encoded::{Direct, EncodedCommit};
use crate::queues::worker_queue::WorkColumns;
use crate::schema::call::Argument;
use crate::schema::codes::{self, KvOperation};
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
    event_commits: Vec<Option<i64>>,
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
    message_codes: Vec<Option<Vec<u8>>>,
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

/// What direct turns must prove; nulls for other turns.
#[derive(Default)]
struct DirectColumns {
    incarnations: Vec<Option<i64>>,
    executions: Vec<Option<i64>>,
    events: Vec<Option<i64>>,
    commits: Vec<Option<i64>>,
}

impl DirectColumns {
    fn append_to<'p>(&'p self, arguments: &mut Vec<Argument<'p>>) {
        arguments.extend::<[Argument<'p>; 4]>([
            ("d_incarnation", &self.incarnations),
            ("d_execution", &self.executions),
            ("d_event", &self.events),
            ("d_commit", &self.commits),
        ]);
    }

    fn push(&mut self, direct: Option<&Direct>) {
        let mark = direct.map(|direct| &direct.mark);
        self.incarnations.push(mark.map(|mark| to_db(mark.incarnation)));
        self.executions.push(mark.map(|mark| to_db(mark.execution_id)));
        self.events.push(mark.map(|mark| to_db(mark.event_id)));
        self.commits.push(mark.and_then(|mark| mark.commit_id).map(to_db));
    }
}

/// Activities that direct turns complete.
#[derive(Default)]
struct FinishedColumns {
    turns: Vec<i32>,
    rows: Vec<i64>,
    tokens: Vec<Uuid>,
}

impl FinishedColumns {
    /// In the order of the rows, so that two calls cannot deadlock.
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
    operations: Vec<i16>,
    keys: Vec<Option<&'a str>>,
    values: Vec<Option<&'a str>>,
    times: Vec<Option<i64>>,
}

impl<'a> Columns<'a> {
    /// Commits in order, numbered from one.
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
            self.event_ids.push(to_db(event.event_id));
            self.event_types.push(event.event_type);
            self.event_texts.push(&event.text);
        }
        self.event_commits.extend(commit.commits_of_events());
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
            self.message_kinds.push(codes::message_kind(message.kind));
            self.message_codes.push(message.code_key());
        }
    }

    /// The columns under the names of the function's parameters.
    pub(crate) fn append_to<'p>(&'p self, arguments: &mut Vec<Argument<'p>>) {
        self.turns.append_to(arguments);
        self.direct.append_to(arguments);
        arguments.extend::<[Argument<'p>; 13]>([
            ("f_turn", &self.finished.turns),
            ("f_id", &self.finished.rows),
            ("f_token", &self.finished.tokens),
            ("e_turn", &self.event_turns),
            ("e_id", &self.event_ids),
            ("e_type", &self.event_types),
            ("e_data", &self.event_texts),
            ("e_commit", &self.event_commits),
            ("k_turn", &self.kv.turns),
            ("k_op", &self.kv.operations),
            ("k_key", &self.kv.keys),
            ("k_value", &self.kv.values),
            ("k_at", &self.kv.times),
        ]);
        arguments.extend::<[Argument<'p>; 11]>([
            ("w_turn", &self.work_turns),
            ("w_instance", &self.work.instances),
            ("w_execution", &self.work.executions),
            ("w_activity", &self.work.activities),
            ("w_session", &self.work.sessions),
            ("w_route", &self.work.routes),
            ("w_code", &self.work.codes),
            ("w_item", &self.work.texts),
            ("w_token", &self.work.tokens),
            ("w_lock_for", &self.work.lock_for),
            ("w_limit", &self.work.limits),
        ]);
        arguments.extend::<[Argument<'p>; 10]>([
            ("c_turn", &self.cancel_turns),
            ("c_instance", &self.cancel_instances),
            ("c_execution", &self.cancel_executions),
            ("c_activity", &self.cancel_activities),
            ("m_turn", &self.message_turns),
            ("m_instance", &self.message_instances),
            ("m_item", &self.message_texts),
            ("m_due", &self.message_dues),
            ("m_kind", &self.message_kinds),
            ("m_code", &self.message_codes),
        ]);
    }
}

impl<'a> TurnColumns<'a> {
    fn append_to<'p>(&'p self, arguments: &mut Vec<Argument<'p>>) {
        arguments.extend::<[Argument<'p>; 16]>([
            ("t_instance", &self.instances),
            ("t_token", &self.tokens),
            ("t_again", &self.again),
            ("t_first", &self.first),
            ("t_execution", &self.executions),
            ("t_name", &self.names),
            ("t_version", &self.versions),
            ("t_parent", &self.parents),
            ("t_incarnation", &self.incarnations),
            ("t_pin", &self.pins),
            ("t_pin_key", &self.pin_keys),
            ("t_status", &self.statuses),
            ("t_output", &self.outputs),
            ("t_ends", &self.ends),
            ("t_custom_set", &self.custom_set),
            ("t_custom", &self.customs),
        ]);
    }

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
    fn push(&mut self, turn: i32, change: &'a KvChange<String>) {
        let (operation, key, value, at) = match change {
            KvChange::Set { key, value, updated_at_ms } => {
                let at = Some(to_db(*updated_at_ms));
                (KvOperation::Set, Some(key.as_str()), Some(value.as_str()), at)
            }
            KvChange::Clear { key } => (KvOperation::Clear, Some(key.as_str()), None, None),
            KvChange::ClearAll => (KvOperation::ClearAll, None, None, None),
        };
        self.turns.push(turn);
        self.operations.push(operation.code());
        self.keys.push(key);
        self.values.push(value);
        self.times.push(at);
    }
}
