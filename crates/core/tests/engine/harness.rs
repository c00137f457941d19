//! One execution driven by hand, for tests that check more than its turns.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use duroxide_core::OrchestrationContext;
use duroxide_core::context::{FnOrchestration, OrchestrationHandler};
use duroxide_core::engine::{Execution, Setup, Turn};
use duroxide_core::{Event, EventKind, WorkItem};

use super::notation::{self, INSTANCE};
use super::render;

pub(crate) struct Harness {
    handler: Arc<dyn OrchestrationHandler>,
    pub(crate) history: Vec<Event>,
    execution: Option<Execution>,
    foreign_wakes: Arc<AtomicUsize>,
}

impl Harness {
    pub(crate) fn new<F, Fut>(code: F) -> Self
    where
        F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        Self {
            handler: Arc::new(FnOrchestration(code)),
            history: Vec::new(),
            execution: None,
            foreign_wakes: Arc::default(),
        }
    }

    fn setup(&self) -> Setup {
        let foreign_wakes = Arc::clone(&self.foreign_wakes);
        Setup {
            handler: Arc::clone(&self.handler),
            kv_snapshot: HashMap::new(),
            parent: None,
            ignored_inputs: Arc::default(),
            on_foreign_wake: Some(Arc::new(move || {
                foreign_wakes.fetch_add(1, Ordering::SeqCst);
            })),
        }
    }

    /// Runs a turn with messages in the notation of cases and renders its result.
    pub(crate) fn turn(&mut self, messages: &[&str]) -> String {
        // The first turn is the start.
        let skipped = usize::from(self.history.is_empty() && messages.first() == Some(&"start"));
        let messages = messages[skipped..].iter();
        let messages = messages.map(|text| notation::message(text, 1)).collect();
        render::turn(&self.advance(messages)).result
    }

    pub(crate) fn advance(&mut self, messages: Vec<WorkItem>) -> Turn {
        let setup = self.setup();
        let execution = self.execution.get_or_insert_with(|| {
            let opened = if self.history.is_empty() {
                Execution::begin(setup, start())
            } else {
                Execution::open(setup, &self.history)
            };
            opened.expect("the history starts with OrchestrationStarted")
        });
        let turn = execution.advance(messages, 1000);
        self.history.extend(turn.events.iter().cloned());
        turn
    }

    /// Drops the execution; the next turn opens it from its history.
    pub(crate) fn evict(&mut self) {
        self.execution = None;
    }

    pub(crate) fn bytes(&self) -> usize {
        self.execution.as_ref().map_or(0, Execution::bytes)
    }

    pub(crate) fn foreign_wakes(&self) -> usize {
        self.foreign_wakes.load(Ordering::SeqCst)
    }

    /// Opens an execution from any history.
    pub(crate) fn open(&self, history: &[Event]) -> Result<Execution, String> {
        Execution::open(self.setup(), history).map_err(|details| details.display_message())
    }
}

fn start() -> Event {
    Event {
        event_id: 1,
        source_event_id: None,
        instance_id: INSTANCE.to_owned(),
        execution_id: 1,
        timestamp_ms: 1000,
        duroxide_version: "0.2.0".to_owned(),
        kind: EventKind::OrchestrationStarted {
            name: "Sample".to_owned(),
            version: "1.0.0".to_owned(),
            input: String::new(),
            parent_instance: None,
            parent_id: None,
            parent_execution_id: None,
            carry_forward_events: None,
            initial_custom_status: None,
        },
    }
}

/// Counts the polls of a future.
pub(crate) async fn counted<F: Future>(future: F, polls: Arc<AtomicUsize>) -> F::Output {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|cx| {
        polls.fetch_add(1, Ordering::SeqCst);
        future.as_mut().poll(cx)
    })
    .await
}
