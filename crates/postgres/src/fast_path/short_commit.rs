//! Commits that have a short form. A commit that does not fit takes the plain path.

use crate::commit::encoded::EncodedCommit;
use crate::commit::turn_commit::Committed;
use crate::connect::session::Session;
use crate::error::JobError;
use crate::fast_path::first_turn::{COMMIT_FIRST_TURN, FirstTurn};
use crate::fast_path::short_turn::ShortTurn;
use crate::fast_path::step::{COMMIT_STEP, Step};
use crate::store::Store;

/// A commit in its short form.
pub(crate) enum ShortCommit<'a> {
    FirstTurn(FirstTurn<'a>),
    Step(Step<'a>),
}

impl<'a> ShortCommit<'a> {
    /// The commits in a short form, if they fit.
    pub(crate) fn of(commits: &[&'a EncodedCommit]) -> Option<Self> {
        let turn = ShortTurn::of(commits)?;
        if turn.commit.direct.is_some() {
            Step::of(turn).map(Self::Step)
        } else {
            FirstTurn::of(turn).map(Self::FirstTurn)
        }
    }

    /// The function that commits it.
    pub(crate) fn function(&self) -> &'static str {
        match self {
            Self::FirstTurn(_) => COMMIT_FIRST_TURN,
            Self::Step(_) => COMMIT_STEP,
        }
    }

    /// Commits it. `Err` means that it was not committed.
    pub(crate) async fn store(
        &self,
        store: &Store,
        session: &Session,
    ) -> Result<Committed, JobError> {
        match self {
            Self::FirstTurn(turn) => turn.store(store, session).await,
            Self::Step(step) => step.store(store, session).await,
        }
    }
}

/// Runs the statements of the short forms on no rows.
pub(crate) async fn warm_up(store: &Store, session: &Session) -> Result<(), JobError> {
    for function in [COMMIT_FIRST_TURN, COMMIT_STEP] {
        session.query(&store.schema.call_without_arguments(function), &[]).await?;
        // The first use plans the call itself; that is quick.
        session.prepare(&store.schema.call(function)).await?;
    }
    Ok(())
}
