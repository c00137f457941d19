//! The context that activity code receives.

use std::sync::Arc;

use serde::{Serialize, de::DeserializeOwned};
use tokio_util::sync::CancellationToken;

use super::progress::{ProgressError, ProgressReporter};
use crate::client::Client;
use crate::model::codec;

/// The identity of a running activity, its cancellation, its progress reports and a client of the
/// store. Clones refer to the same activity.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use duroxide::ActivityContext;
///
/// async fn import(ctx: ActivityContext, files: String) -> Result<String, String> {
///     // After a crash, the next attempt continues where this one stopped.
///     let done = ctx.last_progress_typed::<usize>()?.unwrap_or(0);
///     for (index, file) in files.lines().enumerate().skip(done) {
///         if ctx.is_cancelled() {
///             return Err("cancelled".to_owned());
///         }
///         ctx.trace_info(format!("importing {file}"));
///         ctx.report_progress_typed(&(index + 1)).await.map_err(|error| error.to_string())?;
///     }
///     Ok("imported".to_owned())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct ActivityContext {
    fields: Arc<ActivityFields>,
}

/// The fields of a context.
#[derive(Debug)]
pub(crate) struct ActivityFields {
    pub(crate) instance_id: String,
    pub(crate) execution_id: u64,
    /// "unknown" when the instance has no start event; the same holds for the version.
    pub(crate) orchestration_name: String,
    pub(crate) orchestration_version: String,
    pub(crate) activity_name: String,
    pub(crate) activity_id: u64,
    pub(crate) attempt: u32,
    pub(crate) worker_id: String,
    pub(crate) session_id: Option<String>,
    pub(crate) tag: Option<String>,
    pub(crate) last_progress: Option<String>,
    pub(crate) reporter: ProgressReporter,
    pub(crate) cancellation: CancellationToken,
    pub(crate) client: Client,
}

/// Writes one log line. A macro, because the level of a `tracing` call site is static.
macro_rules! trace_activity {
    ($level:ident, $context:expr, $message:expr) => {
        tracing::$level!(
            target: "duroxide::activity",
            instance_id = %$context.fields.instance_id,
            execution_id = $context.fields.execution_id,
            orchestration_name = %$context.fields.orchestration_name,
            orchestration_version = %$context.fields.orchestration_version,
            activity_name = %$context.fields.activity_name,
            activity_id = $context.fields.activity_id,
            worker_id = %$context.fields.worker_id,
            "{}",
            $message.into()
        )
    };
}

impl ActivityContext {
    pub(crate) fn new(fields: ActivityFields) -> Self {
        Self { fields: Arc::new(fields) }
    }

    /// The instance that scheduled the activity.
    pub fn instance_id(&self) -> &str {
        &self.fields.instance_id
    }

    /// The execution that scheduled the activity.
    pub fn execution_id(&self) -> u64 {
        self.fields.execution_id
    }

    /// The name of the orchestration that scheduled the activity, or "unknown".
    pub fn orchestration_name(&self) -> &str {
        &self.fields.orchestration_name
    }

    /// The version of the orchestration that scheduled the activity, or "unknown".
    pub fn orchestration_version(&self) -> &str {
        &self.fields.orchestration_version
    }

    /// The registered name of this activity.
    pub fn activity_name(&self) -> &str {
        &self.fields.activity_name
    }

    /// The event id of the schedule. Together with instance and execution it identifies this call
    /// of the activity, and all attempts share it.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::ActivityContext;
    ///
    /// /// A key under which a payment service recognizes repeated attempts.
    /// fn idempotency_key(ctx: &ActivityContext) -> String {
    ///     format!("{}/{}/{}", ctx.instance_id(), ctx.execution_id(), ctx.activity_id())
    /// }
    /// ```
    pub fn activity_id(&self) -> u64 {
        self.fields.activity_id
    }

    /// The number of this delivery of the call, from 1. Deliveries to nodes that could not start
    /// the activity count, too.
    pub fn attempt(&self) -> u32 {
        self.fields.attempt
    }

    /// The slot that runs the activity.
    pub fn worker_id(&self) -> &str {
        &self.fields.worker_id
    }

    /// The session in which the activity runs.
    pub fn session_id(&self) -> Option<&str> {
        self.fields.session_id.as_deref()
    }

    /// The tag that routed the activity to this worker.
    pub fn tag(&self) -> Option<&str> {
        self.fields.tag.as_deref()
    }

    /// Reports progress to clients and to the next attempt. The last report counts.
    ///
    /// Returns when this report or a later one is durable. Frequent calls are cheap: a report that
    /// arrives while an earlier one waits for the store replaces it.
    ///
    /// # Errors
    /// When the report is too large, when the activity has lost its lease, or when the store does
    /// not accept the report. Only a lost lease is a reason to stop.
    pub async fn report_progress(&self, progress: impl Into<String>) -> Result<(), ProgressError> {
        self.fields.reporter.report(progress.into()).await
    }

    /// The typed form of [`report_progress`](Self::report_progress).
    ///
    /// # Errors
    /// Those of [`report_progress`](Self::report_progress), and when the value cannot be encoded.
    pub async fn report_progress_typed<T: Serialize + ?Sized>(
        &self,
        progress: &T,
    ) -> Result<(), ProgressError> {
        let text = codec::encode(progress);
        let text = text.map_err(|message| ProgressError::Unencodable { message })?;
        self.report_progress(text).await
    }

    /// The last report of an earlier attempt of this call.
    pub fn last_progress(&self) -> Option<&str> {
        self.fields.last_progress.as_deref()
    }

    /// The typed form of [`last_progress`](Self::last_progress).
    ///
    /// # Errors
    /// When the report does not decode.
    pub fn last_progress_typed<T: DeserializeOwned>(&self) -> Result<Option<T>, String> {
        self.last_progress().map(codec::decode).transpose()
    }

    /// Logs at INFO with the identity of the activity.
    pub fn trace_info(&self, message: impl Into<String>) {
        trace_activity!(info, self, message);
    }

    /// Logs at WARN with the identity of the activity.
    pub fn trace_warn(&self, message: impl Into<String>) {
        trace_activity!(warn, self, message);
    }

    /// Logs at ERROR with the identity of the activity.
    pub fn trace_error(&self, message: impl Into<String>) {
        trace_activity!(error, self, message);
    }

    /// Logs at DEBUG with the identity of the activity.
    pub fn trace_debug(&self, message: impl Into<String>) {
        trace_activity!(debug, self, message);
    }

    /// Whether the result is no longer needed: the orchestration cancelled the activity or
    /// completed, or this worker lost the lease.
    pub fn is_cancelled(&self) -> bool {
        self.fields.cancellation.is_cancelled()
    }

    /// Completes when the result is no longer needed.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use std::time::Duration;
    ///
    /// use duroxide::ActivityContext;
    ///
    /// async fn wait_for_file(ctx: ActivityContext, path: String) -> Result<String, String> {
    ///     while !std::path::Path::new(&path).exists() {
    ///         tokio::select! {
    ///             () = tokio::time::sleep(Duration::from_secs(1)) => {}
    ///             () = ctx.cancelled() => return Err("cancelled".to_owned()),
    ///         }
    ///     }
    ///     Ok(path)
    /// }
    /// ```
    pub async fn cancelled(&self) {
        self.fields.cancellation.cancelled().await;
    }

    /// The token behind [`cancelled`](Self::cancelled), to pass on to other code. A shutdown of the
    /// runtime does not fire it.
    pub fn cancellation_token(&self) -> CancellationToken {
        self.fields.cancellation.clone()
    }

    /// Returns a client of the same store.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::ActivityContext;
    ///
    /// async fn signal(ctx: ActivityContext, instance: String) -> Result<String, String> {
    ///     let sent = ctx.get_client().raise_event(instance, "ready", "").await;
    ///     sent.map(|()| "sent".to_owned()).map_err(|error| error.to_string())
    /// }
    /// ```
    pub fn get_client(&self) -> Client {
        self.fields.client.clone()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::providers::fake::FakeProvider;

    /// A context on a store that the test can inspect.
    pub(crate) fn context_of(provider: Arc<FakeProvider>) -> ActivityContext {
        ActivityContext::new(ActivityFields {
            instance_id: "order-7".to_owned(),
            execution_id: 2,
            orchestration_name: "Pay".to_owned(),
            orchestration_version: "1.0.0".to_owned(),
            activity_name: "Charge".to_owned(),
            activity_id: 5,
            attempt: 3,
            worker_id: "work-0-abcd".to_owned(),
            session_id: Some("session".to_owned()),
            tag: Some("gpu".to_owned()),
            last_progress: Some("41".to_owned()),
            reporter: ProgressReporter::new(
                Arc::clone(&provider) as Arc<dyn crate::providers::Provider>,
                "token".to_owned(),
                std::time::Duration::from_secs(30),
            ),
            cancellation: CancellationToken::new(),
            client: Client::new(provider),
        })
    }

    /// A context on an empty store.
    pub(crate) fn context() -> ActivityContext {
        context_of(FakeProvider::watching())
    }

    #[test]
    fn a_context_returns_the_identity_of_its_activity() {
        let context = context();
        assert_eq!(context.instance_id(), "order-7");
        assert_eq!(context.execution_id(), 2);
        assert_eq!(context.orchestration_name(), "Pay");
        assert_eq!(context.orchestration_version(), "1.0.0");
        assert_eq!(context.activity_name(), "Charge");
        assert_eq!((context.activity_id(), context.attempt()), (5, 3));
        assert_eq!(context.last_progress(), Some("41"));
        assert_eq!(context.last_progress_typed(), Ok(Some(41)));
        assert!(context.last_progress_typed::<bool>().is_err());
        assert_eq!(context.worker_id(), "work-0-abcd");
        assert_eq!(context.session_id(), Some("session"));
        assert_eq!(context.tag(), Some("gpu"));
        assert!(format!("{context:?}").contains("activity_id: 5"));
    }

    #[tokio::test]
    async fn a_cancellation_reaches_every_clone() {
        let context = context();
        let clone = context.clone();
        assert!(!clone.is_cancelled());
        context.cancellation_token().cancel();
        clone.cancelled().await;
        assert!(clone.is_cancelled());
    }

    #[test]
    fn log_lines_carry_the_identity_of_the_activity() {
        let lines = crate::observability::capture::captured(|| {
            let context = context();
            context.trace_info("one");
            context.trace_error("two".to_owned());
        });
        assert_eq!(lines.len(), 2);
        for field in [
            "\"target\":\"duroxide::activity\"",
            "\"message\":\"one\"",
            "\"instance_id\":\"order-7\"",
            "\"execution_id\":2",
            "\"orchestration_name\":\"Pay\"",
            "\"orchestration_version\":\"1.0.0\"",
            "\"activity_name\":\"Charge\"",
            "\"activity_id\":5",
            "\"worker_id\":\"work-0-abcd\"",
        ] {
            assert!(lines[0].contains(field), "{field} is missing in {}", lines[0]);
        }
        assert!(lines[1].contains("\"level\":\"ERROR\""));
    }
}
