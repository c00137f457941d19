//! Traces of instances, as the example for OpenTelemetry collects them.

#[path = "../../examples/observability/traces.rs"]
mod collector;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use duroxide::{ActivityContext, OrchestrationContext, RetryPolicy};
use opentelemetry::trace::Status;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::support::{Mode, Node, activities, orchestrations};
use collector::{TraceLayer, activity_span_id, execution_span_id, trace_id, traceparent};

/// The child of the second execution, by the number of its call.
const CHILD: &str = "o::sub::2_6";

/// Collects ended spans.
#[derive(Debug, Clone, Default)]
struct Spans(Arc<Mutex<Vec<SpanData>>>);

impl SpanProcessor for Spans {
    fn on_start(&self, _span: &mut Span, _parent: &opentelemetry::Context) {}

    fn on_end(&self, span: SpanData) {
        self.0.lock().unwrap().push(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }
}

async fn order(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    if ctx.execution_id() == 1 {
        return ctx.continue_as_new("").await;
    }
    let retry = RetryPolicy::new(2).with_backoff(duroxide::BackoffStrategy::None);
    let sent = ctx.schedule_activity_with_retry("Pay", "", retry).await?;
    ctx.schedule_sub_orchestration("Ship", "").await?;
    Ok(sent)
}

async fn ship(_: OrchestrationContext, _: String) -> Result<String, String> {
    Err("no carrier".to_owned())
}

/// Fails once, then returns the header that it would send.
async fn pay(ctx: ActivityContext, _: String) -> Result<String, String> {
    if ctx.activity_id() == 2 {
        return Err("busy".to_owned());
    }
    Ok(traceparent(&ctx))
}

async fn spans_of_an_order(warm: bool) -> Vec<SpanData> {
    let spans = Spans::default();
    let (layer, provider) = TraceLayer::new(spans.clone());
    let _default = tracing_subscriber::registry().with(layer).set_default();
    let registry = orchestrations().register("Order", order).register("Ship", ship);
    let mode = Mode { warm, concurrency: 1 };
    let node = Node::start(mode, registry, activities().register("Pay", pay)).await;
    node.start_instance("o", "Order", "").await;
    assert!(node.failure_text("o").await.contains("no carrier"));
    node.stop().await;
    provider.shutdown().unwrap();
    let spans = spans.0.lock().unwrap();
    spans.clone()
}

#[tokio::test]
async fn each_execution_and_each_run_of_an_activity_is_one_span() {
    for warm in [true, false] {
        let spans = spans_of_an_order(warm).await;
        let mut found: Vec<_> = spans
            .iter()
            .map(|span| {
                let failed = matches!(span.status, Status::Error { .. });
                (span.name.to_string(), span.span_context.span_id(), failed)
            })
            .collect();
        found.sort_by(|a, b| (&a.0, a.1.to_bytes()).cmp(&(&b.0, b.1.to_bytes())));
        let mut expected = vec![
            ("activity Pay".to_owned(), activity_span_id("o", 2, 2, 1), true),
            ("activity Pay".to_owned(), activity_span_id("o", 2, 4, 1), false),
            ("execution Order".to_owned(), execution_span_id("o", 1), false),
            ("execution Order".to_owned(), execution_span_id("o", 2), true),
            ("execution Ship".to_owned(), execution_span_id(CHILD, 1), true),
        ];
        expected.sort_by(|a, b| (&a.0, a.1.to_bytes()).cmp(&(&b.0, b.1.to_bytes())));
        assert_eq!(found, expected, "warm: {warm}");
    }
}

#[tokio::test]
async fn spans_of_one_instance_are_one_trace_and_children_link_to_it() {
    let spans = spans_of_an_order(true).await;
    for span in &spans {
        let is_child = span.name == "execution Ship";
        let expected = trace_id(if is_child { CHILD } else { "o" });
        assert_eq!(span.span_context.trace_id(), expected, "{}", span.name);
        if span.name.starts_with("activity") {
            assert_eq!(span.parent_span_id, execution_span_id("o", 2));
        }
        let links: Vec<_> = span.links.iter().map(|link| link.span_context.span_id()).collect();
        let to_parent = [execution_span_id("o", 2)];
        assert_eq!(links, if is_child { &to_parent[..] } else { &[] }, "{}", span.name);
    }
}
