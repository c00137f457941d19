//! Every bound of this crate, with its reason.

use std::time::Duration;

/// Jobs that share one commit: the first one waits for all.
pub(crate) const JOBS_PER_COMMIT_MAX: usize = 256;

/// Waiting jobs that are worth a second transaction while another one is under way.
pub(crate) const JOBS_FOR_ANOTHER_WRITER: usize = 64;

/// A group that takes longer is slow, whatever the reason: the next one does not wait for it. Full
/// groups on a busy server take some milliseconds; two lanes would split them into smaller ones,
/// which cost more.
pub(crate) const SLOW_GROUP: Duration = Duration::from_millis(20);

/// How long a statement waits for a lock that another transaction holds. Then it fails, releases
/// everything it holds, and is repeated: what waits holds up others by no more than this.
pub(crate) const LOCK_WAIT_MAX: Duration = Duration::from_millis(20);

/// The longest pause before a call that met a locked row is repeated.
pub(crate) const LOCKED_PAUSE_MAX: Duration = Duration::from_millis(200);

/// Rows of a job that is large: it is written by itself, so that no other job waits for it. It may
/// have to open a connection and make its plans, which takes as long as a few thousand rows.
pub(crate) const LARGE_JOB_ROWS: usize = 5000;

/// Bytes of the texts of a job that is large.
pub(crate) const LARGE_JOB_BYTES: usize = 4 << 20;

/// Bytes of the jobs that share one commit. The driver encodes them, its connection copies them and
/// keeps a buffer of that size, so that they are in memory several times.
pub(crate) const BYTES_PER_COMMIT_MAX: usize = LARGE_JOB_BYTES;

/// Connections for jobs that are written by themselves and for statements in the background, opened
/// when they are needed.
pub(crate) const SINGLE_WRITERS: usize = 2;

/// Connections of the store's own thread, opened when they are needed. Renewals and announcements
/// are short, and one connection is enough for most nodes.
pub(crate) const OWN_CONNECTIONS: usize = 4;

/// How long closing a store waits for its own thread: only foreign code can hold it up.
pub(crate) const OWN_THREAD_ENDS_WITHIN: Duration = Duration::from_secs(1);

/// Commits under way at once: while one waits for the disk, the server executes the next.
pub(crate) const WRITERS: usize = 2;

/// Connections for fetches and reads.
pub(crate) const CONNECTIONS: usize = 8;

/// How long a call waits for a free connection before it reports that there is none.
pub(crate) const POOL_WAIT: Duration = Duration::from_secs(10);

/// How long to try one address of the server before the next one, or before a call fails.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The server cancels a statement that takes longer: something is wrong.
pub(crate) const STATEMENT_TIMEOUT: Duration = Duration::from_secs(60);

/// How much longer than the statement timeout a call waits for its response, at least and at most:
/// the server and the network need some time to report the timeout.
pub(crate) const RESPONSE_SLACK_MIN: Duration = Duration::from_secs(2);
pub(crate) const RESPONSE_SLACK_MAX: Duration = Duration::from_secs(5);

/// Migrations may rewrite large tables, so that they have no statement timeout. A node gives up
/// when the server has not responded for this long.
pub(crate) const MIGRATION_MAX: Duration = Duration::from_secs(3600);

/// The server ends a transaction that waits this long for its next statement: the node was paused
/// or cut off in the middle of a commit, and other nodes wait for its locks. A live node sends a
/// commit at once.
pub(crate) const SILENCE_IN_TRANSACTION_MAX: Duration = Duration::from_secs(10);

/// The server probes a silent connection after this long. By default it would keep the connections
/// of a vanished node for hours.
pub(crate) const SERVER_KEEPALIVE_IDLE: Duration = Duration::from_secs(30);

/// The interval between two probes.
pub(crate) const SERVER_KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// Attempts of one call, for transient errors.
pub(crate) const ATTEMPTS_MAX: u32 = 5;

/// The pause after the first failed attempt; it doubles with each.
pub(crate) const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// The longest pause between two attempts.
pub(crate) const RETRY_PAUSE_MAX: Duration = Duration::from_secs(2);

/// The pause after the first failed attempt to listen; it doubles with each.
pub(crate) const LISTEN_PAUSE: Duration = Duration::from_millis(50);

/// A waiting fetch polls again after this long even without a notification.
pub(crate) const SAFETY_POLL: Duration = Duration::from_secs(10);

/// How often a node notifies the others that it is alive.
pub(crate) const GREETING_INTERVAL: Duration = Duration::from_secs(20);

/// How long a silent node counts as alive: two greetings may be lost.
pub(crate) const GREETING_LASTS: Duration = Duration::from_secs(70);

/// How long a node that asked which others exist waits for responses before it knows that it is
/// alone.
pub(crate) const RESPONSES_WITHIN: Duration = Duration::from_secs(2);

/// The same once it has received its own question back: then others have received it, too. One that
/// responds later is sent everything that it may have missed.
pub(crate) const RESPONSES_AFTER_ECHO: Duration = Duration::from_millis(50);

/// The pause of a node between two notifications, for each other node: all nodes together send at
/// most one in this time, and each of them receives no more.
pub(crate) const NOTIFICATION_SPACING: Duration = Duration::from_millis(1);

/// The longest such pause, still far below the safety poll.
pub(crate) const NOTIFICATION_SPACING_MAX: Duration = Duration::from_secs(1);

/// While a node does not know yet whether there are others, its pause grows with each notification
/// that it sends, as if there were one more node, up to so many: others respond within a few
/// milliseconds, and a busy node that is alone does not notify itself of each commit.
pub(crate) const UNANSWERED_MAX: u32 = 20;

/// How long a node gathers steps of instances before it notifies others. It sends ends of instances
/// and new work at once.
pub(crate) const STEPS_GATHERED_FOR: Duration = Duration::from_millis(20);

/// Bytes of one notification; the server accepts a little less than 8000.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 7000;

/// Changed instances that a notification names one by one; beyond that it says "any".
pub(crate) const CHANGED_INSTANCES_MAX: usize = 1000;

/// How long the caller of a start waits for the commit of its first turn before it stores the start
/// as a message: slow user code does not delay the response any further.
pub(crate) const FIRST_TURN_WAIT_MAX: Duration = Duration::from_millis(20);

/// A dispatcher whose fetch returned within this time is about to fetch again.
pub(crate) const FETCH_RETURNS_WITHIN: Duration = Duration::from_millis(5);

/// Started instances that a node remembers, by eight bytes each.
pub(crate) const STARTS_SEEN_MAX: usize = 65_536;

/// Starts that wait for the commits of their first turns at once. Each new one searches all.
pub(crate) const STARTS_OFFERED_MAX: usize = 256;

/// Events that a step inserts one by one.
pub(crate) const EVENTS_OF_A_STEP_MAX: usize = 4;

/// How long other nodes leave an instance to the node that has its history in memory.
pub(crate) const WARM_GRACE: Duration = Duration::from_millis(20);

/// Transactions of one sender of messages. While the server cannot remove old versions of rows, a
/// transaction reads a version for each one before it.
pub(crate) const SENDINGS_MAX: i64 = 1000;

/// How long a node uses a sender of messages. Its row is kept for twice this time.
pub(crate) const SENDER_AGE_MAX: Duration = Duration::from_secs(60 * 60);

/// Commits with an unknown outcome that a node remembers.
pub(crate) const UNCERTAIN_MAX: usize = 10_000;

/// A fetch returns histories up to this many events; longer ones take a read of their own.
pub(crate) const INLINE_EVENTS_MAX: i64 = 200;

/// And up to this many bytes, as well as key-value states.
pub(crate) const INLINE_BYTES_MAX: i64 = 256 * 1024;

/// Rows of an imported instance that one call adds: each call has a deadline.
pub(crate) const IMPORTED_PER_CALL: usize = 2048;

/// Events that one read returns: the rows of a longer history are not in memory all at once.
pub(crate) const EVENTS_PER_READ_MAX: i64 = 4096;

/// Bytes of these events.
pub(crate) const BYTES_PER_READ_MAX: i64 = 4 * 1024 * 1024;

/// Messages of one turn; the others wait for the next.
pub(crate) const TURN_MESSAGES_MAX: i64 = 1024;

/// Bytes of the messages of one turn; a larger message comes alone.
pub(crate) const TURN_BYTES_MAX: i64 = 1024 * 1024;

/// A start of this size comes alone: it carries unread messages.
pub(crate) const START_ALONE_BYTES: i64 = 64 * 1024;

/// Bytes of the messages of one fetch: it leases fewer turns if they are large.
pub(crate) const FETCH_BYTES_MAX: i64 = 8 * 1024 * 1024;

/// How long an instance waits whose stored state could not be read.
pub(crate) const UNREADABLE_TURN_PAUSE: Duration = Duration::from_secs(10);

/// How long a node leaves an instance alone that makes its fetches fail; it doubles with each
/// failure. Each end of a pause costs one failed fetch.
pub(crate) const UNFETCHABLE_PAUSE: Duration = Duration::from_secs(1);

/// The longest such pause.
pub(crate) const UNFETCHABLE_PAUSE_MAX: Duration = Duration::from_secs(60);

/// Instances that a node leaves alone at once: every fetch carries their ids.
pub(crate) const UNFETCHABLE_MAX: usize = 256;

/// Instances among which a node searches for those that make its fetches fail: as many as a fetch
/// may lease, and those that wait behind a few.
pub(crate) const UNFETCHABLE_TRIED_MAX: i32 = 128;

/// Turns that one fetch leases: each waits until the histories of all are read.
pub(crate) const TURNS_PER_FETCH_MAX: usize = 64;

/// Instances that one bulk operation processes unless the caller sets a limit.
pub(crate) const BULK_INSTANCES_DEFAULT: u32 = 1000;

/// How long one transaction removes rows of deleted instances: what waits for it waits no longer.
pub(crate) const DELETION_SLICE: Duration = Duration::from_millis(8);

/// A deletion that has not gone on for so long is continued by any node.
pub(crate) const DELETION_ABANDONED_AFTER: Duration = Duration::from_secs(5);

/// Children of deleted instances that one transaction deletes: it holds a lock of each.
pub(crate) const CHILDREN_PER_DELETION: i32 = 128;

/// Events of a deleted instance that are searched together for starts of children: the start of
/// each child takes a lock.
pub(crate) const SEARCHED_EVENTS_PER_READ: i64 = 256;

/// Deletions of a tree that are repeated because it has grown meanwhile.
pub(crate) const GROWN_TREES_MAX: u32 = 8;

/// Executions that one transaction prunes.
pub(crate) const EXECUTIONS_PER_PRUNING: i64 = 256;

/// Migrations that are repeated because running nodes held what they needed, and needed what they
/// held. Each takes as long as the server waits before it looks for a deadlock.
pub(crate) const MIGRATION_ATTEMPTS_MAX: u32 = 20;

/// Roots that a bulk deletion deletes in one transaction, with their trees.
pub(crate) const ROOTS_PER_DELETION: usize = 50;

/// Instances that one transaction deletes: it holds a lock of each.
pub(crate) const INSTANCES_PER_DELETION: usize = 256;

/// How long a deletion of a long list keeps instances from running before it deletes them, if its
/// caller dies: this, and [`RESERVATION_PER_INSTANCE`] for each of the list.
pub(crate) const RESERVATION: Duration = Duration::from_secs(60);

/// What a deletion may take for one instance of its list, on a busy server.
pub(crate) const RESERVATION_PER_INSTANCE: Duration = Duration::from_millis(2);

/// Rows of a table that one transaction prunes: a few milliseconds of work.
pub(crate) const ROWS_PER_PRUNING: i64 = 2000;

/// Size of a tree of instances: a broken parent link must not cause an endless loop.
pub(crate) const TREE_SIZE_MAX: i64 = 1_000_000;

/// Characters of a payload that a dump shows.
pub(crate) const DUMP_TEXT_MAX: usize = 200;

/// Rows of a table that a dump shows.
pub(crate) const DUMP_ROWS_MAX: i64 = 10_000;

/// A waiting worker polls no more often than this for expired leases that no commit announced.
pub(crate) const LEASE_POLL_INTERVAL_MIN: Duration = Duration::from_secs(1);

/// How long a fetch or a shutdown waits for dropped fetches of the same node to be undone.
pub(crate) const UNDO_WAIT_MAX: Duration = Duration::from_secs(2);

/// Reads of instances that share one statement: the first one waits for all.
pub(crate) const REQUESTS_PER_READ_MAX: usize = 128;

/// Connections for fetches and reads that opening a database warms up: a node always uses one for
/// turns, one for activities and one for reads of instances, and often one more.
pub(crate) const WARM_READERS: usize = 4;

/// Rows that a gauge counts: its node reads it while others work. More are not in its value.
pub(crate) const GAUGE_ROWS_MAX: i64 = 100_000;

/// Routes that one page of stranded turns passes: each takes a statement.
pub(crate) const STRANDED_ROUTES_PER_READ: usize = 64;

/// Cancelled instances that a page of their turns examines.
pub(crate) const CANCELLED_TURNS_PER_READ: u32 = 500;

/// Responses may arrive in another order than that of their times. If the time of a clock that the
/// program has set is earlier than another one by more than this, the clock was set back.
pub(crate) const OWN_CLOCK_DRIFT_MAX: Duration = Duration::from_millis(500);

/// Pause before leases are corrected that other transactions were changing when the server's clock
/// was found to be set back.
pub(crate) const SET_BACK_PAUSE: Duration = Duration::from_millis(500);

/// Late messages of an instance that has ended which one call removes: each may be large, and it
/// holds their locks.
pub(crate) const DISCARDED_PER_CALL_MAX: i64 = 256;
/// How long a provider without upkeep waits for its last notification when it closes: other nodes
/// poll anyway.
pub(crate) const LAST_NOTIFICATION_WAIT: Duration = Duration::from_secs(1);
