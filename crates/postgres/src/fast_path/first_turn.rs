//! The first turn of an instance that its commit stores: with the last step it is all that a short
//! workflow waits for.

use crate::commit::turn_commit::Committed;
use crate::connect::session::Session;
use crate::error::JobError;
use crate::fast_path::short_turn::ShortTurn;
use crate::notify::after_commit;
use crate::schema::call::Argument;
use crate::store::Store;

/// A commit that is a short first turn.
pub(crate) struct FirstTurn<'a>(ShortTurn<'a>);

impl<'a> FirstTurn<'a> {
    /// The turn, if it fits. A parent must be locked, which the plain path does.
    pub(crate) fn of(turn: ShortTurn<'a>) -> Option<Self> {
        let fits = turn.commit.is_first && turn.commit.metadata.parent.is_none();
        fits.then_some(Self(turn))
    }

    /// Commits the turn. `Err` means that it was not committed.
    pub(crate) async fn store(
        &self,
        store: &Store,
        session: &Session,
    ) -> Result<Committed, JobError> {
        let commit = self.0.commit;
        let own: [Argument<'_>; 3] = [
            ("p_incarnation", &commit.incarnation),
            ("p_pin", &commit.metadata.pin),
            ("p_pin_key", &commit.metadata.pin_key),
        ];
        let (row, mut outcome) = self.0.store(store, session, COMMIT_FIRST_TURN, &own).await?;
        if let Ok((Some(committed), changes)) = &mut outcome {
            committed.more_waits = row.get::<_, Option<bool>>("o_ready").unwrap_or_default();
            after_commit::add_shared(changes, committed.more_waits, false);
        }
        Ok(outcome)
    }
}

/// The function that commits a short first turn.
pub(crate) const COMMIT_FIRST_TURN: &str = "commit_first_turn";
