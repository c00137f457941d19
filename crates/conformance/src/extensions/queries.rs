//! Queries over instances: filters, order, pages, counts.

use duroxide_core::providers::kit::ATTRIBUTE_KEYS_FROM;
use duroxide_core::providers::{
    ClientMessage, Delivery, InstanceCountQuery, InstanceOrder, InstancePage, InstanceQuery,
    ListCursor, WorkItem, query_by_listing,
};
use duroxide_core::query::{ErrorCategory, Filter, InstanceRow, RowStatus};
use duroxide_core::{AttributeValue, Attributes, EventKind};

use crate::ProviderFactory;
use crate::support::{End, Must, Store, commit, named, signal, start_item, started};

fn filter(text: &str) -> Filter {
    Filter::parse(text).expect("validations name filters that can be read")
}

async fn query<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    query: &InstanceQuery,
) -> InstancePage {
    store.admin().query_instances(query.clone()).await.must("a query")
}

/// The ids that a filter selects, newest first.
async fn selected<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, text: &str) -> Vec<String> {
    let page = query(store, &InstanceQuery::new(filter(text))).await;
    assert_eq!(page.next, None, "all instances fit on one page");
    ids(&page)
}

fn ids(page: &InstancePage) -> Vec<String> {
    page.rows.iter().map(|row| row.instance_id.clone()).collect()
}

/// Instances of every kind, of which some were created at the same time.
async fn people<F: ProviderFactory + ?Sized>(store: &Store<'_, F>) {
    for instance in ["m", "z", "a", "parent"] {
        store.create(instance).await;
    }
    store.pass(store.lease()).await;
    for instance in ["late", "q", "k"] {
        store.create(instance).await;
    }
    store.create_child("child", "parent").await;
    store.fail("a", "Connection timeout").await;
    store.fail("q", "no such file").await;
    store.pass(store.lease()).await;
    store.complete("z", "done").await;
    store.continue_as_new("k").await;
    let status = EventKind::CustomStatusUpdated { status: Some("half way".to_owned()) };
    store.record("late", vec![status]).await;
}

const FILTERS: [&str; 18] = [
    "",
    "status:failed",
    "status:running",
    "-status:running",
    "status:completed,failed",
    "id:a,z,unknown",
    "id:pa*",
    "name:*",
    "name:nothing*",
    "-name:*",
    "parent:parent",
    "parent:none",
    "created>-1w",
    "created>now",
    "custom:\"half \"*",
    "error~TIMEOUT",
    "category:application",
    "executions>1",
];

/// Each condition selects the instances that meet it.
pub async fn a_query_selects_what_its_filter_says<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    people(&store).await;
    for (text, expected) in [
        ("status:failed", vec!["q", "a"]),
        ("status:failed error~timeout", vec!["a"]),
        ("status:completed", vec!["z"]),
        ("-status:running", vec!["z", "q", "a"]),
        ("id:unknown,a", vec!["a"]),
        ("id:pa*", vec!["parent"]),
        ("parent:parent", vec!["child"]),
        ("parent:any", vec!["child"]),
        ("custom~HALF", vec!["late"]),
        ("custom:any", vec!["late"]),
        ("category:poison", vec![]),
        ("executions:2", vec!["k"]),
        ("ended>-1w status:completed", vec!["z"]),
        ("name:nothing", vec![]),
        ("text:timeout", vec!["a"]),
    ] {
        let mut found = selected(&store, text).await;
        let mut expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{text}");
    }
}

/// The rows are those that the other calls describe, in every order.
pub async fn a_query_agrees_with_the_listings<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    people(&store).await;
    for text in FILTERS {
        for order in InstanceOrder::ALL {
            for descending in [true, false] {
                let mut wanted = InstanceQuery::new(filter(text)).sorted_by(order);
                wanted.descending = descending;
                let mut found = query(&store, &wanted).await;
                let listed = query_by_listing(&*store.provider, &wanted).await;
                let mut listed = listed.must("a query by listing");
                for row in found.rows.iter_mut().chain(&mut listed.rows) {
                    // Time passes between the two, and only one of them knows pins.
                    (row.duration_ms, row.pin) = (0, None);
                }
                assert_eq!(found, listed, "{text} {order:?} {descending}");
            }
        }
    }
    let page = query(&store, &InstanceQuery::new(filter("id:a"))).await;
    let row: &InstanceRow = page.rows.first().expect("the instance is stored");
    assert_eq!(row.status, RowStatus::Failed);
    let error = row.error.as_ref().expect("a failed instance has an error");
    assert_eq!(error.category, Some(ErrorCategory::Application));
    assert_eq!(error.message, "Connection timeout");
    let ended = row.ended_at_ms.expect("a failed instance has ended");
    assert_eq!(row.duration_ms, ended - row.created_at_ms);
}

/// Pages return each instance once, in both directions, also those created at the same time.
pub async fn pages_of_a_query_go_forth_and_back<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    people(&store).await;
    for text in ["", "-status:completed", "name:*"] {
        for order in InstanceOrder::ALL {
            for descending in [true, false] {
                let mut all = InstanceQuery::new(filter(text)).sorted_by(order);
                all.descending = descending;
                let expected = ids(&query(&store, &all).await);
                let mut paged = all.clone().with_limit(2);
                let mut forth = Vec::new();
                let last = loop {
                    let page = query(&store, &paged).await;
                    forth.extend(ids(&page));
                    match page.next {
                        Some(next) => paged = paged.with_after(next),
                        None => break page,
                    }
                    assert!(forth.len() <= expected.len(), "the pages end");
                };
                assert_eq!(forth, expected, "{text} {order:?} {descending}");
                let mut back = ids(&last);
                let mut previous = last.previous;
                while let Some(cursor) = previous {
                    let page = query(&store, &all.clone().with_limit(2).with_before(cursor)).await;
                    back.splice(0..0, ids(&page));
                    previous = page.previous;
                    assert!(back.len() <= expected.len(), "the pages end");
                }
                assert_eq!(back, expected, "{text} {order:?} {descending} back");
            }
        }
    }
}

/// An instance that continued as new runs, also before its next execution starts.
pub async fn a_query_finds_an_instance_between_executions<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.end_with("a", End::ContinuedAsNew("next"), vec![]).await;
    for text in ["status:running", "-status:completed", "-status:completed,failed", ""] {
        assert_eq!(selected(&store, text).await, ["a"], "{text}");
    }
    assert!(selected(&store, "status:completed").await.is_empty());
    let page = query(&store, &InstanceQuery::new(Filter::all())).await;
    let row = page.rows.first().expect("the instance is stored");
    assert_eq!((row.status, row.ended_at_ms), (RowStatus::Running, None));
}

/// A suspended instance has a status of its own, and a row says what its execution is pinned to.
pub async fn a_query_shows_suspensions_and_pins<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create_pinned("a", "0.9.1").await;
    store.create("b").await;
    store.admin().suspend_instance("a", "the bank is closed").await.must("suspending");
    assert_eq!(selected(&store, "status:suspended").await, ["a"]);
    assert_eq!(selected(&store, "status:running").await, ["b"]);
    assert_eq!(selected(&store, "pin:0.9.*").await, ["a"]);
    let page = query(&store, &InstanceQuery::new(filter("id:a"))).await;
    let row = page.rows.first().expect("the instance is stored");
    assert_eq!(row.suspended_reason.as_deref(), Some("the bank is closed"));
    assert_eq!(row.pin.as_deref(), Some("0.9.1"));
    assert!(store.admin().resume_instance("a").await.must("resuming"));
    assert!(selected(&store, "status:suspended").await.is_empty());
    assert_eq!(selected(&store, "status:running id:a").await, ["a"]);
}

/// Values under the keys of attributes are found as soon as they are committed, and carried by
/// executions.
pub async fn a_query_shows_attributes<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let set = |name: &str, value: &str| EventKind::KeyValueSet {
        key: format!("{ATTRIBUTE_KEYS_FROM}{name}"),
        value: value.to_owned(),
        last_updated_at_ms: 1,
    };
    store.create("a").await;
    store.create("b").await;
    // The whole numbers 42 and 7, and texts.
    let (many, few) = ("i800000000000002a", "i8000000000000007");
    store.record("a", vec![set("customer", many), set("region", "teu-west")]).await;
    store.record("b", vec![set("customer", few), set("region", "tus-east")]).await;
    assert_eq!(selected(&store, "attr.customer=42").await, ["a"]);
    assert_eq!(selected(&store, "attr.customer<10").await, ["b"]);
    assert_eq!(selected(&store, "attr.customer>=7 attr.region:eu-*").await, ["a"]);
    assert_eq!(selected(&store, "text:EAST").await, ["b"]);
    assert!(selected(&store, "attr.customer=43").await.is_empty());
    store.continue_with("a", vec![set("customer", few)]).await;
    assert!(selected(&store, "attr.customer=42").await.is_empty());
    let page = query(&store, &InstanceQuery::new(filter("attr.customer=7 attr.region~eu"))).await;
    assert_eq!(ids(&page), ["a"]);
    let shown = page.rows.first().map(|row| row.attributes.len());
    assert_eq!(shown, Some(2), "attributes are carried by continue-as-new");
    let cleared = EventKind::KeyValueCleared { key: format!("{ATTRIBUTE_KEYS_FROM}customer") };
    store.record("a", vec![cleared]).await;
    assert_eq!(selected(&store, "attr.customer:any").await, ["b"]);
    assert_eq!(selected(&store, "attr.customer:none").await, ["a"]);
}

/// The first turn gets the attributes as a message behind the start, also after a lost lease. A
/// start of an instance that exists brings none.
pub async fn attributes_of_a_start_reach_its_first_turn<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let attributes = Attributes::from([
        ("customer".to_owned(), AttributeValue::Integer(42)),
        ("region".to_owned(), AttributeValue::from("\"eu\" {west}")),
    ]);
    let message = ClientMessage::new(start_item("a")).with_attributes(&attributes);
    let sent = store.provider.send_message(message.clone()).await.must("a start with attributes");
    assert_eq!(sent, Delivery::Enqueued);
    let given = WorkItem::QueueMessage {
        instance: "a".to_owned(),
        name: "__duroxide_attributes".to_owned(),
        data: r#"{"customer":"i800000000000002a","region":"t\"eu\" {west}"}"#.to_owned(),
    };
    let turn = store.turn_of("a").await;
    assert_eq!(turn.item.messages, [start_item("a"), given.clone()]);
    store.expire().await;
    let turn = store.turn_of("a").await;
    assert_eq!(turn.item.messages, [start_item("a"), given]);
    store.ack(commit(&turn, vec![started("a", 1)]).with_metadata(named())).await.must("a commit");
    let again = store.provider.send_message(message).await.must("a second start");
    assert_eq!(again, Delivery::Existing);
    store.no_turn("a start with attributes is one message").await;
}

/// Attributes do not count as keys of the user.
pub async fn attributes_are_no_values_of_the_user<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    let set = |key: &str, value: &str| EventKind::KeyValueSet {
        key: key.to_owned(),
        value: value.to_owned(),
        last_updated_at_ms: 1,
    };
    let attribute = format!("{ATTRIBUTE_KEYS_FROM}customer");
    store.record("a", vec![set("price", "12"), set(&attribute, "i800000000000002a")]).await;
    for _execution in 0..2 {
        let stats = store.provider.get_instance_stats("a").await.must("reading statistics");
        let stats = stats.expect("the instance is stored");
        assert_eq!((stats.kv_user_key_count, stats.kv_total_value_bytes), (1, 2));
        store.continue_as_new("a").await;
    }
}

/// A count finds what the query finds, and stops at its limit.
pub async fn a_count_agrees_with_its_query<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    people(&store).await;
    for text in FILTERS {
        let found = selected(&store, text).await.len() as u64;
        let all = InstanceCountQuery::new(filter(text), 100);
        let counted = store.admin().count_instances(all).await.must("a count");
        assert_eq!((counted.count, counted.next), (found, None), "{text}");
    }
    let mut part = InstanceCountQuery::new(Filter::all(), 3);
    let mut total = 0;
    loop {
        let counted = store.admin().count_instances(part.clone()).await.must("a part of a count");
        total += counted.count;
        let Some(next) = counted.next else { break };
        assert!(counted.count > 0, "a part that is not the last counts something");
        part = part.with_after(next);
    }
    assert_eq!(total, store.instances().await.len() as u64);
}

/// A page is not sought in a list of another order, nor behind what was no cursor.
pub async fn a_cursor_of_another_order_is_refused<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    people(&store).await;
    let newest = InstanceQuery::new(Filter::all()).with_limit(1);
    let cursor = query(&store, &newest).await.next.expect("there are more");
    let by_id = newest.clone().sorted_by(InstanceOrder::Id).with_after(cursor.clone());
    let refused = store.admin().query_instances(by_id).await;
    refused.must_fail_for_good("a cursor of another order");
    let oldest = newest.clone().ascending().with_after(cursor);
    let refused = store.admin().query_instances(oldest).await;
    refused.must_fail_for_good("a cursor of the other direction");
    let unknown = newest.with_after(ListCursor::new("nowhere"));
    let refused = store.admin().query_instances(unknown).await;
    refused.must_fail_for_good("a cursor that no query returned");
}

/// A deleted instance is gone from every index at once, and the pages around it stay valid.
pub async fn a_deleted_instance_is_in_no_query<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    people(&store).await;
    let oldest = InstanceQuery::new(Filter::all()).sorted_by(InstanceOrder::Id).ascending();
    let first = query(&store, &oldest.clone().with_limit(2)).await;
    assert_eq!(ids(&first), ["a", "child"]);
    store.admin().delete_instance("parent", true).await.must("deleting a tree");
    store.admin().delete_instance("a", false).await.must("deleting an instance");
    for text in ["id:a,child,parent", "status:failed id:a", "parent:parent", "error~timeout"] {
        assert!(selected(&store, text).await.is_empty(), "{text}");
    }
    let next = first.next.expect("there are more");
    let rest = query(&store, &oldest.with_after(next)).await;
    assert_eq!(ids(&rest), ["k", "late", "m", "q", "z"]);
    // A message to an unknown instance does not make it known.
    store.send(signal("a", "late")).await;
    assert!(selected(&store, "id:a").await.is_empty());
}
