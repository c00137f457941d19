//! Bad input and storage trouble: each error says what to do, and everything else goes on.

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
mod stand;
mod unknown;
#[cfg(unix)]
mod unprivileged;
