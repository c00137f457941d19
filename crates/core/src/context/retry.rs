//! Activities with a retry policy.

use std::future::Future;
use std::panic::Location;

use serde::{Serialize, de::DeserializeOwned};

use super::activities::{activity_result, encoded};
use super::activity_options::ActivityOptions;
use super::orchestration::OrchestrationContext;
use super::state::CallSite;
use crate::model::{Either2, RetryPolicy};
use crate::typed::TIMED_OUT;

impl OrchestrationContext {
    /// Runs an activity until it succeeds or the policy allows no further attempt. Each attempt is
    /// an activity of its own in history. The first poll schedules the first attempt.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use std::time::Duration;
    ///
    /// use duroxide::{BackoffStrategy, OrchestrationContext, RetryPolicy};
    ///
    /// async fn notify(ctx: OrchestrationContext, message: String) -> Result<String, String> {
    ///     let policy = RetryPolicy::new(5)
    ///         .with_backoff(BackoffStrategy::Fixed { delay: Duration::from_secs(10) })
    ///         .with_timeout(Duration::from_secs(60));
    ///     ctx.schedule_activity_with_retry("SendMail", message, policy).await
    /// }
    /// ```
    #[track_caller]
    pub fn schedule_activity_with_retry(
        &self,
        name: impl Into<String>,
        input: impl Into<String>,
        policy: RetryPolicy,
    ) -> impl Future<Output = Result<String, String>> {
        let site = Location::caller();
        async move {
            self.retry(site, name.into(), input.into(), policy, ActivityOptions::default()).await
        }
    }

    /// The typed form of [`schedule_activity_with_retry`](Self::schedule_activity_with_retry).
    ///
    /// # Panics
    /// The future panics when the input cannot be encoded.
    #[track_caller]
    pub fn schedule_activity_with_retry_typed<In: Serialize, Out: DeserializeOwned>(
        &self,
        name: impl Into<String>,
        input: &In,
        policy: RetryPolicy,
    ) -> impl Future<Output = Result<Out, String>> {
        let site = Location::caller();
        async move {
            let (name, options) = (name.into(), ActivityOptions::default());
            let result = self.retry(site, name.clone(), encoded(input), policy, options).await;
            activity_result(name)(result)
        }
    }

    /// Like [`schedule_activity_with_retry`](Self::schedule_activity_with_retry), with all attempts
    /// on the same session.
    #[track_caller]
    pub fn schedule_activity_with_retry_on_session(
        &self,
        name: impl Into<String>,
        input: impl Into<String>,
        policy: RetryPolicy,
        session_id: impl Into<String>,
    ) -> impl Future<Output = Result<String, String>> {
        let site = Location::caller();
        async move {
            let options = ActivityOptions::new().with_session(session_id);
            self.retry(site, name.into(), input.into(), policy, options).await
        }
    }

    /// The typed form of
    /// [`schedule_activity_with_retry_on_session`](Self::schedule_activity_with_retry_on_session).
    ///
    /// # Panics
    /// The future panics when the input cannot be encoded.
    #[track_caller]
    pub fn schedule_activity_with_retry_on_session_typed<In: Serialize, Out: DeserializeOwned>(
        &self,
        name: impl Into<String>,
        input: &In,
        policy: RetryPolicy,
        session_id: impl Into<String>,
    ) -> impl Future<Output = Result<Out, String>> {
        let site = Location::caller();
        async move {
            let options = ActivityOptions::new().with_session(session_id);
            let name = name.into();
            let result = self.retry(site, name.clone(), encoded(input), policy, options).await;
            activity_result(name)(result)
        }
    }

    /// Like [`schedule_activity_with_retry`](Self::schedule_activity_with_retry), with the same
    /// options for every attempt. A schedule-to-start limit applies to each attempt separately.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::{ActivityOptions, OrchestrationContext, RetryPolicy};
    ///
    /// async fn render(ctx: OrchestrationContext, scene: String) -> Result<String, String> {
    ///     let (policy, options) = (RetryPolicy::new(3), ActivityOptions::new().with_tag("gpu"));
    ///     ctx.schedule_activity_with_retry_and_options("Render", scene, policy, options).await
    /// }
    /// ```
    #[track_caller]
    pub fn schedule_activity_with_retry_and_options(
        &self,
        name: impl Into<String>,
        input: impl Into<String>,
        policy: RetryPolicy,
        options: ActivityOptions,
    ) -> impl Future<Output = Result<String, String>> {
        let site = Location::caller();
        async move { self.retry(site, name.into(), input.into(), policy, options).await }
    }

    /// The typed form of [`schedule_activity_with_retry_and_options`](
    /// Self::schedule_activity_with_retry_and_options).
    ///
    /// # Panics
    /// The future panics when the input cannot be encoded.
    #[track_caller]
    pub fn schedule_activity_with_retry_and_options_typed<In: Serialize, Out: DeserializeOwned>(
        &self,
        name: impl Into<String>,
        input: &In,
        policy: RetryPolicy,
        options: ActivityOptions,
    ) -> impl Future<Output = Result<Out, String>> {
        let site = Location::caller();
        async move {
            let name = name.into();
            let result = self.retry(site, name.clone(), encoded(input), policy, options).await;
            activity_result(name)(result)
        }
    }

    async fn retry(
        &self,
        site: CallSite,
        name: String,
        input: String,
        policy: RetryPolicy,
        options: ActivityOptions,
    ) -> Result<String, String> {
        let mut attempt = 1;
        loop {
            let activity = self.call_activity(site, name.clone(), input.clone(), options.clone());
            let outcome = match policy.timeout {
                None => activity.await,
                Some(limit) => {
                    // The first poll of the race schedules the timer, after the activity.
                    let timer = async { self.schedule_timer_at(site, limit).await };
                    match self.select2(activity, timer).await {
                        Either2::First(outcome) => outcome,
                        Either2::Second(()) => return Err(TIMED_OUT.to_owned()),
                    }
                }
            };
            let error = match outcome {
                Ok(result) => return Ok(result),
                Err(error) if attempt >= policy.max_attempts => return Err(error),
                Err(error) => error,
            };
            let session = options.session_id.as_ref();
            let place = session.map(|id| format!(" (session={id})")).unwrap_or_default();
            self.trace_warn(format!(
                "Activity '{name}' attempt {attempt}/{} failed: {error}. Retrying...{place}",
                policy.max_attempts
            ));
            let delay = policy.delay_for_attempt(attempt);
            if !delay.is_zero() {
                self.schedule_timer_at(site, delay).await;
            }
            attempt += 1;
        }
    }
}
