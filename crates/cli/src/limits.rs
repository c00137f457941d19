//! Every bound of the command, with its reason.

use std::time::Duration;

/// Rows of `list` without `--limit`: more than a screen, and quick on any store.
pub(crate) const LISTED_BY_DEFAULT: u64 = 100;

/// Where `count` stops without `--limit`.
pub(crate) const COUNTED_BY_DEFAULT: u64 = 10_000;

/// Rows of one read while a list is streamed.
pub(crate) const PAGE: u32 = 500;

/// Instances that one act can concern. Their ids are held in memory.
pub(crate) const TARGETS_MAX: usize = 1_000_000;

/// Ids that are shown before a confirmation.
pub(crate) const SAMPLE: usize = 5;

/// Instances of a tree that are shown: each costs a read.
pub(crate) const TREE_MAX: usize = 1_000;

/// Events that a time line reads: it shows the latest execution, and more do not fit a screen.
pub(crate) const TIMELINE_EVENTS_MAX: usize = 5_000;

/// Rows of a time line without `--full`.
pub(crate) const TIMELINE_ROWS: usize = 30;

/// The narrowest time line that still shows something.
pub(crate) const TIMELINE_WIDTH_MIN: usize = 10;

/// Columns of output that goes to no terminal.
pub(crate) const WIDTH_WITHOUT_TERMINAL: usize = 100;

/// Columns of the widest terminal: lines are padded to them.
pub(crate) const WIDTH_MAX: usize = 10_000;

/// Bytes of an input or of the data of an event.
pub(crate) const INPUT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Ids of one line of standard input.
pub(crate) const ID_BYTES_MAX: usize = 64 * 1024;

/// Messages without an instance that `queues` shows.
pub(crate) const PARKED_SHOWN_MAX: u32 = 100;

/// How long a wait lasts at the most if no other time is named: for ever, for people.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// How long one part of a wait lasts before it looks whether the instance still exists.
pub(crate) const WAIT_ROUND: Duration = Duration::from_secs(2);

/// How long one part of an endless watch waits before it reads the status again.
pub(crate) const WATCH_ROUND: Duration = Duration::from_secs(30);

/// How often a watch polls a store that cannot notify of changes.
pub(crate) const WATCH_POLL: Duration = Duration::from_millis(200);

/// How often a watch reads whether the instance is suspended, of which no change is reported.
pub(crate) const SUSPENSION_POLL: Duration = Duration::from_secs(1);

/// Histories with problems that `check-histories` names: more say nothing new.
pub(crate) const PROBLEMS_SHOWN_MAX: usize = 100;

/// Missing children, lost parents and differences that `export` and `import` name.
pub(crate) const TRANSFER_NAMED_MAX: usize = 20;

/// How long one wait for an act on many instances lasts before its outcomes are read again.
pub(crate) const BULK_ROUND: Duration = Duration::from_millis(500);

/// Instances that `retention` deletes with one call of the library.
pub(crate) const RETENTION_STEP: u64 = 5_000;
