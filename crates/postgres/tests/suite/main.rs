//! What the conformance suite cannot show: servers that go away, many nodes, schemas, TLS, clocks.

mod bounds;
mod clocks;
mod command;
mod direct;
mod idle;
mod in_flight;
mod locked;
mod manual;
mod nodes;
mod plain_path;
mod plans;
mod predecessor;
mod proxy;
mod restore;
mod scale;
mod schemas;
mod secrets;
mod silence;
mod starts;
mod store_trouble;
mod support;
mod texts;
mod tls;
mod trouble;
mod wake;
mod warm;
