//! Reading history, key-value state and instances, on connections of their own.

pub(crate) mod calls;
pub(crate) mod describe;
pub(crate) mod history;
pub(crate) mod inspect;
pub(crate) mod instance_copy;
pub(crate) mod kv;
pub(crate) mod query;
pub(crate) mod read_jobs;
pub(crate) mod readers;
pub(crate) mod status;
pub(crate) mod stored_events;
