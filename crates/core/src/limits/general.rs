//! Bounds of the engine, the runtime and the stores.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Carried messages above this number are reported in the log; none is dropped.
pub const MAX_CARRY_FORWARD_EVENTS: usize = 100;

/// Size of a custom status: it is read with every status query.
pub const MAX_CUSTOM_STATUS_BYTES: usize = 262_144;

/// Tags that one worker may subscribe to: each is a term of the fetch query.
pub const MAX_WORKER_TAGS: usize = 5;

/// Inputs up to this size are compared as JSON values; parsed, they take some times their size.
/// Larger ones are compared as texts.
pub(crate) const JSON_COMPARED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Nesting of a JSON value that is compared: each level takes a part of the stack.
pub(crate) const JSON_DEPTH_MAX: usize = 128;

/// Differences between two inputs that the text of a mismatch lists.
pub(crate) const DIFFERENCES_SHOWN_MAX: usize = 8;

/// Characters of the path to a differing field.
pub(crate) const DIFFERING_PATH_MAX: usize = 256;

/// Characters of a differing value.
pub(crate) const DIFFERING_VALUE_MAX: usize = 64;

/// Bytes of a recorded or requested operation in the text of a mismatch, which is stored.
pub(crate) const MISMATCH_OPERATION_MAX: usize = 2048;

/// Length of a routing tag.
pub const MAX_TAG_NAME_BYTES: usize = 256;

/// Longest name of an activity by which stores filter. Indexes of PostgreSQL take some 2,700 bytes
/// in a row. The stores have this number in their SQL.
pub(crate) const ACTIVITY_KEY_NAME_BYTES_MAX: usize = 512;

/// Length of an instance id or a session id: stores find rows by them, and an index of PostgreSQL
/// holds at most 2,704 bytes.
pub const MAX_ID_BYTES: usize = 2048;

/// Length of a key: stores find its value by the instance id and the key together.
pub const MAX_KV_KEY_BYTES: usize = 512;

/// Length of the id of a patch: it is stored in every execution that adopts the patch.
pub const MAX_PATCH_ID_BYTES: usize = 512;

/// Live keys of one instance: all of them are loaded with every cold turn.
pub const MAX_KV_KEYS: usize = 150;

/// Size of one value.
pub const MAX_KV_VALUE_BYTES: usize = 65_536;

/// Length of the name of an operator or of a reason: it is stored with each instance of an act.
pub const EDIT_TEXT_MAX: usize = 4096;

/// Ids that the request of one bulk act may name: they are its input, which is held in memory.
pub const BULK_IDS_MAX: usize = 5000;

/// Instances that one activity of a bulk act is about: what it has done is reported as progress,
/// which has a limit.
pub(crate) const BULK_SLICE: usize = 100;

/// Instances of a bulk act that are acted on at once: enough for a store that groups writes, and
/// few beside the work of nodes.
pub(crate) const BULK_AT_ONCE: usize = 8;

/// Characters of the remark on one instance.
pub(crate) const BULK_DETAIL_MAX: usize = 300;

/// How often an activity of a bulk act reports how far it is: what it has not reported is repeated
/// after a crash.
pub(crate) const BULK_PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// How often a bulk act tries the same instance while the store is in trouble.
pub(crate) const BULK_ACT_ATTEMPTS_MAX: u32 = 5;

/// The pause between two such tries.
pub(crate) const BULK_RETRY_PAUSE: Duration = Duration::from_millis(200);

/// How long a bulk act waits for a store that is in trouble before it fails; a retry of it goes on.
pub(crate) const BULK_PATIENCE_MAX: Duration = Duration::from_secs(600);

/// Turns and activities of a node that only hosts bulk acts: several acts may run at once.
pub(crate) const BULK_HOST_TURNS: usize = 2;
/// See [`BULK_HOST_TURNS`].
pub(crate) const BULK_HOST_ACTIVITIES: usize = 4;

/// Ids that the plan of a bulk act shows.
pub(crate) const BULK_SAMPLE: u32 = 5;

/// Where the count of such a plan stops.
pub(crate) const BULK_COUNT_MAX: u64 = 1_000_000;

/// How long nodes pause between two searches for what a retention policy no longer keeps.
pub const RETENTION_INTERVAL_DEFAULT: Duration = Duration::from_secs(600);

/// Instances that a retention deletes with one call of the store, which takes short transactions.
pub(crate) const RETENTION_BATCH: u32 = 200;

/// The pause behind each such call.
pub(crate) const RETENTION_BATCH_PAUSE: Duration = Duration::from_millis(5);

/// Instances of one sweep: it is an activity, which reports nothing before its end.
pub(crate) const RETENTION_SWEEP_MAX: u64 = 5000;

/// Refusals of the archive that end a sweep: it will probably refuse the rest as well.
pub(crate) const RETENTION_REFUSALS_MAX: u64 = 10;

/// The shortest pause after a sweep that failed.
pub(crate) const RETENTION_RETRY_MIN: Duration = Duration::from_secs(2);

/// The longest pause after a sweep that failed.
pub(crate) const RETENTION_RETRY_MAX: Duration = Duration::from_secs(3600);

/// Executions of the retention itself that are kept: what it has done lately.
pub(crate) const RETENTION_EXECUTIONS_KEPT: u32 = 20;

/// Where the plan of a retention stops to count.
pub(crate) const RETENTION_PLANNED_MAX: u64 = 100_000;

/// Size of a report of progress: it is written while the activity runs and read with every fetch.
pub const MAX_PROGRESS_BYTES: usize = 65_536;

/// How often a node announces which turns and activities it runs: one small write.
pub(crate) const WORKER_ANNOUNCEMENT_INTERVAL: Duration = Duration::from_secs(30);

/// An announcement is valid for this long. Two in a row may fail.
pub(crate) const WORKER_ANNOUNCEMENT_LIFETIME: Duration = Duration::from_secs(90);

/// Instances for which a bulk operation may fail in a row: then the store is in trouble.
pub(crate) const BULK_ERRORS_MAX: usize = 3;

/// Waiting activities read at once in the search for those that no node serves.
pub(crate) const UNSERVED_SCAN_PAGE: u32 = 500;

/// Waiting activities examined for each tag, so that a long queue does not make the search long.
pub(crate) const UNSERVED_SCAN_MAX: u32 = 10_000;

/// Reads of the store in one part of the search for work that no live node can run.
pub(crate) const STRANDED_SCAN_READS_MAX: usize = 16;

/// How often a node searches the queues for work that no live node can run.
pub(crate) const STRANDED_CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// Stranded work that one such search lists. The next one goes on behind it.
pub(crate) const STRANDED_CHECK_MAX: u32 = 500;

/// Stranded work of each kind that a node counts before it starts again: more would only cost.
pub(crate) const STRANDED_COUNTED_MAX: u64 = 10_000;

/// Passes of a search that must find work stranded before the work fails, however long it waits.
pub(crate) const STRANDED_PASSES_MIN: u32 = 3;

/// A node with a limit for stranded work searches this often within the limit.
pub(crate) const STRANDED_CHECKS_PER_LIMIT: u32 = 8;

/// How long the sweeper of stranded activities owns a session, whose other activities wait.
pub(crate) const STRANDED_SESSION_LOCK: Duration = Duration::from_secs(1);

/// How long a node leaves a cancelled instance alone that it could not end.
pub(crate) const CANCELLED_RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// Cancelled instances that a node remembers because it could not end them.
pub(crate) const CANCELLED_PASSED_OVER_MAX: usize = 10_000;

/// How often a node repeats the warning of one handler that no live node has.
pub(crate) const STRANDED_WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// Handlers that one search warns of, so that a million names do not fill the log.
pub(crate) const STRANDED_WARNINGS_MAX: usize = 10;

/// First pause of a client that polls a provider that cannot watch. Pauses double.
pub(crate) const CLIENT_POLL_PAUSE_MIN: Duration = Duration::from_millis(5);

/// Longest pause between two such polls: how late a change may be seen.
pub(crate) const CLIENT_POLL_PAUSE_MAX: Duration = Duration::from_millis(100);

/// A waiting client polls at least this often although changes wake it, so that a lost wake-up
/// delays a result and never loses it.
pub(crate) const CLIENT_WATCH_SAFETY_INTERVAL: Duration = Duration::from_secs(5);

/// Turns that one core is given by default: most of them wait for their commit, which they share.
pub(crate) const TURNS_PER_CORE: usize = 16;

/// Bounds of the default number of turns at once. Above, they only wait for the store.
pub(crate) const CONCURRENT_TURNS: RangeInclusive<usize> = 4..=64;

/// Activities that one core is given by default: most of them wait for something outside.
pub(crate) const ACTIVITIES_PER_CORE: usize = 32;

/// Bounds of the default number of activities at once. Above, what they call suffers.
pub(crate) const CONCURRENT_ACTIVITIES: RangeInclusive<usize> = 32..=256;

/// Executions that a node keeps between turns by default.
pub(crate) const WARM_INSTANCES_MAX: usize = 10_000;

/// Bytes of history that these may hold together by default.
pub(crate) const WARM_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The input and the results of one execution count for at most one such part of these bytes. Its
/// code may have dropped them: a long chain of large results must not lose its place in memory.
pub(crate) const WARM_DELIVERED_SHARE: usize = 4;

/// Bytes of long histories that a node holds at once while it replays them; a longer one alone. The
/// turns wait for each other under their leases.
pub(crate) const HISTORY_BYTES_AT_ONCE_MAX: u64 = 128 * 1024 * 1024;

/// Bytes of a decoded event besides its texts.
pub(crate) const EVENT_BYTES: u64 = 400;

/// No lease is renewed more often: a lease of zero would be renewed without pause.
pub(crate) const LEASE_RENEWAL_INTERVAL_MIN: Duration = Duration::from_millis(1);

/// No background task runs more often, whatever the options say: it would run without pause.
pub(crate) const BACKGROUND_INTERVAL_MIN: Duration = Duration::from_millis(100);

/// How often one turn may be polled without a new event. Code that wakes itself for ever would
/// otherwise hold its dispatcher slot for ever.
pub(crate) const POLLS_PER_SETTLE_MAX: usize = 100_000;

/// Event ids of the failure that ends an instance whose history cannot be read, in the order in
/// which they are tried: that of 0.1.x, and one that no event of a longer history can have.
pub(crate) const UNREADABLE_HISTORY_EVENT_IDS: [u64; 2] = [99_999, EVENTS_PER_EXECUTION_MAX + 1];

/// Delay of a turn whose pin or history this node cannot use.
pub(crate) const UNUSABLE_TURN_DELAY: Duration = Duration::from_secs(1);

/// Events of one execution. The engine keeps a few bytes for each, so that a corrupt id cannot make
/// it allocate without bound; long before this, code should continue as new.
pub(crate) const EVENTS_PER_EXECUTION_MAX: u64 = 1 << 26;

/// Turns leased by one fetch: one fetch is one transaction, which other calls wait for.
pub(crate) const ITEMS_PER_FETCH_MAX: usize = 64;

/// The shortest pause of a dispatcher between two fetches that found nothing.
pub(crate) const FETCH_PAUSE_MIN: Duration = Duration::from_millis(1);

/// Step of the pause after a fetch that failed with a retryable error; doubled with each failure.
pub(crate) const FETCH_RETRY_STEP: Duration = Duration::from_millis(100);

/// Longest pause after a failed fetch.
pub(crate) const FETCH_RETRY_MAX: Duration = Duration::from_secs(3);

/// First pause before a failed commit or report is retried; doubled with each failure.
pub(crate) const COMMIT_RETRY_FIRST: Duration = Duration::from_millis(10);

/// Longest pause before a failed commit or report is retried.
pub(crate) const COMMIT_RETRY_MAX: Duration = Duration::from_secs(1);

/// A commit is tried at least this often, however short its lease.
pub(crate) const COMMIT_TRIES_MIN: u32 = 6;

/// Delay of a turn that the store could not commit: turns that it can commit come first.
pub(crate) const UNCOMMITTED_TURN_DELAY: Duration = Duration::from_millis(500);

/// A node reports trouble of its store at most this often: each of its calls may fail.
pub(crate) const TROUBLE_LOG_INTERVAL: Duration = Duration::from_secs(30);

/// Trouble that lasts this long costs leases. A single failed call is retried in less.
pub(crate) const TROUBLE_LASTING_MIN: Duration = Duration::from_secs(1);

/// A failed operation that has not been called again for this long no longer counts as failing:
/// the longest pause between two tries is shorter.
pub(crate) const FAILING_FOR_MAX: Duration = Duration::from_secs(5);

/// After trouble, a node needs about this long to fetch everything that waited.
pub(crate) const TROUBLE_FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

/// How often an operation reclaims a lease that expired before the store came to it: each time for
/// longer than before.
pub(crate) const RECLAIMS_MAX: u32 = 8;

/// Bytes of a message that a poison event keeps of it: enough for all ids and the beginning of its
/// data. A poison event is read with every history of its instance.
pub(crate) const POISON_TEXT_MAX: usize = 65_536;

/// Bytes of one value within it.
pub(crate) const POISON_VALUE_MAX: usize = 1024;

/// An activity that has run for this long without ending its node does not end it at once: the
/// node vouches for it, and if its lease is lost from then on, that is hardly the activity's fault.
pub(crate) const VOUCHED_AFTER: Duration = Duration::from_millis(100);

/// Of the leases that were vouched for, one in so many counts as an attempt all the same. An
/// activity that ends its node late is poison in the end.
pub(crate) const VOUCHED_PER_ATTEMPT: u32 = 10;

/// Delay of an activity whose result could not be stored, or whose session is one too many.
pub(crate) const WORK_RETURN_DELAY: Duration = Duration::from_millis(100);

/// How long [`shutdown`](crate::runtime::Runtime::shutdown) waits by default.
pub(crate) const SHUTDOWN_GRACE_DEFAULT: Duration = Duration::from_secs(1);

/// How long a shutdown waits for the store's checkpoint: a log of some megabytes takes less.
pub(crate) const SHUTDOWN_CHECKPOINT_MAX: Duration = Duration::from_secs(5);

/// How long a shutdown may take to release aborted work: a store that does not respond must not
/// hold it up. What is not released expires.
pub(crate) const SHUTDOWN_RELEASE_MAX: Duration = Duration::from_secs(2);

/// Finished activities of one instance that may wait for the turn before theirs; more than these
/// are reported through the queue, so that what is held in memory stays bounded.
pub(crate) const FINISHED_WAITING_MAX: usize = 1024;

/// Activities that are leased to a node and wait for one of its slots.
pub(crate) const PREFETCHED_MAX: usize = 1024;

/// How long these wait before they are released to other nodes.
pub(crate) const PREFETCH_TIME_MAX: Duration = Duration::from_millis(20);

/// An activity that usually takes longer does not wait like that: with 64 slots, 1,024 of this
/// length are done in time.
pub(crate) const QUICK_ACTIVITY_MAX: Duration = Duration::from_millis(1);

/// Activities that are released at the same time: each is a call to the store.
pub(crate) const RETURNED_AT_ONCE_MAX: usize = 64;

/// Activities that a slot runs in a row without a poll of the queue, while no other slot is free:
/// an instance that always has a next step must not keep others waiting for ever.
#[doc(hidden)] // Public for the facade's tests only.
pub const STEPS_IN_A_ROW_MAX: u32 = 16;

/// How long a slot may continue like that.
pub(crate) const STEPS_IN_A_ROW_TIME_MAX: Duration = Duration::from_millis(100);

/// A waiting client that is woken in vain waits for further changes before it polls: from this
/// time, doubled with each wake-up.
pub(crate) const CLIENT_WAKE_UP_PAUSE_MIN: Duration = Duration::from_millis(1);

/// The longest such pause: thousands of waiters must not load the store with their polls.
pub(crate) const CLIENT_WAKE_UP_PAUSE_MAX: Duration = Duration::from_millis(200);

/// After this time without a wake-up, the next poll is at once.
pub(crate) const CLIENT_WAKE_UP_MEMORY: Duration = Duration::from_secs(1);

/// Bytes of a message id: it is part of a key in the store.
pub(crate) const MESSAGE_ID_BYTES_MAX: usize = 256;

/// Cancellations remembered for activities that were fetched but not yet started here.
pub(crate) const CANCELLATIONS_REMEMBERED_MAX: usize = 4096;

/// How long they are remembered: a fetched activity starts within milliseconds. For a later one,
/// the first renewal of its lease shows that it was cancelled.
pub(crate) const CANCELLATIONS_REMEMBERED_FOR: Duration = Duration::from_secs(5);

/// Changes within this time lead to one check for lost leases. It is longer than an activity may
/// wait for a slot, so that a cancellation between its lease and its registration is not missed.
pub(crate) const LOST_LEASES_PAUSE: Duration = Duration::from_millis(40);

/// Numbers of pending reports: with some dozen commits at a time, few instances share one.
pub(crate) const REPORT_SLOTS: usize = 4096;

/// A client waits this long for the report of a node that it sees the effect of. Only the
/// scheduling of a busy machine is between the two.
pub(crate) const REPORT_WAIT_MAX: Duration = Duration::from_secs(1);

/// Problems that the report of a check describes; it counts the others.
pub(crate) const CHECK_PROBLEMS_MAX: usize = 1000;

/// How the version spread names executions that are not pinned.
pub const UNPINNED_VERSION: &str = "unpinned";

/// Waiting cancellations that a provider returns with a held instance. The first that is meant for
/// the instance counts; others are rare.
pub const HELD_CANCELLATIONS_MAX: u32 = 100;

/// How long an operator's call holds an instance: enough to read a history of millions of events.
pub(crate) const HOLD_LENGTH: Duration = Duration::from_secs(60);

/// Parts of one section of an instance that an export reads: a store that returns the same part
/// again and again must not fill the disk.
pub(crate) const COPY_PARTS_MAX: u64 = 10_000_000;

/// Bytes of one line of an imported file: more than any store keeps in a text.
pub(crate) const IMPORTED_LINE_BYTES_MAX: u64 = 1 << 30;

/// Queued starts that an export of all instances reads at once.
pub(crate) const EXPORTED_STARTS_PER_READ: u32 = 500;

/// Parked messages that an export of all instances reads: their list has no pages.
pub(crate) const EXPORTED_PARKED_MAX: u32 = 100_000;

/// How far an export climbs from a child to its root: each level is a read.
pub(crate) const TREE_DEPTH_MAX: usize = 10_000;

/// Differences of one instance that a comparison reports.
pub(crate) const DIFFERENCES_MAX: usize = 20;

/// How often an operator's call holds an instance that other calls take from it.
pub(crate) const HOLD_ATTEMPTS_MAX: u32 = 40;

/// The longest pause between two such attempts. Its random length lets one of them commit.
pub(crate) const HOLD_PAUSE_MAX: Duration = Duration::from_millis(400);

/// Items of each list in the answer why an instance waits: more do not help to find the cause.
pub(crate) const WHY_LISTED_MAX: usize = 20;

/// Messages and activities of one instance that such an answer reads: one short read each.
pub(crate) const WHY_QUEUE_ROWS_MAX: u32 = 1000;

/// How often such an answer is read while the instance goes on.
pub(crate) const WHY_ROUNDS_MAX: usize = 3;

/// Characters of an error or a report that such an answer keeps.
pub(crate) const WHY_TEXT_MAX: usize = 2000;

/// Failed calls of one execution that such an answer connects with their retries.
pub(crate) const WHY_FAILURES_REMEMBERED_MAX: usize = 256;

/// Reads of queues that such an answer remembers: one that loses a race in the turn in which its
/// message arrives returns the message.
pub(crate) const WHY_TAKEN_REMEMBERED_MAX: usize = 1024;
/// Bytes of a filter: it is parsed for every query, and stands in errors.
pub const FILTER_BYTES_MAX: usize = 4096;

/// How often the client goes on with a count.
pub(crate) const COUNT_CALLS_MAX: usize = 20;

/// Where a count stops by default.
pub const COUNTED_INSTANCES_MAX: u64 = 10_000;

/// Events of an execution that a query reads to say what the instance waits for.
pub(crate) const WAITING_EVENTS_MAX: usize = 5000;

/// What an instance waits for: more than these are not listed.
pub(crate) const WAITING_SHOWN_MAX: usize = 8;

/// How long a call that mends a parent waits for the end of a child that is cancelled while it
/// continues as new: nodes search for it every ten seconds. It is shorter than [`HOLD_LENGTH`].
pub(crate) const CANCELLED_CHILD_WAIT_MAX: Duration = Duration::from_secs(25);

/// How deep children are mended with their parents: each level is a call within a call.
pub(crate) const MEND_DEPTH_MAX: usize = 32;

/// Search attributes of one instance: every cold turn and every row of a query loads all of them.
pub const MAX_ATTRIBUTES: usize = 32;

/// Bytes of the name of an attribute: part of the key of an index.
pub const MAX_ATTRIBUTE_NAME_BYTES: usize = 64;

/// Bytes of a text attribute: an index of PostgreSQL holds at most 2,704 bytes with the id.
pub const MAX_ATTRIBUTE_VALUE_BYTES: usize = 256;

/// How long the code of a turn runs before the node warns that it blocks its thread, and before the
/// debug switch `replay_every_turn` fails it, if it does so twice. A busy machine stays below.
pub const BLOCKED_TURN_MIN: Duration = Duration::from_millis(500);

/// A node warns once in this time that an orchestration blocks its thread: all instances do so.
pub(crate) const BLOCKED_TURN_WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// The lease of an activity that a test runs without a node, on a clock that stands still.
#[cfg(feature = "testing")]
pub const TESTED_LEASE: Duration = Duration::from_secs(30);
