//! Instance ids that nobody expects.

use duroxide::{ClientError, OrchestrationStatus};

use crate::stand::{Place, Stand};

#[tokio::test]
async fn ids_with_the_reserved_marker_are_refused_with_advice() {
    let place = Place::new();
    let stand = Stand::on(place.open().await).await;
    for id in ["sub::1", "sub::", "order::sub::7"] {
        let refused = stand.client.start_orchestration(id, "One", "x").await.unwrap_err();
        assert!(matches!(refused, ClientError::InvalidInput { .. }), "{refused:?}");
        assert!(!refused.is_retryable());
        let text = refused.to_string();
        assert!(text.contains(id) && text.contains("choose an id"), "{text}");
    }
    stand.assert_goes_on("after-refusals").await;
    stand.stop().await;
}

#[tokio::test]
async fn any_other_id_is_an_id() {
    let place = Place::new();
    let stand = Stand::on(place.open().await).await;
    let long = "x".repeat(100_000);
    let odd =
        ["", " ", "a\0b", "a\0", "\u{1F980}\u{0}\u{202E}", "'; DROP TABLE history; --", &long];
    for id in odd {
        let input = format!("input of {}", id.len());
        stand.client.start_orchestration(id, "Wait", "").await.unwrap();
        stand.started(id).await;
        stand.client.raise_event(id, "go", input.clone()).await.unwrap();
        assert_eq!(stand.output(id).await, input);
    }
    let mut listed = stand.client.list_all_instances().await.unwrap();
    listed.sort_unstable();
    let mut expected = odd.map(str::to_owned);
    expected.sort_unstable();
    assert_eq!(listed, expected);
    for id in odd {
        stand.client.delete_instance(id, false).await.unwrap();
        let status = stand.client.get_orchestration_status(id).await.unwrap();
        assert_eq!(status, OrchestrationStatus::NotFound);
    }
    stand.assert_goes_on("after-odd-ids").await;
    stand.stop().await;
}

#[tokio::test]
async fn payloads_of_any_text_come_back_unchanged() {
    let place = Place::new();
    let stand = Stand::on(place.open().await).await;
    for (number, input) in ["", "\0", "\u{FFFD}\u{10FFFF}", "{\"not\": json", "\r\n\"\\"]
        .into_iter()
        .map(str::to_owned)
        .chain(["y".repeat(3_000_000)])
        .enumerate()
    {
        let id = format!("payload-{number}");
        stand.client.start_orchestration(&id, "One", input.clone()).await.unwrap();
        assert!(stand.output(&id).await == input, "{id} came back changed");
    }
    stand.stop().await;
}
