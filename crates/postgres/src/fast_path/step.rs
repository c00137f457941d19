//! A single step of a chain, or its end: the most frequent commit, and the one that latency depends
//! on.

use crate::commit::encoded::Direct;
use crate::commit::turn_commit::Committed;
use crate::connect::session::Session;
use crate::error::JobError;
use crate::fast_path::short_turn::ShortTurn;
use crate::fetch::lease_token::WorkToken;
use crate::schema::call::Argument;
use crate::schema::number::to_db;
use crate::store::Store;

/// A commit that is a step.
pub(crate) struct Step<'a> {
    turn: ShortTurn<'a>,
    direct: &'a Direct,
    finished: WorkToken,
}

impl<'a> Step<'a> {
    /// The turn as a step, if it fits.
    pub(crate) fn of(turn: ShortTurn<'a>) -> Option<Self> {
        let commit = turn.commit;
        let direct = commit.direct.as_ref()?;
        let [finished] = direct.finished.as_slice() else { return None };
        let fits = commit.metadata.pin.is_none() && !commit.starts_execution(direct);
        fits.then_some(Self { turn, direct, finished: *finished })
    }

    /// Commits the step. `Err` means that it was not committed.
    pub(crate) async fn store(
        &self,
        store: &Store,
        session: &Session,
    ) -> Result<Committed, JobError> {
        let mark = &self.direct.mark;
        let own: [Argument<'_>; 7] = [
            ("p_ends", &self.turn.commit.metadata.ends),
            ("d_incarnation", &to_db(mark.incarnation)),
            ("d_execution", &to_db(mark.execution_id)),
            ("d_event", &to_db(mark.event_id)),
            ("d_commit", &mark.commit_id.map(to_db)),
            ("f_id", &self.finished.row),
            ("f_token", &self.finished.id),
        ];
        let (_row, outcome) = self.turn.store(store, session, COMMIT_STEP, &own).await?;
        Ok(outcome)
    }
}

/// The function that commits a step.
pub(crate) const COMMIT_STEP: &str = "commit_step";
