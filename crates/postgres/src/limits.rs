//! Every bound of this crate, with its reason.

use std::time::Duration;

/// Jobs that share one commit: the first of them waits for all.
pub(crate) const JOBS_PER_COMMIT_MAX: usize = 256;

/// Jobs that are worth a transaction of their own while another one is under way.
pub(crate) const JOBS_FOR_ANOTHER_WRITER: usize = 64;

/// Commits under way at once. While one waits for the disk, the next is being written.
pub(crate) const WRITERS: usize = 2;

/// Connections for fetches and reads.
pub(crate) const CONNECTIONS: usize = 8;

/// How long a call waits for a free connection before it reports that there is none.
pub(crate) const POOL_WAIT: Duration = Duration::from_secs(10);

/// How long to try to reach the server before a call fails.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A statement that takes longer is cancelled by the server: something is wrong.
pub(crate) const STATEMENT_TIMEOUT: Duration = Duration::from_secs(60);

/// A transaction whose next statement does not come is ended by the server: the node was paused or
/// cut off in the middle of a commit, and others wait for its locks. A node that lives sends a
/// commit in one go.
pub(crate) const SILENCE_IN_TRANSACTION_MAX: Duration = Duration::from_secs(10);

/// The server asks after this long whether a node that says nothing is there. By default it would
/// keep the connections of one that vanished for hours.
pub(crate) const SERVER_KEEPALIVE_IDLE: Duration = Duration::from_secs(30);

/// How long the server waits before it asks again.
pub(crate) const SERVER_KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// Tries of one call, for errors that pass.
pub(crate) const TRIES_MAX: u32 = 5;

/// The pause after the first failed try; it doubles with each.
pub(crate) const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// The longest pause between two tries.
pub(crate) const RETRY_PAUSE_MAX: Duration = Duration::from_secs(2);

/// The pause after the first failed attempt to listen; it doubles with each.
pub(crate) const LISTEN_PAUSE: Duration = Duration::from_millis(50);

/// A fetch that waits looks again after this long although it heard of nothing.
pub(crate) const SAFETY_POLL: Duration = Duration::from_secs(10);

/// How often a node tells the others that it is there.
pub(crate) const HELLO_INTERVAL: Duration = Duration::from_secs(20);

/// How long a node that says nothing counts as there: two greetings may be lost.
pub(crate) const HELLO_LASTS: Duration = Duration::from_secs(70);

/// How long steps of instances are gathered before other nodes are told of them. Ends of instances
/// and new work are told at once.
pub(crate) const STEPS_GATHERED_FOR: Duration = Duration::from_millis(20);

/// Bytes of one notification; the server takes a little less than 8000.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 7000;

/// Changed instances that are named one by one to other nodes; more are told as "any".
pub(crate) const CHANGED_INSTANCES_MAX: usize = 1000;

/// How long the caller of a start waits for the commit of its first turn before the start is stored
/// by itself. Code that takes this long keeps its caller waiting no longer.
pub(crate) const FIRST_TURN_WAIT_MAX: Duration = Duration::from_millis(20);

/// A fetch that ended this short a time ago will be followed by the next one.
pub(crate) const FETCH_RETURNS_WITHIN: Duration = Duration::from_millis(5);

/// Instances that a node remembers to have started, by eight bytes each.
pub(crate) const STARTS_SEEN_MAX: usize = 65_536;

/// Starts that wait for the commits of their first turns at once. Each new one looks through all.
pub(crate) const STARTS_OFFERED_MAX: usize = 256;

/// Events of a commit that are written one by one.
pub(crate) const EVENTS_OF_A_STEP_MAX: usize = 4;

/// How long an instance is left to the node that it is warm on.
pub(crate) const WARM_GRACE: Duration = Duration::from_millis(20);

/// Commits whose outcome is not known that a node remembers.
pub(crate) const UNCERTAIN_MAX: usize = 10_000;

/// Histories up to this many events come with the turn; longer ones are read by themselves.
pub(crate) const INLINE_EVENTS_MAX: i64 = 200;

/// Turns handed out by one fetch: the history of each is read while others wait.
pub(crate) const TURNS_PER_FETCH_MAX: usize = 64;

/// Instances that one bulk operation touches unless the caller says otherwise.
pub(crate) const BULK_INSTANCES_DEFAULT: u32 = 1000;

/// Size of a tree of instances: a broken parent link must not make us loop.
pub(crate) const TREE_SIZE_MAX: i64 = 1_000_000;

/// A wait is never longer than this, so that sums of times cannot overflow.
pub(crate) const POLL_TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Characters of a payload that a dump shows.
pub(crate) const DUMP_TEXT_MAX: usize = 200;

/// Rows of a table that a dump shows.
pub(crate) const DUMP_ROWS_MAX: i64 = 10_000;

/// A waiting worker looks no more often than this for leases that were lost without a word.
pub(crate) const LEASE_LOOK_INTERVAL_MIN: Duration = Duration::from_secs(1);

/// How long a fetch waits for dropped ones of the same node to be undone.
pub(crate) const UNDO_WAIT_MAX: Duration = Duration::from_secs(2);

/// Questions about instances that share one statement: the first of them waits for all.
pub(crate) const QUESTIONS_PER_READ_MAX: usize = 128;

/// Connections for fetches and reads that are made ready when a database is opened: as many as a
/// node uses all the time, one for turns, one for activities, one for questions, and one besides.
pub(crate) const WARM_READERS: usize = 4;
