//! A turn in its stored form, ready to be committed.

use std::collections::HashMap;

use duroxide_core::providers::kit::{
    EncodedEvent, KvChange, ends_execution, last_custom_status, last_kv_changes,
};
use duroxide_core::providers::{
    AwaitedEnd, ChangeHub, CommittedTurn, DirectTurn, ExecutionMetadata, HistoryMark, LeasedWork,
    ScheduledActivityIdentifier, TurnCommit,
};
use uuid::Uuid;

use crate::commit::turn_commit::Committed;
use crate::error::JobError;
use crate::fetch::lease_token::{TurnToken, WorkToken};
use crate::fetch::turn_lock;
use crate::notify::after_commit;
use crate::notify::change::Changes;
use crate::queues::orchestrator_queue::NewMessage;
use crate::queues::worker_queue::NewWork;
use crate::schema::codes::TurnResult;
use crate::schema::number::{from_db, to_db};
use crate::schema::stored_text::{from_stored, stored};
use crate::schema::version_key::version_key;

/// A commit whose parts are encoded.
#[derive(Debug)]
pub(crate) struct EncodedCommit {
    pub(crate) token: TurnToken,
    /// An earlier attempt may have succeeded: then this one changes nothing.
    pub(crate) again: bool,
    pub(crate) execution_id: i64,
    pub(crate) events: Vec<EncodedEvent>,
    pub(crate) kv: Vec<KvChange<String>>,
    /// The last status that the delta sets, if any.
    pub(crate) custom_status: Option<Option<String>>,
    pub(crate) work: Vec<NewWork>,
    pub(crate) messages: Vec<NewMessage>,
    pub(crate) metadata: StoredMetadata,
    pub(crate) cancelled: Vec<ScheduledActivityIdentifier>,
    pub(crate) commit_id: Option<i64>,
    pub(crate) incarnation: i64,
    /// Nothing of the instance is stored yet.
    pub(crate) is_first: bool,
    pub(crate) direct: Option<Direct>,
    /// How the instance ends, if a client of this node waits for that.
    pub(crate) awaited_end: Option<AwaitedEnd>,
}

/// An instance after a commit.
#[derive(Debug)]
pub(crate) struct StoredInstance {
    pub(crate) incarnation: Option<i64>,
    /// With its version, if the response carries them.
    pub(crate) custom_status: Option<(Option<String>, i64)>,
}

/// What a turn that was not fetched must prove.
#[derive(Debug)]
pub(crate) struct Direct {
    pub(crate) mark: HistoryMark,
    pub(crate) finished: Vec<WorkToken>,
}

#[derive(Debug)]
pub(crate) struct StoredMetadata {
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) parent: Option<String>,
    pub(crate) pin: Option<String>,
    pub(crate) pin_key: Option<Vec<u8>>,
    pub(crate) status: Option<String>,
    pub(crate) output: Option<String>,
    pub(crate) ends: bool,
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

impl EncodedCommit {
    /// Encodes the commit of a fetched turn.
    pub(crate) fn encode(commit: &TurnCommit, hub: &ChangeHub) -> Result<Self, JobError> {
        let token = || TurnToken::parse(&commit.lock_token).ok_or_else(turn_lock::unknown_token);
        Self::encode_as(commit, hub, token)
    }

    /// Encodes a turn that was not fetched.
    pub(crate) fn encode_direct(turn: &DirectTurn, hub: &ChangeHub) -> Result<Self, JobError> {
        // A repeated commit recognises itself by the token.
        let token = || Ok(TurnToken { id: Uuid::new_v4(), instance: stored(&turn.instance) });
        let encoded = Self::encode_as(&turn.commit, hub, token)?;
        // A foreign token holds no lease; the commit decides whether that matters.
        let no_lease = WorkToken { id: Uuid::nil(), row: 0 };
        let parse = |token: &String| WorkToken::parse(token).unwrap_or(no_lease);
        let finished = turn.finished_work.iter().map(parse).collect();
        Ok(Self { direct: Some(Direct { mark: turn.mark, finished }), ..encoded })
    }

    /// Encodes a commit that runs under this lease.
    pub(crate) fn encode_under(
        commit: &TurnCommit,
        hub: &ChangeHub,
        token: TurnToken,
    ) -> Result<Self, JobError> {
        Self::encode_as(commit, hub, || Ok(token.clone()))
    }

    fn encode_as(
        commit: &TurnCommit,
        hub: &ChangeHub,
        token: impl Fn() -> Result<TurnToken, JobError>,
    ) -> Result<Self, JobError> {
        let work = NewWork::encode_all(commit)?;
        // An activity among the messages belongs to the other queue and is skipped.
        let messages = commit
            .messages()
            .filter_map(|item| NewMessage::encode(item).transpose())
            .collect::<Result<_, _>>()?;
        let events = EncodedEvent::encode_all(&commit.history_delta)?;
        let token = token()?;
        let instance = from_stored(token.instance.clone());
        Ok(Self {
            token,
            again: false,
            execution_id: to_db(commit.execution_id),
            events,
            kv: last_kv_changes(&commit.history_delta, stored),
            custom_status: last_custom_status(&commit.history_delta)
                .map(|status| status.map(stored)),
            work,
            messages,
            metadata: StoredMetadata::of(&commit.metadata),
            cancelled: commit.cancelled_activities.clone(),
            commit_id: commit.commit_id.map(to_db),
            incarnation: new_incarnation(),
            is_first: false,
            direct: None,
            awaited_end: hub.awaited_end(&instance, &commit.history_delta),
        })
    }

    /// The commit id for each event: history marks name the end of a commit, so that only the last
    /// one has it.
    pub(crate) fn commits_of_events(&self) -> impl Iterator<Item = Option<i64>> + use<'_> {
        let last = self.events.len();
        (1..=last).map(move |place| self.commit_id.filter(|_| place == last))
    }

    /// Rows that it adds.
    pub(crate) fn rows(&self) -> usize {
        self.events.len() + self.kv.len() + self.work.len() + self.messages.len()
    }

    /// Bytes of the texts that can be large. A value or a status is in an event as well.
    pub(crate) fn bytes(&self) -> usize {
        let events = self.events.iter().map(|event| event.text.len());
        let work = self.work.iter().map(|work| work.text.len());
        let messages = self.messages.iter().map(|message| message.text.len());
        let output = self.metadata.output.as_ref().map_or(0, String::len);
        events.chain(work).chain(messages).sum::<usize>() + output
    }

    /// The outcome of a result code.
    pub(crate) fn outcome(&self, code: i32, stored: Option<StoredInstance>) -> Committed {
        match TurnResult::from_code(code) {
            Some(TurnResult::Committed) => {
                let incarnation = stored.as_ref().and_then(|it| it.incarnation).map(from_db);
                let committed = CommittedTurn::default().with_incarnation(incarnation);
                Ok((Some(committed), after_commit::changes(self, stored)))
            }
            Some(TurnResult::LeaseExpired) => Err(turn_lock::expired()),
            Some(TurnResult::NotCurrent) => Ok((None, Changes::default())),
            Some(TurnResult::UnknownToken | TurnResult::NotFirst) | None => {
                Err(turn_lock::unknown_token())
            }
        }
    }

    /// The activities that the commit leased. None if an earlier attempt committed the turn: this
    /// node does not know their rows, and their leases expire.
    pub(crate) fn leased(&self, rows: &HashMap<Uuid, i64>) -> Vec<LeasedWork> {
        let leased = self.work.iter().enumerate().filter_map(|(index, work)| {
            let (id, _) = work.lease?;
            let row = rows.get(&id).copied()?;
            Some(LeasedWork::new(index, WorkToken { id, row }.text()))
        });
        leased.collect()
    }

    /// Whether the execution row may need a write. A direct turn that ends nothing finds it there.
    pub(crate) fn concerns_execution(&self) -> bool {
        let metadata = &self.metadata;
        let Some(direct) = &self.direct else { return true };
        metadata.status.is_some() || metadata.pin.is_some() || self.starts_execution(direct)
    }

    /// Whether a direct turn goes on in another execution than the one that it follows.
    pub(crate) fn starts_execution(&self, direct: &Direct) -> bool {
        self.execution_id != to_db(direct.mark.execution_id)
    }
}

/// A random number above zero, so that a reused instance id gets another one.
pub(crate) fn new_incarnation() -> i64 {
    let (random, _) = Uuid::new_v4().as_u64_pair();
    to_db((random >> 1).max(1))
}
