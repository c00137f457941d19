//! Every bound of this crate, with its reason.

use std::time::Duration;

/// Jobs that share one commit: the first of them waits for all.
pub(crate) const JOBS_PER_COMMIT_MAX: usize = 256;

/// How long jobs may join a commit that has started: the first of them waits for all.
pub(crate) const ROUND_LENGTH_MAX: Duration = Duration::from_millis(5);

/// Statements kept prepared per connection: more than this crate has.
pub(crate) const STATEMENTS_CACHED_MAX: usize = 256;

/// How long a connection waits for another process before it reports a locked database.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Pause between two tries while another process holds the lock: about one quick commit.
pub(crate) const BUSY_PAUSE: Duration = Duration::from_millis(2);

/// Threads for reads. Reads are short and mostly served from the page cache.
pub(crate) const READERS: usize = 2;

/// How often the writer polls for commits of other processes while a caller waits.
pub(crate) const CROSS_PROCESS_POLL: Duration = Duration::from_millis(10);

/// How much longer that pause becomes while a caller waits and polls find nothing.
pub(crate) const EMPTY_POLL_FACTOR: u32 = 5;

/// How much longer that pause is while no caller waits.
pub(crate) const IDLE_POLL_FACTOR: u32 = 25;

/// Rounds of one fetch job that found only messages of unknown instances, before other jobs run.
pub(crate) const FETCH_ROUNDS_MAX: usize = 64;

/// Messages of leased instances that one round of a fetch takes off the list: each is a write.
pub(crate) const UNLISTED_PER_ROUND_MAX: usize = 256;

/// Routes of ready messages that a fetch distinguishes: the code that a node has, and the pins of
/// its executions, of which few are in use. More are read when the first have been leased.
pub(crate) const ROUTES_MAX: usize = 16_384;

/// Routes that one page of stranded turns passes: those that live nodes run are passed by a probe.
pub(crate) const STRANDED_ROUTES_PER_READ: usize = 1024;

/// Expired leases that such a page examines.
pub(crate) const LATE_TURNS_PER_READ: u32 = 256;

/// Cancelled instances that a page of their turns examines.
pub(crate) const CANCELLED_TURNS_PER_READ: u32 = 500;

/// Activities that one fetch job moves to another lane: each is a write that other jobs wait for.
pub(crate) const MOVED_PER_FETCH_MAX: u32 = 512;

/// Activities of sessions that a fetch reads at a time: as many as it moves at most, or fewer.
pub(crate) const SESSION_ACTIVITIES_PER_READ: usize = 64;

/// Turns that one fetch job leases: the history of each is read while other jobs wait.
pub(crate) const TURNS_PER_FETCH_MAX: usize = 64;

/// Messages of one turn; the others wait for the next. Their commit holds the writer up for some
/// milliseconds.
pub(crate) const TURN_MESSAGES_MAX: usize = 1024;

/// Bytes of the messages of one turn; a larger message comes alone.
pub(crate) const TURN_BYTES_MAX: usize = 1024 * 1024;

/// A start of this size comes alone: it carries unread messages.
pub(crate) const START_ALONE_BYTES: usize = 64 * 1024;

/// Bytes that one fetch job reads, messages and histories: no further turn is leased.
pub(crate) const FETCH_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Events of a history that a fetch job reads on the writer thread. Longer histories are read on
/// the read connections.
pub(crate) const INLINE_EVENTS_MAX: usize = 256;

/// Bytes of such a history.
pub(crate) const INLINE_BYTES_MAX: usize = 256 * 1024;

/// Events of long histories for which one fetch leases turns, if its caller wants them at once.
pub(crate) const FETCH_EVENTS_MAX: u64 = 50_000;

/// Events that one read returns: other reads run between the parts of a long history.
pub(crate) const EVENTS_PER_READ_MAX: usize = 4096;

/// Bytes of these events.
pub(crate) const BYTES_PER_READ_MAX: usize = 4 * 1024 * 1024;

/// Instances that one bulk operation touches unless the caller says otherwise.
pub(crate) const BULK_INSTANCES_DEFAULT: u32 = 1000;

/// Rows of one table that a deletion removes in one transaction; more are hidden first and removed
/// in slices.
pub(crate) const DELETED_AT_ONCE_MAX: i64 = 256;

/// Instances that one transaction deletes; of more, the root is hidden first.
pub(crate) const INSTANCES_AT_ONCE_MAX: usize = 32;

/// Rows that one statement of a slice removes; each may be large.
pub(crate) const DELETED_PER_STATEMENT: i64 = 32;

/// How long a slice of a deletion holds other jobs up.
pub(crate) const DELETION_SLICE_MAX: Duration = Duration::from_millis(5);

/// Size of a tree of instances: a broken parent link must not cause an endless loop.
pub(crate) const TREE_SIZE_MAX: usize = 1_000_000;

/// How long a checkpoint at a shutdown waits for other connections, while nothing is written. Their
/// reads take milliseconds; a process that reads for longer keeps the log in use anyway.
pub(crate) const CHECKPOINT_WAIT: Duration = Duration::from_millis(250);

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

/// A waiting worker polls again after one lease, because it is not notified of leases that a commit
/// took; but not more often than this, however short leases are.
pub(crate) const LEASE_RECHECK_MIN: Duration = Duration::from_millis(200);

/// Checks for other processes that rely on the time stamp of the log, between two that ask SQLite.
pub(crate) const STAMP_CHECKS_MAX: u32 = 40;

/// How often a provider checks whether other processes that use the file are alive.
pub(crate) const NEIGHBOUR_CHECK: Duration = Duration::from_secs(1);

/// The pause between these checks in lengths of the last: they take one percent of the time.
pub(crate) const NEIGHBOUR_CHECK_SHARE: u32 = 100;

/// Files that a provider tries to create and lock: another process may lock one just before.
pub(crate) const PRESENCE_TRIES: usize = 3;

/// Rows that a gauge counts: its node reads it while others work. More are not in its value.
pub(crate) const GAUGE_ROWS_MAX: u32 = 100_000;

/// How far the machine's clock may fall behind the time that has passed since it was last read
/// before it counts as set back. Below that, clocks are adjusted without a jump.
pub(crate) const CLOCK_DRIFT_MAX: Duration = Duration::from_millis(500);

/// Expired suspensions that one round of a fetch ends. Each may cost a replay that fails again.
pub(crate) const SUSPENSIONS_ENDED_MAX: usize = 16;

/// How many damages of a file are reported: more say nothing new.
pub(crate) const DAMAGES_REPORTED_MAX: usize = 100;
