//! The attempts of one typed activity call.

use std::future::Future;
use std::time::Duration;

use super::activity_options::ActivityOptions;
use super::future::DurableFuture;
use super::orchestration::OrchestrationContext;
use super::state::CallSite;
use crate::model::Either2;
use crate::typed::{CallOptions, Retry, RetryHint, StoredError};

/// A scheduled activity and what is done if it fails.
pub(crate) struct Attempts {
    ctx: OrchestrationContext,
    site: CallSite,
    name: &'static str,
    options: ActivityOptions,
    pub(super) timeout: Option<Duration>,
    retry: Option<Repeat>,
    pub(super) first: DurableFuture<Result<String, String>>,
}

/// A retry policy, and the input of the attempts to come.
struct Repeat {
    policy: Retry,
    input: String,
}

/// Why a call failed, before its error is decoded.
pub(super) enum CallFailure {
    Error(String),
    Exhausted { last: String, attempts: u32 },
    TimedOut,
}

/// How one attempt failed.
enum Failed {
    Error(String),
    TimedOut,
}

impl Attempts {
    /// Schedules the first attempt.
    pub(super) fn schedule(
        ctx: &OrchestrationContext,
        site: CallSite,
        name: &'static str,
        input: String,
        defaults: CallOptions,
    ) -> Self {
        let mut options = ActivityOptions::new();
        options.tag = defaults.tag.map(str::to_owned);
        options.schedule_to_start_limit = defaults.schedule_to_start;
        let retry = defaults.retry.map(|policy| Repeat { policy, input: input.clone() });
        let first = ctx.call_activity(site, name.to_owned(), input, options.clone());
        Self { ctx: ctx.clone(), site, name, options, timeout: defaults.timeout, retry, first }
    }

    pub(super) fn set_tag(&mut self, tag: String) {
        self.first.set_tag(tag.clone());
        self.options.tag = Some(tag);
    }

    pub(super) fn set_session(&mut self, session_id: String) {
        self.first.set_session(session_id.clone());
        self.options.session_id = Some(session_id);
    }

    pub(super) fn set_start_limit(&mut self, limit: Duration) {
        self.first.set_start_limit(limit);
        self.options.schedule_to_start_limit = Some(limit);
    }

    pub(super) fn set_retry(&mut self, policy: Retry) {
        let input = match self.retry.take() {
            Some(retry) => retry.input,
            None => self.first.scheduled_input(),
        };
        self.retry = Some(Repeat { policy, input });
    }

    /// Whether the result of the first attempt is the result of the call.
    pub(super) fn is_single(&self) -> bool {
        self.timeout.is_none() && self.retry.is_none()
    }

    /// Runs the attempts.
    pub(super) async fn run(self) -> Result<String, CallFailure> {
        let Self { ctx, site, name, options, timeout, retry, first } = self;
        let Some(Repeat { policy, input }) = retry else {
            let failed = limited(&ctx, site, first, timeout).await;
            return failed.map_err(|failed| match failed {
                Failed::Error(text) => CallFailure::Error(text),
                Failed::TimedOut => CallFailure::TimedOut,
            });
        };
        let timeout = timeout.or(policy.attempt_timeout());
        let position = position(&ctx, name, first.token());
        let mut deadline = policy.deadline().map(|limit| ctx.schedule_timer_at(site, limit));
        let mut attempt = first;
        let mut last = None;
        let mut attempts = 1;
        loop {
            let outcome = limited(&ctx, site, attempt, timeout);
            let Some(outcome) = before(&ctx, &mut deadline, outcome).await else {
                return Err(ended(last, attempts));
            };
            let hint = match outcome {
                Ok(result) => return Ok(result),
                Err(Failed::TimedOut) if !policy.is_timeout_retried() => {
                    return Err(CallFailure::TimedOut);
                }
                Err(Failed::TimedOut) => RetryHint::Policy,
                Err(Failed::Error(text)) => {
                    let hint = StoredError::parse(&text).retry_hint();
                    if hint == RetryHint::Never || policy.attempts_max() == 1 {
                        return Err(CallFailure::Error(text));
                    }
                    last = Some(text);
                    hint
                }
            };
            if attempts >= policy.attempts_max() {
                return Err(ended(last, attempts));
            }
            report(&ctx, name, attempts, &policy, last.as_deref());
            let delay = pause(&policy, attempts, position, hint);
            if !delay.is_zero() {
                let timer = ctx.schedule_timer_at(site, delay);
                if before(&ctx, &mut deadline, timer).await.is_none() {
                    return Err(ended(last, attempts));
                }
            }
            attempts += 1;
            attempt = ctx.call_activity(site, name.to_owned(), input.clone(), options.clone());
        }
    }
}

/// One attempt and its limit. The first poll schedules the timer, after the activity.
async fn limited(
    ctx: &OrchestrationContext,
    site: CallSite,
    attempt: DurableFuture<Result<String, String>>,
    timeout: Option<Duration>,
) -> Result<String, Failed> {
    let Some(limit) = timeout else { return attempt.await.map_err(Failed::Error) };
    let timer = async { ctx.schedule_timer_at(site, limit).await };
    match ctx.select2(attempt, timer).await {
        Either2::First(outcome) => outcome.map_err(Failed::Error),
        Either2::Second(()) => Err(Failed::TimedOut),
    }
}

/// The result of a step; `None` if the deadline passes before.
async fn before<T>(
    ctx: &OrchestrationContext,
    deadline: &mut Option<DurableFuture<()>>,
    step: impl Future<Output = T>,
) -> Option<T> {
    let Some(timer) = deadline else { return Some(step.await) };
    match ctx.select2(step, timer).await {
        Either2::First(value) => Some(value),
        Either2::Second(()) => None,
    }
}

/// The end of the attempts. Without an error of one, all of them took too long.
fn ended(last: Option<String>, attempts: u32) -> CallFailure {
    match last {
        Some(last) => CallFailure::Exhausted { last, attempts },
        None => CallFailure::TimedOut,
    }
}

fn pause(policy: &Retry, attempt: u32, position: u64, hint: RetryHint) -> Duration {
    let delay = policy.delay(attempt, position);
    match hint {
        RetryHint::After(wait) => delay.max(wait),
        RetryHint::Policy | RetryHint::Never => delay,
    }
}

fn report(
    ctx: &OrchestrationContext,
    name: &str,
    attempt: u32,
    policy: &Retry,
    error: Option<&str>,
) {
    // A replay writes no lines.
    if ctx.is_replaying() {
        return;
    }
    let error = error.map_or("it timed out", |text| StoredError::parse(text).text);
    let max = policy.attempts_max();
    ctx.trace_warn(format!("Activity '{name}' attempt {attempt}/{max} failed: {error}; retrying"));
}

/// A number that tells calls apart, in this execution and among others: FNV-1a over their names.
/// Recorded pauses depend on it: it must not change.
fn position(ctx: &OrchestrationContext, name: &str, token: u64) -> u64 {
    let numbers = [ctx.execution_id(), token].map(u64::to_le_bytes);
    let parts = [ctx.shared.instance_id.as_bytes(), name.as_bytes(), numbers.as_flattened()];
    parts.into_iter().flatten().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
