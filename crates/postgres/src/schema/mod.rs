//! The schema: tables, functions and their calls, and how values are stored.

pub(crate) mod call;
pub(crate) mod choose;
pub(crate) mod cleanup;
pub(crate) mod codes;
pub(crate) mod functions;
pub(crate) mod migrations;
pub(crate) mod namespace;
pub(crate) mod number;
mod predecessor;
pub(crate) mod stored_text;
pub(crate) mod version_key;
