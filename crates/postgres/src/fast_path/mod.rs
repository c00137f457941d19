//! Shortcuts that save round trips. `switch` is the only place that tries one; switched off, the
//! plain path does all the work. `warm_up` prepares statements for both.

pub(crate) mod first_turn;
pub(crate) mod short_commit;
pub(crate) mod short_turn;
pub(crate) mod starts;
pub(crate) mod step;
pub(crate) mod switch;
pub(crate) mod warm_up;
