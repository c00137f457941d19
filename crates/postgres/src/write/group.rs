//! Jobs that are written in one transaction.

use duroxide_core::providers::CommittedTurn;

use crate::commit::encoded::EncodedCommit;
use crate::commit::turn_commit;
use crate::connect::session::Session;
use crate::error::JobError;
use crate::notify::change::Changes;
use crate::queues::orchestrator_queue::{self, DelayedMessage};
use crate::queues::worker_queue::{self, Finished, NewWork};
use crate::store::Store;
use crate::write::sender::Sending;

/// Something that is written in a group.
#[derive(Debug)]
pub(crate) enum Work {
    Commit(Box<EncodedCommit>),
    Finish(Finished),
    Message(DelayedMessage),
    Activity(NewWork),
}

impl Work {
    /// Bytes of its texts, which the connection copies and the server receives.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Commit(commit) => commit.bytes(),
            Self::Finish(finished) => {
                finished.completion.as_ref().map_or(0, |message| message.text.len())
            }
            Self::Message(delayed) => delayed.message.text.len(),
            Self::Activity(work) => work.text.len(),
        }
    }

    /// Rows that the server writes for it.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Commit(commit) => commit.rows(),
            Self::Finish(_) | Self::Message(_) | Self::Activity(_) => 1,
        }
    }

    /// An earlier attempt may have succeeded. A repeated one detects that by itself, except one
    /// that only adds rows: returns what that changes, and its sender knows whether it has run.
    pub(crate) fn may_have_run(&mut self) -> Option<Changes> {
        match self {
            Self::Commit(commit) => commit.again = true,
            Self::Finish(finished) => finished.again = true,
            Self::Message(_) => return Some(orchestrator_queue::added()),
            Self::Activity(work) => return Some(worker_queue::added(&[work])),
        }
        None
    }
}

/// The result of a job, and what it changed.
pub(crate) type Outcome = Result<(Option<CommittedTurn>, Changes), JobError>;

pub(crate) fn no_result() -> JobError {
    JobError::Broken("the database returned no result for a job".to_owned())
}

/// Jobs by kind, each with its index.
#[derive(Default)]
pub(crate) struct Group<'a> {
    commits: Vec<(usize, &'a EncodedCommit)>,
    finished: Vec<(usize, &'a Finished)>,
    messages: Vec<(usize, &'a DelayedMessage)>,
    activities: Vec<(usize, &'a NewWork)>,
}

impl<'a> Group<'a> {
    /// Jobs in order.
    pub(crate) fn of(jobs: impl Iterator<Item = &'a Work>) -> Self {
        let mut group = Self::default();
        for (index, work) in jobs.enumerate() {
            match work {
                Work::Commit(commit) => group.commits.push((index, commit)),
                Work::Finish(finished) => group.finished.push((index, finished)),
                Work::Message(message) => group.messages.push((index, message)),
                Work::Activity(work) => group.activities.push((index, work)),
            }
        }
        // In the order of the instances, so that two transactions cannot deadlock.
        group.commits.sort_by(|(_, a), (_, b)| a.token.instance.cmp(&b.token.instance));
        group
    }

    /// Whether turns are committed.
    pub(crate) fn has_commits(&self) -> bool {
        !self.commits.is_empty()
    }

    /// How many statements it needs.
    fn kinds(&self) -> usize {
        [
            self.commits.is_empty(),
            self.finished.is_empty(),
            self.messages.is_empty(),
            self.activities.is_empty(),
        ]
        .iter()
        .filter(|empty| !**empty)
        .count()
    }

    /// Prepares first: it takes a round trip, and the statements after it would overtake it.
    async fn prepare(&self, store: &Store, session: &Session) -> Result<(), JobError> {
        let (_, commits) = unzip(&self.commits);
        let functions = [
            (self.commits.is_empty(), turn_commit::function(store, &commits)),
            (self.finished.is_empty(), worker_queue::COMPLETE_WORK),
            (self.messages.is_empty(), orchestrator_queue::ENQUEUE_MESSAGES),
            (self.activities.is_empty(), worker_queue::ENQUEUE_WORK),
        ];
        for (_, function) in functions.iter().filter(|(empty, _)| !empty) {
            session.prepare(&store.schema.call(function)).await?;
        }
        Ok(())
    }

    /// Writes all or nothing. `Err` means that nothing was written, unless it is uncertain.
    pub(crate) async fn write(
        &self,
        store: &Store,
        session: &Session,
        sending: Sending,
    ) -> Result<Vec<Outcome>, JobError> {
        let written = self.write_in_transaction(store, session, sending).await;
        if written.as_ref().is_err_and(|error| !error.is_uncertain()) {
            // The server reports an error before it has rolled back. Until then the locks of the
            // group would be in the way of what its jobs or their callers do next.
            let _rolled_back = session.execute("").await;
        }
        written
    }

    async fn write_in_transaction(
        &self,
        store: &Store,
        session: &Session,
        sending: Sending,
    ) -> Result<Vec<Outcome>, JobError> {
        if self.kinds() <= 1 {
            return self.run(store, session, sending).await;
        }
        self.prepare(store, session).await?;
        // Alone: if the server refuses it, it would commit each of the statements by itself.
        session.execute("BEGIN").await.map_err(JobError::without_effect)?;
        // Sends the rest without waiting.
        let (written, committed) =
            tokio::join!(self.run(store, session, sending), session.execute("COMMIT"));
        let written = written?;
        committed?;
        Ok(written)
    }

    /// Runs the statements, all in flight at once.
    async fn run(
        &self,
        store: &Store,
        session: &Session,
        sending: Sending,
    ) -> Result<Vec<Outcome>, JobError> {
        let (finished, messages, activities, commits) = tokio::join!(
            self.write_finished(store, session),
            self.write_messages(store, session, sending),
            self.write_activities(store, session, sending),
            self.write_commits(store, session),
        );
        let mut outcomes: Vec<Outcome> = Vec::with_capacity(self.jobs());
        outcomes.resize_with(self.jobs(), || Err(no_result()));
        let written = [finished?, messages?, activities?, commits?];
        for (index, outcome) in written.into_iter().flatten() {
            if let Some(place) = outcomes.get_mut(index) {
                *place = outcome;
            }
        }
        Ok(outcomes)
    }

    fn jobs(&self) -> usize {
        self.commits.len() + self.finished.len() + self.messages.len() + self.activities.len()
    }

    async fn write_finished(&self, store: &Store, session: &Session) -> Written {
        if self.finished.is_empty() {
            return Ok(Vec::new());
        }
        let (places, finished) = unzip(&self.finished);
        let outcomes = worker_queue::finish_all(store, session, &finished).await?;
        let outcomes = outcomes.into_iter().map(|outcome| Ok((None, outcome?)));
        Ok(places.into_iter().zip(outcomes).collect())
    }

    async fn write_messages(&self, store: &Store, session: &Session, sending: Sending) -> Written {
        if self.messages.is_empty() {
            return Ok(Vec::new());
        }
        let (places, messages) = unzip(&self.messages);
        let changes =
            orchestrator_queue::insert_all(store, session, &messages, Some(sending)).await?;
        Ok(all_good(places, &changes))
    }

    async fn write_activities(
        &self,
        store: &Store,
        session: &Session,
        sending: Sending,
    ) -> Written {
        if self.activities.is_empty() {
            return Ok(Vec::new());
        }
        let (places, activities) = unzip(&self.activities);
        let changes = worker_queue::insert_all(store, session, &activities, sending).await?;
        Ok(all_good(places, &changes))
    }

    async fn write_commits(&self, store: &Store, session: &Session) -> Written {
        if self.commits.is_empty() {
            return Ok(Vec::new());
        }
        let (places, commits) = unzip(&self.commits);
        let outcomes = turn_commit::commit_turns(store, session, &commits).await?;
        Ok(places.into_iter().zip(outcomes).collect())
    }
}

type Written = Result<Vec<(usize, Outcome)>, JobError>;

fn unzip<'a, T>(placed: &[(usize, &'a T)]) -> (Vec<usize>, Vec<&'a T>) {
    placed.iter().copied().unzip()
}

fn all_good(places: Vec<usize>, changes: &Changes) -> Vec<(usize, Outcome)> {
    let good = |index| (index, Ok((None, changes.clone())));
    places.into_iter().map(good).collect()
}
