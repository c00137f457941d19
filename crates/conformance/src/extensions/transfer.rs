//! Instances are carried between stores.

use duroxide_core::model::ExecutionStatus;
use duroxide_core::providers::{
    CopySection, InstanceCopy, InstanceCopyQuery, ProviderErrorKind, SessionFetchConfig, TagFilter,
    WorkItem,
};
use duroxide_core::{Event, EventKind};

use crate::ProviderFactory;
use crate::support::{
    End, Must, Store, activity_of, commit, event, facts, heard, named, queued, signal, start_item,
    started, timer,
};

/// All parts of a section.
async fn read_section<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    copy: &mut InstanceCopy,
    first: CopySection,
    behind: fn(&InstanceCopy) -> Option<CopySection>,
) {
    let mut next = Some(first);
    while let Some(section) = next {
        let query = InstanceCopyQuery::new(copy.instance.as_str(), section);
        let part = store.admin().read_instance_copy(query).await.must("reading a section");
        next = behind(&part);
        copy.add(part);
    }
}

/// All that a store has of an instance.
async fn read<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, instance: &str) -> InstanceCopy {
    let mut copy = InstanceCopy::new(instance);
    let copy_ref = &mut copy;
    read_section(store, copy_ref, CopySection::Head, |_| None).await;
    read_section(store, copy_ref, CopySection::Executions { after: 0 }, |part| {
        part.executions.last().map(|it| CopySection::Executions { after: it.execution_id })
    })
    .await;
    let executions: Vec<u64> = copy_ref.executions.iter().map(|it| it.execution_id).collect();
    for execution_id in executions {
        read_section(store, copy_ref, CopySection::Events { execution_id, after: 0 }, |part| {
            let last = part.events.last()?;
            let (execution_id, after) = (last.execution_id, last.event_id);
            Some(CopySection::Events { execution_id, after })
        })
        .await;
    }
    read_section(store, copy_ref, CopySection::Keys, |_| None).await;
    read_section(store, copy_ref, CopySection::MessageIds { after: None }, |part| {
        let last = part.message_ids.last()?;
        Some(CopySection::MessageIds { after: Some(last.id.clone()) })
    })
    .await;
    read_section(store, copy_ref, CopySection::Activities { after: 0 }, |part| {
        part.activities.last().map(|it| CopySection::Activities { after: it.place })
    })
    .await;
    read_section(store, copy_ref, CopySection::Messages { after: 0 }, |part| {
        part.messages.last().map(|it| CopySection::Messages { after: it.place })
    })
    .await;
    // Places are those of one store.
    copy.activities.iter_mut().for_each(|it| it.place = 0);
    copy.messages.iter_mut().for_each(|it| it.place = 0);
    copy
}

async fn import<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, copy: &InstanceCopy) {
    store.admin().import_instance(copy.clone()).await.must("importing an instance");
}

fn set(key: &str, value: &str) -> EventKind {
    let (key, value) = (key.to_owned(), value.to_owned());
    EventKind::KeyValueSet { key, value, last_updated_at_ms: 7 }
}

fn tagged(instance: &str) -> WorkItem {
    let mut item = activity_of(instance, 2, 3);
    if let WorkItem::ActivityExecute { tag, session_id, .. } = &mut item {
        *tag = Some("gpu".to_owned());
        *session_id = Some("s".to_owned());
    }
    item
}

/// An instance in its second execution, with keys of both, activities, a timer and messages.
async fn build<F: ProviderFactory + ?Sized>(store: &Store<'_, F>) -> Vec<Event> {
    store.create("a").await;
    store.continue_with("a", vec![set("kept", "1"), set("gone", "1")]).await;
    let turn = store.woken("a").await;
    let status = EventKind::CustomStatusUpdated { status: Some("half".to_owned()) };
    let cleared = EventKind::KeyValueCleared { key: "gone".to_owned() };
    let events = vec![
        event("a", 2, 2, set("new", "2")),
        event("a", 2, 3, cleared),
        event("a", 2, 4, status),
    ];
    let activities = vec![activity_of("a", 2, 2), tagged("a")];
    let commit = commit(&turn, events.clone())
        .with_metadata(named())
        .with_activities(activities)
        .with_messages("a", vec![timer("a", 5, store.now_ms() + 60_000)]);
    store.ack(commit).await.must("a commit");
    for number in 0..5 {
        store.send(queued("a", &number.to_string())).await;
    }
    [vec![started("a", 2)], events].concat()
}

/// What a second store reads of an imported instance is what was imported. It goes on from there:
/// with its history, its messages in order, its timer and its activities.
pub async fn an_imported_instance_goes_on<F: ProviderFactory + ?Sized>(factory: &F) {
    let source = Store::open(factory).await;
    let events = build(&source).await;
    let copy = read(&source, "a").await;
    assert_eq!((copy.executions.len(), copy.activities.len(), copy.messages.len()), (2, 2, 6));
    assert_eq!(copy.keys.len(), 4, "two keys of each layer: {:?}", copy.keys);
    let target = Store::open(factory).await;
    import(&target, &copy).await;
    assert_eq!(read(&target, "a").await, copy);
    assert_eq!(target.instances().await, ["a"]);
    let live = target.provider.get_kv_all_values("a").await.must("reading the values");
    let mut live: Vec<(String, String)> = live.into_iter().collect();
    live.sort();
    let value = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(live, [value("kept", "1"), value("new", "2")]);
    assert_eq!(target.work().await.item, activity_of("a", 2, 2));
    let session = SessionFetchConfig { owner_id: "w".to_owned(), lock_timeout: target.lease() };
    let tags = TagFilter::tags(["gpu"]);
    let work = target.try_work_as(Some(&session), &tags).await.expect("the tagged activity");
    assert_eq!(work.item, tagged("a"));
    let turn = target.turn_of("a").await;
    assert_eq!(turn.item.execution_id, 2);
    assert_eq!(facts(&turn.item.history), facts(&events));
    let sent: Vec<WorkItem> = (0..5).map(|number| queued("a", &number.to_string())).collect();
    assert_eq!(turn.item.messages, sent);
    target.ack(commit(&turn, vec![heard("a", 2, 5)])).await.must("a commit after the import");
    target.no_turn("the timer is not due").await;
    target.pass(std::time::Duration::from_secs(61)).await;
    assert_eq!(target.turn_of("a").await.item.messages.len(), 1);
}

/// Neither an instance that exists nor one whose start is queued is replaced.
pub async fn an_import_of_a_known_instance_is_refused<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    build(&store).await;
    let copy = read(&store, "a").await;
    let refused = store.admin().import_instance(copy.clone()).await;
    let refused = refused.must_fail_for_good("importing an instance that exists");
    assert_eq!(refused.kind, ProviderErrorKind::Conflict);
    assert_eq!(read(&store, "a").await, copy);
    store.send(start_item("b")).await;
    let mut copy = copy;
    copy.instance = "b".to_owned();
    let refused = store.admin().import_instance(copy).await;
    let refused = refused.must_fail_for_good("importing an instance whose start is queued");
    assert_eq!(refused.kind, ProviderErrorKind::Conflict);
    assert_eq!(read(&store, "b").await.messages.len(), 1);
}

/// If a part cannot be stored, nothing is, and the instance can be imported later.
pub async fn a_failed_import_stores_nothing<F: ProviderFactory + ?Sized>(factory: &F) {
    let source = Store::open(factory).await;
    build(&source).await;
    let copy = read(&source, "a").await;
    let mut damaged = copy.clone();
    damaged.events.extend(copy.events.last().cloned());
    let target = Store::open(factory).await;
    let failed = target.admin().import_instance(damaged).await;
    failed.must_fail("importing an event twice");
    assert!(read(&target, "a").await.is_empty(), "nothing of it is stored");
    target.no_turn("nothing was imported").await;
    import(&target, &copy).await;
    assert_eq!(read(&target, "a").await, copy);
}

/// An instance that has not started has messages only. Its start and parked messages are kept.
pub async fn what_waits_for_an_instance_is_imported<F: ProviderFactory + ?Sized>(factory: &F) {
    let source = Store::open(factory).await;
    source.send(queued("p", "early")).await;
    source.no_turn("the instance does not exist").await;
    source.send(start_item("s")).await;
    source.send(signal("s", "1")).await;
    let (parked, unstarted) = (read(&source, "p").await, read(&source, "s").await);
    assert_eq!((parked.messages.len(), unstarted.messages.len()), (1, 2));
    assert!(parked.head.is_none() && parked.messages.iter().all(|message| message.is_parked));
    let target = Store::open(factory).await;
    import(&target, &parked).await;
    import(&target, &unstarted).await;
    assert_eq!((read(&target, "p").await, read(&target, "s").await), (parked.clone(), unstarted));
    let again = target.admin().import_instance(parked).await;
    let again = again.must_fail_for_good("importing parked messages twice");
    assert_eq!(again.kind, ProviderErrorKind::Conflict);
    let turn = target.turn_of("s").await;
    assert_eq!(turn.item.messages, vec![start_item("s"), signal("s", "1")]);
    target.send(start_item("p")).await;
    let turn = target.turn_of("p").await;
    assert_eq!(turn.item.messages.len(), 2, "the parked message comes with the start");
}

/// An instance that has ended is imported with its result, and one between two executions goes on.
pub async fn ended_executions_are_imported<F: ProviderFactory + ?Sized>(factory: &F) {
    let source = Store::open(factory).await;
    source.create("f").await;
    source.fail("f", "no").await;
    source.create("c").await;
    source.end_with("c", End::ContinuedAsNew("next"), vec![]).await;
    let target = Store::open(factory).await;
    for instance in ["f", "c"] {
        let copy = read(&source, instance).await;
        import(&target, &copy).await;
        assert_eq!(read(&target, instance).await, copy);
    }
    let info = target.admin().get_instance_info("f").await.must("reading an instance");
    assert_eq!((info.status.as_str(), info.output.as_deref()), ("Failed", Some("no")));
    let first = target.admin().get_execution_info("c", 1).await.must("reading an execution");
    assert_eq!(first.status, ExecutionStatus::ContinuedAsNew.as_str());
    let turn = target.turn_of("c").await;
    let is_continuation = |item: &WorkItem| matches!(item, WorkItem::ContinueAsNew { .. });
    assert!(turn.item.messages.iter().any(is_continuation), "{:?}", turn.item.messages);
}

/// A suspended instance stays suspended until it is resumed.
pub async fn a_suspended_instance_is_imported_suspended<F: ProviderFactory + ?Sized>(factory: &F) {
    let source = Store::open(factory).await;
    source.create("a").await;
    source.admin().suspend_instance("a", "moving").await.must("suspending an instance");
    source.send(signal("a", "1")).await;
    let copy = read(&source, "a").await;
    let target = Store::open(factory).await;
    import(&target, &copy).await;
    assert_eq!(read(&target, "a").await, copy);
    let suspension = target.admin().read_suspension("a").await.must("reading a suspension");
    assert_eq!(suspension.map(|it| it.reason).as_deref(), Some("moving"));
    target.no_turn("the instance is suspended").await;
    assert!(target.admin().resume_instance("a").await.must("resuming an instance"));
    assert_eq!(target.turn_of("a").await.item.messages, vec![signal("a", "1")]);
}

/// The link to a parent is kept if the parent is stored, and dropped otherwise.
pub async fn an_imported_child_has_its_parent<F: ProviderFactory + ?Sized>(factory: &F) {
    let source = Store::open(factory).await;
    source.create("p").await;
    source.create_child("c", "p").await;
    let (parent, child) = (read(&source, "p").await, read(&source, "c").await);
    let target = Store::open(factory).await;
    import(&target, &parent).await;
    import(&target, &child).await;
    let found = target.admin().get_parent_id("c").await.must("reading a parent");
    assert_eq!(found.as_deref(), Some("p"));
    let alone = Store::open(factory).await;
    import(&alone, &child).await;
    assert_eq!(alone.admin().get_parent_id("c").await.must("reading a parent"), None);
}

/// An activity that a worker has leased is copied as one that waits, with its attempt.
pub async fn a_leased_activity_is_copied_as_waiting<F: ProviderFactory + ?Sized>(factory: &F) {
    let source = Store::open(factory).await;
    build(&source).await;
    let leased = source.work().await;
    let copy = read(&source, "a").await;
    let attempts: Vec<u32> = copy.activities.iter().map(|it| it.attempts).collect();
    assert_eq!(attempts, [1, 0]);
    let target = Store::open(factory).await;
    import(&target, &copy).await;
    let work = target.work().await;
    assert_eq!((work.item, work.attempt), (leased.item, 2));
}
