//! Every bound of this crate, with its reason.

use std::time::Duration;

/// Jobs that share one commit: the first of them waits for all.
pub(crate) const JOBS_PER_COMMIT_MAX: usize = 256;

/// How long jobs may join a commit that has begun: the first of them waits for all.
pub(crate) const ROUND_LENGTH_MAX: Duration = Duration::from_millis(5);

/// Statements kept prepared per connection: more than this crate has.
pub(crate) const STATEMENTS_CACHED_MAX: usize = 256;

/// How long a connection waits for another process before it reports a locked database.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Pause between two tries while another process holds the lock: about one quick commit.
pub(crate) const BUSY_PAUSE: Duration = Duration::from_millis(2);

/// Threads for reads. Reads are short and mostly served from the page cache.
pub(crate) const READERS: usize = 2;

/// How often commits of other processes are looked for while someone waits.
pub(crate) const CROSS_PROCESS_POLL: Duration = Duration::from_millis(10);

/// How much rarer that becomes while someone waits and nothing happens.
pub(crate) const QUIET_POLL_FACTOR: u32 = 5;

/// How much rarer that is while nobody waits.
pub(crate) const IDLE_POLL_FACTOR: u32 = 25;

/// Rounds of one fetch job that only met messages of unknown instances, before other jobs get
/// their turn.
pub(crate) const FETCH_ROUNDS_MAX: usize = 64;

/// Turns handed out by one fetch job: the history of each is read while others wait.
pub(crate) const TURNS_PER_FETCH_MAX: usize = 64;

/// Instances that one bulk operation touches unless the caller says otherwise.
pub(crate) const BULK_INSTANCES_DEFAULT: u32 = 1000;

/// Depth of a tree of instances: a broken parent link must not make us loop.
pub(crate) const TREE_SIZE_MAX: usize = 1_000_000;

/// Pages of the write-ahead log after which it is copied into the file (16 MiB).
pub(crate) const WAL_AUTOCHECKPOINT_PAGES: u32 = 4000;

/// The log file is cut back to this size after it has been copied.
pub(crate) const WAL_SIZE_LIMIT_BYTES: u32 = 64 * 1024 * 1024;

/// Page cache of the write connection.
pub(crate) const WRITER_CACHE_KIB: u32 = 64_000;

/// Page cache of each read connection.
pub(crate) const READER_CACHE_KIB: u32 = 8_000;

/// A wait is never longer than this, so that sums of times cannot overflow.
pub(crate) const POLL_TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Characters of a payload that a dump shows.
pub(crate) const DUMP_TEXT_MAX: usize = 200;

/// How often a waiting worker looks for leases that it was not told of, however short they are.
pub(crate) const LEASE_LOOK_INTERVAL_MIN: Duration = Duration::from_millis(200);

/// Looks for other processes that rely on the time stamp of the log, between two that ask SQLite.
pub(crate) const TRUSTING_LOOKS_MAX: u32 = 40;
