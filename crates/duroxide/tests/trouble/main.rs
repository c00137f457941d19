//! Bad input and storage failures: each error says what to do, and other work continues.

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
mod test_node;
mod unknown;
#[cfg(unix)]
mod unprivileged;
