//! The schema: its migrations, and how values are stored in it.

pub(crate) mod migrations;
pub(crate) mod namespace;
pub(crate) mod number;
pub(crate) mod stored_text;
pub(crate) mod version_key;
