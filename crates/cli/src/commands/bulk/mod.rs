//! `duroxide bulk`: the acts on many instances that the store records.

mod acts;
mod run;

pub(crate) use acts::BulkCommand;
pub(crate) use run::run;
