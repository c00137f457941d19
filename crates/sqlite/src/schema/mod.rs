//! The tables and how values are stored in their columns.

pub(crate) mod migrations;
pub(crate) mod number;
pub(crate) mod stored_text;
