//! Bad input and storage failures: each error says what to do, and other work continues.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test names the variants that it expects")]

mod corrupt_history;
mod corrupt_queues;
mod corrupt_rows;
mod files;
mod flaky;
mod flaky_store;
mod full;
mod ids;
mod locked;
mod logs;
mod outage;
mod test_node;
mod unknown;
#[cfg(unix)]
mod unprivileged;
