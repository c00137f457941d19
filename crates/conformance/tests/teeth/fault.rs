//! The ways in which the faulty provider breaks the contract.

macro_rules! faults {
    ($($variant:ident: $text:literal,)+) => {
        /// One violation of the contract.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Fault {
            $(#[doc = $text] $variant,)+
        }

        impl Fault {
            /// Every violation.
            pub(crate) const ALL: &[Self] = &[$(Self::$variant),+];

            /// What is wrong, for people.
            pub(crate) fn text(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }
    };
}

faults! {
    TokenReused: "every turn is leased under the same token",
    LeaseNeverEnds: "the lease of a turn never runs out",
    FilterIgnored: "the capability filter is ignored",
    FilterFirstRangeOnly: "only the first range of a filter counts",
    FilterEmptyMeansAll: "a filter without ranges lets everything pass",
    FilterAfterLock: "the filter is applied after the instance is locked",
    DecodeErrorHidden: "a history that fails to decode is handed out as an empty one",
    DecodeErrorFails: "a history that fails to decode makes the fetch fail",
    AttemptsNotCounted: "the attempt count of a turn is always one",
    MessagesReversed: "messages come newest first",
    HistoryReversed: "history comes newest first",
    SnapshotHasRunningWrites: "the value snapshot holds writes of the running execution",
    SnapshotEmpty: "the value snapshot is always empty",
    AckNotAtomic: "a failed commit still enqueues its messages",
    AckAfterLeaseLost: "a commit without a live lease reports success",
    DuplicateEventsIgnored: "events that are stored already are skipped in silence",
    LaterMessagesDeleted: "a commit deletes messages that arrived during the lease",
    WorkItemsLost: "a commit drops the activities that it should enqueue",
    MessagesLost: "a commit drops the messages that it should enqueue",
    CancellationsIgnored: "cancelled activities stay in the worker queue",
    CancelBeforeEnqueue: "activities are cancelled before those of the same commit are enqueued",
    VersionNotStored: "the handler version of a commit is not stored",
    PinNotStored: "the pinned version of an execution is not stored",
    StatusNotStored: "the status of an execution is not stored",
    ParentNotStored: "the parent of an instance is not stored",
    TimersDueAtOnce: "timers are visible before they are due",
    AbandonUnknownAccepted: "giving back an unknown turn succeeds",
    AbandonDelayIgnored: "a turn that is given back is visible at once",
    AbandonAttemptCounted: "an undone attempt of a turn still counts",
    AbandonKeepsLease: "a turn that is given back stays leased",
    ReadHidesCorruption: "reading an undecodable history gives an empty one",
    ReadFirstExecution: "reading gives the first execution, not the latest",
    EnqueueDelayIgnored: "a delayed message is visible at once",
    TurnRenewalAlwaysSucceeds: "renewing a lost turn succeeds",
    TurnRenewalWithoutEffect: "renewing a turn does not extend its lease",
    WorkOutOfOrder: "activities come newest first",
    WorkLeaseNeverEnds: "the lease of an activity never runs out",
    WorkAttemptsNotCounted: "the attempt count of an activity is always one",
    WorkCompletionLost: "acknowledging an activity does not tell its orchestration",
    WorkAckAfterLeaseLost: "acknowledging an activity without a live lease succeeds",
    WorkRenewalAlwaysSucceeds: "renewing a lost activity succeeds",
    WorkRenewalWithoutEffect: "renewing an activity does not extend its lease",
    WorkAbandonDelayIgnored: "an activity that is given back is visible at once",
    WorkAbandonAttemptCounted: "an undone attempt of an activity still counts",
    WorkAbandonKeepsLease: "an activity that is given back stays leased",
    TagFilterIgnored: "activities of every tag are handed out",
    TagNoneMeansAny: "a worker that takes nothing is given everything",
    TagLost: "the tag of an activity is lost on the way",
    SessionSharedByAll: "a session is given to two owners",
    SessionsForEveryone: "a worker without sessions is given activities of one",
    SessionLeaseNeverEnds: "the lease of a session never runs out",
    SessionIdleRenewed: "idle sessions are renewed",
    SessionNotRenewed: "renewing sessions does nothing",
    SessionsNeverSwept: "orphaned sessions are never removed",
    StatusVersionStuck: "the version of the custom status does not grow",
    StatusSeenIgnored: "a custom status that was seen is handed out again",
    TombstonesIgnored: "a cleared key still has its old value",
    ValuesShared: "instances see each other's values",
    ValuesIncomplete: "listing values leaves one out",
    StatsInvented: "an unknown instance has a size",
    StatsWithoutValues: "values do not count in the size of an instance",
    ListOldestFirst: "instances are listed oldest first",
    ListStatusIgnored: "listing by status lists everything",
    ExecutionsReversed: "executions are listed newest first",
    TimesZero: "creation and update times are zero",
    InfoInvented: "an unknown instance has an info",
    OutputLost: "the output of an execution is not shown",
    DepthsZero: "queue depths are always zero",
    MetricsZero: "system metrics are always zero",
    LatestAlwaysFirst: "the latest execution is always the first",
    ChildrenHidden: "children are not listed",
    ParentHidden: "the parent is not told",
    DeleteIgnoresRunning: "running instances are deleted without force",
    DeleteNothing: "deleting reports success and deletes nothing",
    DeleteUnknownAccepted: "deleting an unknown instance succeeds",
    OrphansUnchecked: "children that were not listed are not noticed",
    PruneTakesCurrent: "pruning takes the current execution",
    PruneKeepsNothing: "pruning ignores how many executions to keep",
    PruneUnknownAccepted: "pruning an unknown instance succeeds",
    BulkLimitIgnored: "a bulk deletion ignores its limit",
    BulkAgeIgnored: "a bulk deletion ignores the age",
    BulkTakesRunning: "a bulk deletion takes running instances",
    SpreadEmpty: "the spread of versions is always empty",
    ParkedHidden: "messages for unknown instances are not listed",
    WatchSilent: "a watch never tells of a change",
    LostLocksHidden: "activities that were taken away are not named",
    HeldLocksLost: "activities that are still held are called lost",
    PollReturnsAtOnce: "a fetch never waits for work",
    BatchTooLarge: "a batch holds more turns than were asked for",
    KnownSuffixLost: "events after the known ones are left out",
    KnownIncarnationIgnored: "a recreated instance is taken for the one that was seen",
    WorkBatchSlotsMixed: "activities of a batch name the wrong slot",
    OutcomeNeverEnds: "an instance that has ended still runs",
    StartEventHidden: "the start event of an instance is not found",
}
