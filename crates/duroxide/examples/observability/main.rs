//! Metrics for Prometheus and traces for OpenTelemetry, from a program that runs two orders.
//!
//! `cargo run --example observability` prints the spans as they end, and then the metrics page. A
//! service serves that page (`PrometheusBuilder::with_http_listener`) and replaces `PrintSpans` by
//! a batch exporter.

mod traces;

use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::Runtime;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry};
use metrics_exporter_prometheus::PrometheusBuilder;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanProcessor};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::traces::{TraceLayer, traceparent};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let metrics = PrometheusBuilder::new().install_recorder()?;
    let (traces, tracer_provider) = TraceLayer::new(PrintSpans);
    tracing_subscriber::registry().with(traces).try_init()?;

    let activities = ActivityRegistry::builder().register("Charge", charge).build();
    let orchestrations = OrchestrationRegistry::builder().register("Order", order).build();
    let store = Arc::new(SqliteProvider::new_in_memory().await?);
    let runtime = Runtime::start_with_store(store.clone(), activities, orchestrations).await;
    let client = Client::new(store);
    for (id, amount) in [("order-1", "120.00"), ("order-2", "none")] {
        client.start_orchestration(id, "Order", amount).await?;
        client.wait_for_orchestration(id, Duration::from_secs(10)).await?;
    }
    runtime.shutdown(None).await;
    tracer_provider.shutdown()?;
    println!("{}", metrics.render());
    Ok(())
}

async fn order(ctx: OrchestrationContext, amount: String) -> Result<String, String> {
    ctx.schedule_activity("Charge", amount).await
}

async fn charge(ctx: ActivityContext, amount: String) -> Result<String, String> {
    println!("a call to the bank would carry traceparent: {}", traceparent(&ctx));
    if amount == "none" {
        return Err("there is nothing to charge".to_owned());
    }
    Ok(format!("{amount} charged"))
}

/// Prints each span when it ends.
#[derive(Debug)]
struct PrintSpans;

impl SpanProcessor for PrintSpans {
    fn on_start(
        &self,
        _span: &mut opentelemetry_sdk::trace::Span,
        _parent: &opentelemetry::Context,
    ) {
    }

    fn on_end(&self, span: SpanData) {
        let (id, parent) = (span.span_context.span_id(), span.parent_span_id);
        println!("trace {} span {id} below {parent}: {}", span.span_context.trace_id(), span.name);
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }
}
