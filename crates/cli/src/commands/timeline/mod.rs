//! The time line of an execution: what it asked for, and how long each of it took.

mod draw;
mod spans;

pub(crate) use draw::{Frame, draw};
pub(crate) use spans::{Span, SpanKind, SpanState, Spans};
