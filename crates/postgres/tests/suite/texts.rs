//! Texts that the database cannot store unchanged.

use duroxide_core::EventKind;
use duroxide_core::providers::{ExecutionMetadata, Provider, ProviderAdmin};

use crate::support::*;

#[tokio::test]
async fn zero_characters_are_read_back() {
    let odd = "zero \0 and \u{e000}0";
    let store = Store::new();
    let node = store.node().await;
    node.enqueue_for_orchestrator(start(odd), None).await.unwrap();
    let fetched = turn(&*node).await;
    assert_eq!(fetched.item.instance, odd);
    let set = EventKind::KeyValueSet {
        key: odd.to_owned(),
        value: odd.to_owned(),
        last_updated_at_ms: 7,
    };
    let status = EventKind::CustomStatusUpdated { status: Some(odd.to_owned()) };
    let events = vec![started(odd), event(odd, 2, set), event(odd, 3, status)];
    let metadata = ExecutionMetadata {
        status: Some("Completed".to_owned()),
        output: Some(odd.to_owned()),
        ..named()
    };
    let last = commit(&fetched.lock_token, events).with_metadata(metadata);
    node.store_turn(last).await.unwrap();
    assert_eq!(node.read(odd).await.unwrap().len(), 3);
    assert_eq!(node.get_kv_value(odd, odd).await.unwrap().as_deref(), Some(odd));
    assert_eq!(node.get_kv_all_values(odd).await.unwrap()[odd], odd);
    let info = node.get_instance_info(odd).await.unwrap();
    assert_eq!(info.output.as_deref(), Some(odd));
    assert_eq!(node.get_custom_status(odd, 0).await.unwrap().unwrap().0.as_deref(), Some(odd));
    assert_eq!(node.list_instances().await.unwrap(), [odd]);
    node.enqueue_for_orchestrator(signal(odd, "1"), None).await.unwrap();
    assert_eq!(turn(&*node).await.item.kv_snapshot[odd].value, odd);
}

/// Others may keep tables of their own in the schema.
#[tokio::test]
async fn a_dump_shows_tables_of_any_name() {
    let store = Store::live();
    let node = store.node().await;
    let sql = store.sql().await;
    sql.run("CREATE TABLE $.\"odd \"\"name; DROP TABLE x\" AS SELECT 7 AS seven").await;
    let dump = node.debug_dump().await;
    assert!(dump.contains("odd \"name; DROP TABLE x") && dump.contains("{\"seven\":7}"), "{dump}");
}
