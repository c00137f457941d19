//! OpenTelemetry traces: one trace for each instance, with a span for each of its executions and
//! for each run of an activity.
//!
//! An instance can live for months and on many nodes, so no process holds its trace. The ids of
//! trace and spans are computed from what identifies them, so that spans of different nodes fit
//! together.

use std::cell::Cell;
use std::fmt;
use std::time::{Duration, SystemTime};

use duroxide::ActivityContext;
use duroxide::runtime::observability::TRACE_TARGET;
use opentelemetry::trace::{
    Link, Span, SpanBuilder, SpanContext, SpanId, SpanKind, Status, TraceContextExt, TraceFlags,
    TraceId, TraceState, Tracer, TracerProvider,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::{IdGenerator, SdkTracer, SdkTracerProvider, SpanProcessor};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer;
use tracing_subscriber::registry::LookupSpan;

/// The trace of an instance.
pub(crate) fn trace_id(instance: &str) -> TraceId {
    let halves = [digest(&[instance, "trace"]), digest(&[instance, "trace", "low"])];
    TraceId::from(u128::from(halves[0]) << 64 | u128::from(halves[1]))
}

/// The span of an execution, which the spans of its activities are below.
pub(crate) fn execution_span_id(instance: &str, execution_id: u64) -> SpanId {
    SpanId::from(digest(&[instance, &execution_id.to_string()]))
}

/// The span of one run of an activity.
pub(crate) fn activity_span_id(
    instance: &str,
    execution_id: u64,
    activity_id: u64,
    run: u32,
) -> SpanId {
    let parts = [execution_id, activity_id, u64::from(run)].map(|part| part.to_string());
    SpanId::from(digest(&[instance, &parts[0], &parts[1], &parts[2]]))
}

/// An execution as the parent of a span, or as what a span links to.
fn execution_context(instance: &str, execution_id: u64) -> SpanContext {
    let (trace, span) = (trace_id(instance), execution_span_id(instance, execution_id));
    SpanContext::new(trace, span, TraceFlags::SAMPLED, true, TraceState::default())
}

/// The header `traceparent` for calls that an activity makes to other services.
pub(crate) fn traceparent(ctx: &ActivityContext) -> String {
    let instance = ctx.instance_id();
    let span = activity_span_id(instance, ctx.execution_id(), ctx.activity_id(), ctx.attempt());
    format!("00-{}-{span}-01", trace_id(instance))
}

#[expect(clippy::disallowed_methods, reason = "spans carry the time of this machine")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// FNV-1a over the parts, each with its end marked: the same on every node and in every build.
fn digest(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0xff]));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    // Zero is no valid id.
    hash.max(1)
}

/// Receives what Duroxide reports for traces, and passes it to OpenTelemetry.
pub(crate) struct TraceLayer {
    tracer: SdkTracer,
}

impl fmt::Debug for TraceLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceLayer").finish_non_exhaustive()
    }
}

impl TraceLayer {
    /// Sends finished spans to a processor, such as a batch exporter.
    pub(crate) fn new(processor: impl SpanProcessor + 'static) -> (Self, SdkTracerProvider) {
        let provider = SdkTracerProvider::builder()
            .with_id_generator(NextIds)
            .with_span_processor(processor)
            .build();
        (Self { tracer: provider.tracer("duroxide") }, provider)
    }

    fn emit(&self, finished: Finished, parent: &Context) {
        let builder = SpanBuilder::from_name(finished.name)
            .with_kind(SpanKind::Internal)
            .with_start_time(finished.began)
            .with_attributes(finished.attributes)
            .with_links(finished.links);
        NextIds::set(finished.trace_id, finished.span_id);
        let mut span = self.tracer.build_with_context(builder, parent);
        if let Some(error) = finished.error {
            span.set_status(Status::error(error));
        }
        span.end_with_timestamp(finished.ended);
    }

    fn end_activity(&self, fields: &Fields, began: SystemTime) {
        let Some((instance, execution_id)) = fields.execution() else { return };
        let number = |name| fields.number(name).unwrap_or_default();
        let run = u32::try_from(number("attempt")).unwrap_or(u32::MAX);
        let outcome = fields.text("outcome").unwrap_or("lost");
        let parent = execution_context(instance, execution_id);
        let finished = Finished {
            name: format!("activity {}", fields.text("activity_name").unwrap_or("unknown")),
            trace_id: trace_id(instance),
            span_id: activity_span_id(instance, execution_id, number("activity_id"), run),
            began,
            ended: now(),
            error: (outcome != "success").then(|| outcome.to_owned()),
            links: Vec::new(),
            attributes: fields.attributes(),
        };
        self.emit(finished, &Context::new().with_remote_span_context(parent));
    }

    fn end_execution(&self, fields: &Fields) {
        let Some((instance, execution_id)) = fields.execution() else { return };
        let millis = |name| Duration::from_millis(fields.number(name).unwrap_or_default());
        let began = SystemTime::UNIX_EPOCH + millis("started_at_ms");
        let status = fields.text("status").unwrap_or("unknown");
        let parent = fields.text("parent_instance").zip(fields.number("parent_execution_id"));
        let finished = Finished {
            name: format!("execution {}", fields.text("orchestration_name").unwrap_or("unknown")),
            trace_id: trace_id(instance),
            span_id: execution_span_id(instance, execution_id),
            began,
            ended: began + millis("duration_ms"),
            error: (status == "failed").then(|| status.to_owned()),
            links: parent
                .map(|(id, number)| Link::with_context(execution_context(id, number)))
                .into_iter()
                .collect(),
            attributes: fields.attributes(),
        };
        self.emit(finished, &Context::new());
    }
}

impl<S> Layer<S> for TraceLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: layer::Context<'_, S>) {
        if attributes.metadata().target() != TRACE_TARGET {
            return;
        }
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = ctx.span(id) {
            span.extensions_mut().insert(Open { fields, began: now() });
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, ctx: layer::Context<'_, S>) {
        let Some(span) = ctx.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<Open>() {
            values.record(&mut open.fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, _ctx: layer::Context<'_, S>) {
        let metadata = event.metadata();
        if metadata.target() == TRACE_TARGET && metadata.name() == "execution" {
            let mut fields = Fields::default();
            event.record(&mut fields);
            self.end_execution(&fields);
        }
    }

    fn on_close(&self, id: Id, ctx: layer::Context<'_, S>) {
        let Some(span) = ctx.span(&id) else { return };
        if let Some(Open { fields, began }) = span.extensions_mut().remove::<Open>() {
            self.end_activity(&fields, began);
        }
    }
}

/// A run of an activity that has not ended.
struct Open {
    fields: Fields,
    began: SystemTime,
}

/// What OpenTelemetry gets.
struct Finished {
    name: String,
    trace_id: TraceId,
    span_id: SpanId,
    began: SystemTime,
    ended: SystemTime,
    error: Option<String>,
    links: Vec<Link>,
    attributes: Vec<KeyValue>,
}

/// The fields of a span or an event.
#[derive(Default)]
struct Fields(Vec<(&'static str, Value)>);

enum Value {
    Text(String),
    Number(u64),
}

impl Fields {
    fn execution(&self) -> Option<(&str, u64)> {
        Some((self.text("instance_id")?, self.number("execution_id")?))
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find_map(|(field, value)| match value {
            Value::Text(text) if *field == name => Some(text.as_str()),
            Value::Text(_) | Value::Number(_) => None,
        })
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.0.iter().find_map(|(field, value)| match value {
            Value::Number(number) if *field == name => Some(*number),
            Value::Text(_) | Value::Number(_) => None,
        })
    }

    fn attributes(&self) -> Vec<KeyValue> {
        let attribute = |(field, value): &(&'static str, Value)| match value {
            Value::Text(text) => KeyValue::new(*field, text.clone()),
            Value::Number(number) => KeyValue::new(*field, i64::try_from(*number).unwrap_or(-1)),
        };
        self.0.iter().filter(|(field, _)| *field != "message").map(attribute).collect()
    }
}

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.push((field.name(), Value::Number(value)));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), Value::Text(value.to_owned())));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push((field.name(), Value::Text(format!("{value:?}"))));
    }
}

/// Gives the next span of this thread the ids that were computed for it.
#[derive(Debug)]
struct NextIds;

thread_local! {
    static NEXT: Cell<(TraceId, SpanId)> = const { Cell::new((TraceId::INVALID, SpanId::INVALID)) };
}

impl NextIds {
    fn set(trace_id: TraceId, span_id: SpanId) {
        NEXT.set((trace_id, span_id));
    }
}

impl IdGenerator for NextIds {
    fn new_trace_id(&self) -> TraceId {
        NEXT.get().0
    }

    fn new_span_id(&self) -> SpanId {
        NEXT.get().1
    }
}
