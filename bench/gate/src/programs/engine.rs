//! The engine without a store.

use std::collections::HashMap;
use std::sync::Arc;

use duroxide_core::context::FnOrchestration;
use duroxide_core::engine::{Execution, Setup};
use duroxide_core::{Event, OrchestrationContext, WorkItem};

use super::model::{INSTANCE, NOW_MS, completed, started};

const REPLAYED_EVENTS: usize = 1000;
const WIDTH: u64 = 1000;

/// A step of a chain: one activity has completed, the next starts.
pub(super) fn warm_step(count: u64, ready: &mut dyn FnMut()) -> Result<(), String> {
    let (mut execution, _) = chain()?;
    ready();
    for step in 0..count {
        run_step(&mut execution, step)?;
    }
    Ok(())
}

/// Replays the history of a chain.
pub(super) fn cold_replay(count: u64, ready: &mut dyn FnMut()) -> Result<(), String> {
    let (mut execution, mut history) = chain()?;
    for step in 0.. {
        if history.len() >= REPLAYED_EVENTS {
            break;
        }
        history.extend(run_step(&mut execution, step)?);
    }
    ready();
    for _ in 0..count {
        let opened = Execution::open(chain_setup(), &history);
        let opened = opened.map_err(|details| details.display_message())?;
        if opened.last_event_id() != execution.last_event_id() {
            return Err("the replay ended at another event".to_owned());
        }
    }
    Ok(())
}

/// Schedules a thousand activities and receives all results in one turn.
pub(super) fn fan_out(count: u64, ready: &mut dyn FnMut()) -> Result<(), String> {
    let results: Vec<WorkItem> = (2..WIDTH + 2).map(|id| completed(INSTANCE, id)).collect();
    ready();
    for _ in 0..count {
        let mut execution = start_execution(setup(|ctx| async move {
            let calls = (0..WIDTH).map(|_| ctx.schedule_activity("Work", "{\"item\":1}"));
            Ok(ctx.join(calls.collect()).await.len().to_string())
        }))?;
        let scheduled = execution.advance(Vec::new(), NOW_MS).worker_items.len();
        let turn = execution.advance(results.clone(), NOW_MS);
        if scheduled as u64 != WIDTH || !turn.result.is_terminal() {
            return Err(format!("{scheduled} scheduled, then {:?}", turn.result));
        }
    }
    Ok(())
}

fn chain() -> Result<(Execution, Vec<Event>), String> {
    let mut execution = start_execution(chain_setup())?;
    let events = execution.advance(Vec::new(), NOW_MS).events;
    Ok((execution, events))
}

// Step 0 completes event 2, the next one event 4, and so on.
fn run_step(execution: &mut Execution, step: u64) -> Result<Vec<Event>, String> {
    let turn = execution.advance(vec![completed(INSTANCE, 2 + 2 * step)], NOW_MS);
    if turn.worker_items.len() != 1 {
        return Err(format!("step {step}: {:?}", turn.result));
    }
    Ok(turn.events)
}

fn chain_setup() -> Setup {
    setup(|ctx| async move {
        loop {
            ctx.schedule_activity("Work", "{\"item\":1}").await?;
        }
    })
}

fn setup<F, Fut>(code: F) -> Setup
where
    F: Fn(OrchestrationContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, String>> + Send + 'static,
{
    Setup {
        handler: Arc::new(FnOrchestration(move |ctx, _input: String| code(ctx))),
        kv_snapshot: HashMap::new(),
        parent: None,
        ignored_inputs: Arc::default(),
        on_foreign_wake: None,
    }
}

fn start_execution(setup: Setup) -> Result<Execution, String> {
    let execution = Execution::begin(setup, started(INSTANCE));
    execution.map_err(|details| details.display_message())
}
