//! Behaviour of the SQLite provider, one module per subject.

mod backlog;
mod bounds;
mod busy;
mod capability;
mod damaged;
mod deletion;
mod files;
mod gauges;
mod group_commit;
mod kv;
mod leases;
mod legacy;
mod limits;
mod marks;
mod model;
mod parked;
mod plans;
mod processes;
mod sessions;
mod slices;
mod statement_count;
mod support;
mod trouble;
mod turns;
mod wake;
mod worker;
