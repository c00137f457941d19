//! Unusual instance ids and payloads.

use duroxide::runtime::limits::MAX_ID_BYTES;
use duroxide::{ClientError, OrchestrationStatus};

use crate::test_node::{TempStore, TestNode};

#[tokio::test]
async fn ids_with_the_reserved_marker_are_refused_with_advice() {
    let files = TempStore::new();
    let node = TestNode::on(files.open().await).await;
    for id in ["sub::1", "sub::", "order::sub::7"] {
        let refused = node.client.start_orchestration(id, "One", "x").await.unwrap_err();
        assert!(matches!(refused, ClientError::InvalidInput { .. }), "{refused:?}");
        assert!(!refused.is_retryable());
        let text = refused.to_string();
        assert!(text.contains(id) && text.contains("choose an id"), "{text}");
    }
    node.assert_works("after-refusals").await;
    node.stop().await;
}

#[tokio::test]
async fn any_other_id_that_is_not_empty_is_accepted() {
    let files = TempStore::new();
    let node = TestNode::on(files.open().await).await;
    let long = "x".repeat(MAX_ID_BYTES);
    let odd = [" ", "a\0b", "a\0", "\u{1F980}\u{0}\u{202E}", "'; DROP TABLE history; --", &long];
    for id in odd {
        let input = format!("input of {}", id.len());
        node.client.start_orchestration(id, "Wait", "").await.unwrap();
        node.wait_until_started(id).await;
        node.client.raise_event(id, "go", input.clone()).await.unwrap();
        assert_eq!(node.output(id).await, input);
    }
    let mut listed = node.client.list_all_instances().await.unwrap();
    listed.sort_unstable();
    let mut expected = odd.map(str::to_owned);
    expected.sort_unstable();
    assert_eq!(listed, expected);
    for id in odd {
        node.client.delete_instance(id, false).await.unwrap();
        let status = node.client.get_orchestration_status(id).await.unwrap();
        assert_eq!(status, OrchestrationStatus::NotFound);
    }
    node.assert_works("after-odd-ids").await;
    node.stop().await;
}

#[tokio::test]
async fn payloads_of_any_text_are_returned_unchanged() {
    let files = TempStore::new();
    let node = TestNode::on(files.open().await).await;
    for (number, input) in ["", "\0", "\u{FFFD}\u{10FFFF}", "{\"not\": json", "\r\n\"\\"]
        .into_iter()
        .map(str::to_owned)
        .chain(["y".repeat(3_000_000)])
        .enumerate()
    {
        let id = format!("payload-{number}");
        node.client.start_orchestration(&id, "One", input.clone()).await.unwrap();
        assert!(node.output(&id).await == input, "{id} was changed");
    }
    node.stop().await;
}
