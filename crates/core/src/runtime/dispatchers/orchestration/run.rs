//! Runs the code of a fetched turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use semver::Version;
use tracing::warn;

use super::cold_replay::ColdReplay;
use super::failing::{Failing, failing_turn, parent_of_facts};
use super::parent::{collision_notices, resolve};
use super::process::LeasedTurn;
use super::starting::start_event;
use super::trial::{self, Trial};
use super::{commit, suspend};
use crate::context::OrchestrationHandler;
use crate::engine::{Execution, FOREIGN_WAKE_SIGNAL, Setup, Turn};
use crate::model::start::{Wanted, start_kind};
use crate::model::{ErrorDetails, Event, WorkItem};
use crate::providers::HistoryMark;
use crate::runtime::node::Node;
use crate::runtime::start_facts::StartFacts;
use crate::runtime::storage_retry::retry_for_ever;
use crate::runtime::turns::{TurnSummary, WarmExecution, report};

/// The code of an execution, and its start event if this turn is its first.
pub(super) struct Resolved {
    handler: Arc<dyn OrchestrationHandler>,
    start: Option<Event>,
}

/// Where an execution comes from.
#[expect(clippy::large_enum_variant, reason = "a turn moves it once")]
enum Source {
    Memory(WarmExecution),
    History(Resolved),
}

/// An execution that is up to date with its history.
struct Ready {
    execution: Execution,
    facts: Arc<StartFacts>,
    /// Known if the execution was in memory.
    held: Option<HistoryMark>,
    /// For the debug switch that replays every turn.
    cold: Option<Box<ColdReplay>>,
}

/// Brings the execution up to date, advances it, commits the turn, and keeps the execution in
/// memory.
pub(super) async fn run(mut turn: LeasedTurn<'_>, warm: Option<WarmExecution>, history: &[Event]) {
    let source = match warm {
        Some(warm) if turn.batch.start.is_none() => Source::Memory(warm),
        Some(_) | None => match resolve_code(&turn) {
            Some(resolved) => Source::History(resolved),
            None => return release_unregistered(turn).await,
        },
    };
    let trial = match trial::begin(&turn).await {
        Ok(trial) => trial,
        Err(error) => return commit::release_uncommitted(&turn, &error).await,
    };
    let ready = match source {
        Source::Memory(mut warm) => {
            warm.execution.replay(history);
            Ready {
                execution: warm.execution,
                facts: warm.facts,
                held: Some(warm.mark),
                cold: None,
            }
        }
        Source::History(resolved) => match open(&mut turn, resolved, history).await {
            Ok(ready) => ready,
            Err(details) => {
                trial::end(trial).await;
                return fail_corrupted(turn, details).await;
            }
        },
    };
    advance(turn, ready, trial).await;
}

async fn advance(mut turn: LeasedTurn<'_>, ready: Ready, trial: Option<Trial>) {
    let Ready { mut execution, facts, held, cold } = ready;
    let inbox = std::mem::take(&mut turn.batch.inbox);
    let now_ms = turn.now_ms;
    let (mut decided, ran) = turn
        .turns
        .blocked_code
        .watch(&turn.item.instance, &facts, || execution.advance(inbox, now_ms));
    trial::end(trial).await;
    if let Some(cold) = cold
        && !execution.disagrees()
        && let Some(problem) = cold.problem(turn.node, &decided, ran)
    {
        drop(execution);
        // Boxed, so that the future of a turn does not grow by what only tests need.
        return Box::pin(fail_undeterministic(turn, &facts, &decided, problem)).await;
    }
    if execution.disagrees()
        && let Some(difference) = suspend::difference(&turn, &facts, &decided)
    {
        return suspend::suspend(turn, &facts, &difference).await;
    }
    decided.orchestrator_items.extend(collision_notices(&turn).await);
    let summary =
        TurnSummary::of(&execution, &facts, &decided, now_ms).started_by(turn.batch.start.as_ref());
    let (execution_id, event_id) = (execution.execution_id(), execution.last_event_id());
    // Without events, the history ends where it did. If another node appended that event, this one
    // does not know by which commit, and does not keep the execution.
    let last_commit = match decided.events.is_empty() {
        true => held.filter(|held| held.event_id == event_id).and_then(|held| held.commit_id),
        false => Some(turn.commit_id),
    };
    let mark = |incarnation: Option<u64>| {
        let mark = HistoryMark::new(incarnation.filter(|_| !summary.is_terminal())?)
            .with_execution_id(execution_id)
            .with_event_id(event_id);
        last_commit.map(|last_commit| mark.with_commit_id(Some(last_commit)))
    };
    // Until this turn is over: the next one may be fetched before the store has responded.
    let committing = mark(held.map(|held| held.incarnation)).map(|mark| {
        let instance = turn.item.instance.clone();
        turn.turns.warm.commit_started(instance, mark, Arc::clone(&facts))
    });
    let Some(committed) = commit::commit(&turn, &facts, execution_id, decided).await else {
        return;
    };
    report(&turn.report_context(), &summary);
    if let Some(mark) = mark(committed.incarnation) {
        let warm = WarmExecution { execution, facts, mark, is_behind: committed.more_waits };
        turn.turns.warm.put(turn.item.instance.clone(), warm);
    }
    drop(committing);
    // Not earlier: an activity that completes at once must find its execution in memory.
    committed.leased.start(turn.fast_path);
}

/// Resolves the code. If the message or the history names a version, exactly that one.
pub(super) fn resolve_code(turn: &LeasedTurn<'_>) -> Option<Resolved> {
    let handlers = &turn.node.handlers;
    let exact = |name: &str, version: &str| {
        let version = Version::parse(version).ok()?;
        let handler = handlers.orchestration_version(name, &version)?;
        Some((version, handler))
    };
    if let Some(start) = &turn.batch.start {
        let wanted = Wanted::of(start)?;
        let (version, handler) = match wanted.version {
            Some(version) => exact(wanted.name, version)?,
            None => handlers.orchestration(wanted.name)?,
        };
        let kind = start_kind(start, version.to_string())?;
        return Some(Resolved { handler, start: Some(start_event(turn, start, kind)) });
    }
    let facts = turn.state.facts.as_ref()?;
    let handler = handlers.recorded_orchestration(&facts.name, &facts.version)?;
    Some(Resolved { handler, start: None })
}

async fn open(
    turn: &mut LeasedTurn<'_>,
    resolved: Resolved,
    history: &[Event],
) -> Result<Ready, ErrorDetails> {
    let facts = match &resolved.start {
        Some(start) => StartFacts::of(start).map(Arc::new),
        None => turn.state.facts.clone(),
    };
    let Some(facts) = facts else {
        return Err(ErrorDetails::nondeterminism("corrupted history: empty"));
    };
    let execution_id =
        resolved.start.as_ref().map_or(turn.item.execution_id, |start| start.execution_id);
    let parent = match facts.parent.clone() {
        Some(call) => Some(resolve(turn.node, call).await),
        None => None,
    };
    // A new execution does not continue the history of the one before.
    let history = if resolved.start.is_some() { &[] } else { history };
    let cold = ColdReplay::new(turn.node, &resolved.handler, &turn.item.kv_snapshot, history);
    let setup = Setup {
        handler: resolved.handler,
        kv_snapshot: std::mem::take(&mut turn.item.kv_snapshot),
        parent,
        ignored_inputs: turn.node.handlers.ignored_inputs(),
        on_foreign_wake: Some(report_foreign_wake(turn.node, &turn.item.instance, execution_id)),
    };
    let execution = match resolved.start {
        Some(start) => Execution::begin(setup, start)?,
        None => Execution::open(setup, history)?,
    };
    Ok(Ready { execution, facts, held: None, cold })
}

/// Sends the instance a message, so that it takes a turn in which the engine reports the foreign
/// wake-up. Without it, an instance that awaits nothing durable would hang for ever.
fn report_foreign_wake(
    node: &Arc<Node>,
    instance: &str,
    execution_id: u64,
) -> Arc<dyn Fn() + Send + Sync> {
    let (node, instance) = (Arc::downgrade(node), instance.to_owned());
    let runtime = tokio::runtime::Handle::current();
    let reported = AtomicBool::new(false);
    Arc::new(move || {
        let Some(node) = node.upgrade() else { return };
        if node.tasks.is_stopping() || reported.swap(true, Ordering::SeqCst) {
            return;
        }
        let message = WorkItem::ExternalRaised {
            instance: instance.clone(),
            name: FOREIGN_WAKE_SIGNAL.to_owned(),
            data: execution_id.to_string(),
        };
        let _in_runtime = runtime.enter();
        let tasks = node.tasks.clone();
        tasks.spawn(async move {
            let provider = &node.provider;
            let sent = retry_for_ever("enqueue_for_orchestrator", || {
                provider.enqueue_for_orchestrator(message.clone(), None)
            });
            if let Err(error) = sent.await {
                warn!(
                    target: "duroxide::runtime", %error,
                    "could not report a foreign wake-up to its instance"
                );
            }
        });
    })
}

/// Name and version of the code that a turn needs.
pub(super) fn code_of<'a>(turn: &'a LeasedTurn<'_>) -> (&'a str, Option<&'a str>) {
    if let Some(wanted) = turn.batch.start.as_ref().and_then(Wanted::of) {
        return (wanted.name, wanted.version);
    }
    match &turn.state.facts {
        Some(facts) => (&facts.name, Some(&facts.version)),
        None => ("", None),
    }
}

async fn release_unregistered(turn: LeasedTurn<'_>) {
    turn.node.metrics().record_passed_over("turn", "handler");
    let options = &turn.node.options;
    let delay = options.unregistered_backoff.delay(turn.attempt_count);
    let (name, version) = code_of(&turn);
    warn!(
        target: "duroxide::runtime",
        instance_id = %turn.item.instance,
        orchestration_name = name,
        orchestration_version = version.unwrap_or("latest"),
        attempt_count = turn.attempt_count,
        max_attempts = options.max_attempts,
        remaining_attempts = options.max_attempts.saturating_sub(turn.attempt_count),
        backoff_secs = delay.as_secs_f64(),
        "orchestration is not registered on this node; releasing the turn"
    );
    turn.release(delay).await;
}

/// Fails an execution whose code decides otherwise in a second replay of the same turn. What the
/// code asked for in this turn is not recorded.
async fn fail_undeterministic(
    turn: LeasedTurn<'_>,
    facts: &StartFacts,
    decided: &Turn,
    problem: String,
) {
    let start = decided.events.iter().find(|event| event.is_start()).cloned();
    let execution_id = start.as_ref().map_or(turn.item.execution_id, |start| start.execution_id);
    let last_event_id = start.as_ref().map_or(turn.last_event_id, |start| start.event_id);
    let failing = Failing {
        execution_id,
        start,
        event_id: last_event_id + 1,
        details: ErrorDetails::nondeterminism(problem),
        parent: parent_of_facts(&turn, facts).await,
    };
    let decided = failing_turn(&turn, failing).await;
    let summary = TurnSummary::without_code(execution_id, facts, &decided, turn.now_ms);
    if commit::commit(&turn, facts, execution_id, decided).await.is_some() {
        report(&turn.report_context(), &summary);
    }
}

/// Fails an instance whose stored history is not a valid one.
async fn fail_corrupted(turn: LeasedTurn<'_>, details: ErrorDetails) {
    let Some(facts) = turn.state.facts.clone() else {
        return commit::drain(turn, Vec::new()).await;
    };
    let failing = Failing {
        execution_id: turn.item.execution_id,
        start: None,
        event_id: turn.last_event_id + 1,
        details,
        parent: parent_of_facts(&turn, &facts).await,
    };
    let execution_id = failing.execution_id;
    let decided: Turn = failing_turn(&turn, failing).await;
    let summary = TurnSummary::without_code(execution_id, &facts, &decided, turn.now_ms);
    if commit::commit(&turn, &facts, execution_id, decided).await.is_some() {
        report(&turn.report_context(), &summary);
    }
}
