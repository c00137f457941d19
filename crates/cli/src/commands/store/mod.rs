//! `duroxide store`: the store as a whole.

mod backup;
mod check;
mod info;
mod migrate;
mod run;
mod vacuum;

pub(crate) use run::{StoreCommand, run};
