//! Turns in their stored form, and their commits.

pub(crate) mod calls;
pub(crate) mod columns;
pub(crate) mod encoded;
pub(crate) mod turn_commit;
