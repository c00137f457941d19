//! Random operations.

use proptest::prelude::*;

use crate::op::{
    Activity, Back, CODE, Fact, Filter, HANDLERS, Id, KEYS, Known, Lease, MESSAGE_IDS, Mark,
    Message, OWNERS, Op, PINS, SESSIONS, Selection, TAGS, Tags, Turn, VALUES,
};

pub(crate) fn id() -> BoxedStrategy<Id> {
    prop_oneof![4 => Just(0), 3 => Just(1), 2 => Just(2), 1 => Just(3_usize)].boxed()
}

fn back() -> BoxedStrategy<Back> {
    prop_oneof![6 => Just(0), 2 => Just(1), 1 => 2..6_usize].boxed()
}

fn lease() -> BoxedStrategy<u64> {
    prop_oneof![4 => Just(5000), 2 => Just(1000), 1 => Just(0_u64)].boxed()
}

fn delay() -> BoxedStrategy<Option<u64>> {
    prop_oneof![4 => Just(None), 1 => Just(Some(0)), 2 => Just(Some(1000)), 1 => Just(Some(7000))]
        .boxed()
}

/// Milliseconds before now.
fn before() -> BoxedStrategy<Option<u64>> {
    prop_oneof![3 => Just(None), 1 => Just(Some(0)), 1 => Just(Some(1000_u64))].boxed()
}

fn message() -> BoxedStrategy<Message> {
    prop_oneof![
        6 => (id(), any::<bool>())
            .prop_map(|(instance, version)| Message::Start { instance, version }),
        2 => (id(), id()).prop_map(|(instance, parent)| Message::StartChild { instance, parent }),
        1 => id().prop_map(|instance| Message::ContinueAsNew { instance }),
        2 => completion(),
        2 => (id(), prop_oneof![Just(0), Just(1000), Just(4000_u64)])
            .prop_map(|(instance, after)| Message::Timer { instance, after }),
        4 => id().prop_map(Message::Signal),
        1 => id().prop_map(|parent| Message::ChildCompleted { parent }),
        1 => id().prop_map(|parent| Message::ChildFailed { parent }),
        2 => id().prop_map(Message::Cancel),
        2 => id().prop_map(Message::Queued),
        1 => activity().prop_map(Message::Activity),
    ]
    .boxed()
}

fn completion() -> BoxedStrategy<Message> {
    prop_oneof![
        (id(), 1..5_u64).prop_map(|(instance, id)| Message::Completed { instance, id }),
        (id(), 1..5_u64).prop_map(|(instance, id)| Message::Failed { instance, id }),
    ]
    .boxed()
}

fn activity() -> BoxedStrategy<Activity> {
    let session = prop::option::weighted(0.4, 0..SESSIONS.len());
    let tag = prop::option::weighted(0.3, 0..TAGS.len());
    let build =
        |(instance, id, session, tag, handler)| Activity { instance, id, session, tag, handler };
    (id(), 1..5_u64, session, tag, 0..HANDLERS.len()).prop_map(build).boxed()
}

fn fact() -> BoxedStrategy<Fact> {
    prop_oneof![
        1 => (0..3_usize).prop_map(|carried| Fact::Started { carried }),
        4 => Just(Fact::Heard),
        2 => prop::option::of(0..VALUES.len()).prop_map(Fact::Status),
        4 => (0..KEYS.len(), 0..VALUES.len()).prop_map(|(key, value)| Fact::Set { key, value }),
        2 => (0..KEYS.len()).prop_map(Fact::Clear),
        1 => Just(Fact::ClearAll),
        1 => Just(Fact::Completed),
        1 => Just(Fact::Failed),
        1 => Just(Fact::CancelRequested),
    ]
    .boxed()
}

fn turn() -> BoxedStrategy<Turn> {
    let status = prop_oneof![
        6 => Just(None),
        2 => Just(Some("Completed")),
        1 => Just(Some("Failed")),
        2 => Just(Some("ContinuedAsNew")),
    ];
    let queues = (
        prop::collection::vec(
            prop_oneof![12 => activity().prop_map(Message::Activity), 1 => message()],
            0..3,
        ),
        prop::collection::vec(message(), 0..3),
        prop::collection::vec((id(), 1..5_u64), 0..2),
        prop::option::of(work_lease()),
    );
    let facts = prop::collection::vec(fact(), 0..4);
    let back = prop_oneof![9 => Just(0), 1 => Just(1_u64)];
    let parent = prop::option::weighted(0.3, id());
    let pin = prop::option::weighted(0.3, 0..PINS.len());
    let rest = (prop::bool::weighted(0.2), back, prop::bool::weighted(0.9), parent, pin);
    (rest, facts, queues, status)
        .prop_map(
            |((next_execution, events_back, is_named, parent, pin), events, queues, status)| {
                let (work, messages, cancelled, lease) = queues;
                Turn {
                    next_execution,
                    events_back,
                    events,
                    work,
                    messages,
                    cancelled,
                    status,
                    is_named,
                    parent,
                    pin,
                    lease,
                }
            },
        )
        .boxed()
}

fn work_lease() -> BoxedStrategy<Lease> {
    let indexes = prop::collection::btree_set(0..4_usize, 0..4);
    (indexes, lease())
        .prop_map(|(indexes, length)| Lease { indexes: indexes.into_iter().collect(), length })
        .boxed()
}

/// Mostly turns that continue the stored history: the others are refused and change nothing.
fn direct() -> BoxedStrategy<Op> {
    let mark = prop_oneof![
        12 => Just(Mark::Newest),
        2 => (1..4_usize).prop_map(Mark::Older),
        1 => Just(Mark::Beyond),
        1 => Just(Mark::OtherExecution),
        1 => Just(Mark::OtherIncarnation),
        1 => Just(Mark::OtherCommit),
    ];
    let instance = prop::option::weighted(0.5, id());
    let finished = prop_oneof![
        2 => Just(vec![]),
        4 => Just(vec![0]),
        2 => Just(vec![1, 0]),
        1 => prop::collection::vec(back(), 0..3),
    ];
    (instance, mark, turn(), finished)
        .prop_map(|(instance, mark, turn, finished)| Op::CommitDirect {
            instance,
            mark,
            turn,
            finished,
        })
        .boxed()
}

fn filter() -> BoxedStrategy<Filter> {
    let range = (0..PINS.len(), 0..PINS.len());
    prop_oneof![
        6 => Just(Filter::Off),
        1 => Just(Filter::Nothing),
        3 => prop::collection::vec(range, 1..3).prop_map(Filter::Ranges),
    ]
    .boxed()
}

fn tags() -> BoxedStrategy<Tags> {
    let some = || prop::collection::vec(0..TAGS.len(), 1..3);
    prop_oneof![
        3 => Just(Tags::DefaultOnly),
        2 => some().prop_map(Tags::Only),
        2 => some().prop_map(Tags::DefaultAnd),
        4 => Just(Tags::Any),
        1 => Just(Tags::None),
    ]
    .boxed()
}

fn selection() -> BoxedStrategy<Selection> {
    let instances = prop::option::of(prop::collection::vec(id(), 0..4));
    let limit = prop_oneof![3 => Just(None), 1 => (0..3_u32).prop_map(Some)];
    (instances, before(), limit)
        .prop_map(|(instances, before, limit)| Selection { instances, before, limit })
        .boxed()
}

/// Turns: enqueue, fetch, commit, abandon.
pub(crate) fn turn_op() -> BoxedStrategy<Op> {
    let known = prop_oneof![Just(Known::Nothing), Just(Known::Newest), Just(Known::Oldest)];
    let code = prop::option::weighted(0.3, prop::collection::vec(0..CODE.len(), 0..3));
    prop_oneof![
        10 => (message(), delay()).prop_map(|(message, delay)| Op::Send { message, delay }),
        4 => (message(), prop::option::of(0..MESSAGE_IDS.len()), any::<bool>()).prop_map(
            |(message, id, existing_only)| Op::Deliver { message, id, existing_only }
        ),
        4 => (lease(), filter()).prop_map(|(lease, filter)| Op::FetchTurn { lease, filter }),
        8 => (0..4_usize, lease(), filter(), code, known).prop_map(
            |(turns_max, lease, filter, code, known)| {
                Op::FetchTurns { turns_max, lease, filter, code, known }
            }
        ),
        12 => (back(), turn(), any::<bool>())
            .prop_map(|(back, turn, plain_ack)| Op::Commit { back, turn, plain_ack }),
        8 => direct(),
        3 => (back(), delay(), any::<bool>()).prop_map(
            |(back, delay, ignore_attempt)| Op::AbandonTurn { back, delay, ignore_attempt }
        ),
        1 => (back(), lease()).prop_map(|(back, by)| Op::RenewTurn { back, by }),
        1 => (back(), lease()).prop_map(|(back, by)| Op::ReclaimTurn { back, by }),
        3 => (back(), any::<bool>()).prop_map(|(back, running)| Op::MarkTurn { back, running }),
        3 => back().prop_map(Op::SuspendTurn),
        1 => id().prop_map(Op::SuspendInstance),
        2 => id().prop_map(Op::ResumeInstance),
        1 => Just(Op::RetrySuspended),
        2 => (id(), proptest::option::of(turn())).prop_map(|(id, turn)| Op::Hold(id, turn)),
        3 => (id(), turn(), proptest::option::of(turn()))
            .prop_map(|(id, turn, ending)| Op::Reopen(id, turn, ending)),
        2 => id().prop_map(Op::Move),
    ]
    .boxed()
}

/// Activities and their sessions.
pub(crate) fn work_op() -> BoxedStrategy<Op> {
    let owner = || prop::option::weighted(0.7, 0..OWNERS.len());
    let completion = prop::option::of(prop_oneof![5 => completion(), 1 => message()]);
    let owners = prop::collection::vec(0..OWNERS.len(), 0..3);
    let handlers = prop::option::weighted(0.6, prop::collection::vec(0..HANDLERS.len(), 0..3));
    prop_oneof![
        6 => activity().prop_map(Op::Schedule),
        1 => message().prop_map(Op::ScheduleWrongKind),
        6 => (lease(), owner(), tags())
            .prop_map(|(lease, owner, tags)| Op::FetchWork { lease, owner, tags }),
        5 => (lease(), prop::collection::vec(owner(), 0..4), tags(), handlers).prop_map(
            |(lease, owners, tags, handlers)| Op::FetchWorks { lease, owners, tags, handlers }
        ),
        4 => (back(), completion)
            .prop_map(|(back, completion)| Op::FinishWork { back, completion }),
        3 => (back(), delay(), any::<bool>()).prop_map(
            |(back, delay, ignore_attempt)| Op::AbandonWork { back, delay, ignore_attempt }
        ),
        2 => (back(), lease()).prop_map(|(back, by)| Op::RenewWork { back, by }),
        1 => (back(), lease()).prop_map(|(back, by)| Op::ReclaimWork { back, by }),
        1 => (back(), 0..3_u32).prop_map(|(back, leases)| Op::VouchForWork { back, leases }),
        2 => (owners, lease(), lease())
            .prop_map(|(owners, by, idle)| Op::RenewSessions { owners, by, idle }),
        1 => Just(Op::CleanUpSessions),
    ]
    .boxed()
}

/// Seed, delete and prune.
pub(crate) fn store_op() -> BoxedStrategy<Op> {
    let keep = || prop::option::of(0..3_u32);
    let ids = || prop::collection::vec(id(), 0..4);
    prop_oneof![
        1 => (id(), 1..3_u64, 0..3_u64, prop::collection::vec(fact(), 0..3)).prop_map(
            |(instance, execution_id, first_event, events)| {
                Op::Seed { instance, execution_id, first_event, events }
            }
        ),
        3 => (id(), any::<bool>()).prop_map(|(instance, force)| Op::Delete { instance, force }),
        1 => (ids(), any::<bool>())
            .prop_map(|(instances, force)| Op::DeleteListed { instances, force }),
        1 => selection().prop_map(Op::DeleteBulk),
        1 => (id(), keep(), before()).prop_map(
            |(instance, keep_last, before)| Op::Prune { instance, keep_last, before }
        ),
        1 => (selection(), keep(), before()).prop_map(
            |(selection, keep_last, before)| Op::PruneBulk { selection, keep_last, before }
        ),
    ]
    .boxed()
}

/// Advances the clock: just before the expiry of a lease, to it, or far beyond.
pub(crate) fn advance() -> BoxedStrategy<Op> {
    prop_oneof![Just(1), Just(1000), Just(4999), Just(5000), Just(60_000_u64)]
        .prop_map(Op::Advance)
        .boxed()
}

/// All operations.
pub(crate) fn op() -> BoxedStrategy<Op> {
    prop_oneof![12 => turn_op(), 8 => work_op(), 2 => store_op(), 3 => advance()].boxed()
}
