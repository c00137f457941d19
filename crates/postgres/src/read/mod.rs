//! Reading histories, values and the state of instances.

pub(crate) mod describe;
pub(crate) mod family;
pub(crate) mod history;
pub(crate) mod inspect;
pub(crate) mod instance_copy;
pub(crate) mod kv;
pub(crate) mod query;
pub(crate) mod reader;
