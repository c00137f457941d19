//! Committing turns, fetched or direct.

pub(crate) mod calls;
pub(crate) mod direct_turn;
pub(crate) mod events;
pub(crate) mod kv_changes;
pub(crate) mod turn_commit;
