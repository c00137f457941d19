//! Writers that put waiting jobs into one transaction.

pub(crate) mod group;
pub(crate) mod sender;
pub(crate) mod single;
pub(crate) mod writer;
