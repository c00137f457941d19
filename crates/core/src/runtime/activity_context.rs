//! What activity code holds.

use std::sync::Arc;

use serde::{Serialize, de::DeserializeOwned};
use tokio_util::sync::CancellationToken;

use super::progress::{ProgressError, ProgressReporter};
use crate::client::Client;
use crate::model::codec;

/// Who runs an activity, for whom, and whether it is still wanted. Clones are the same context.
#[derive(Debug, Clone)]
pub struct ActivityContext {
    fields: Arc<ActivityFields>,
}

/// What a context is made of.
#[derive(Debug)]
pub(crate) struct ActivityFields {
    pub(crate) instance_id: String,
    pub(crate) execution_id: u64,
    /// "unknown" when the instance has no start event, as has the version.
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

/// `tracing` levels are part of a static call site, hence a macro and not a function.
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

    /// Instance that asked.
    pub fn instance_id(&self) -> &str {
        &self.fields.instance_id
    }

    /// Execution that asked.
    pub fn execution_id(&self) -> u64 {
        self.fields.execution_id
    }

    /// Name of the orchestration that asked, or "unknown".
    pub fn orchestration_name(&self) -> &str {
        &self.fields.orchestration_name
    }

    /// Version of the orchestration that asked, or "unknown".
    pub fn orchestration_version(&self) -> &str {
        &self.fields.orchestration_version
    }

    /// Registered name of this activity.
    pub fn activity_name(&self) -> &str {
        &self.fields.activity_name
    }

    /// Schedule event id. Together with instance and execution it names this call of the activity,
    /// and stays the same for all attempts.
    pub fn activity_id(&self) -> u64 {
        self.fields.activity_id
    }

    /// Which delivery of this call it is, counted from 1. Deliveries to nodes that could not begin
    /// with it count too.
    pub fn attempt(&self) -> u32 {
        self.fields.attempt
    }

    /// The slot that runs it.
    pub fn worker_id(&self) -> &str {
        &self.fields.worker_id
    }

    /// The session that it runs in.
    pub fn session_id(&self) -> Option<&str> {
        self.fields.session_id.as_deref()
    }

    /// The tag that it was routed by.
    pub fn tag(&self) -> Option<&str> {
        self.fields.tag.as_deref()
    }

    /// Tells clients and the next attempt how far the activity is; the last report counts.
    ///
    /// Ends when this report or a later one is durable. May be called as often as one likes:
    /// reports that come faster than they can be stored replace each other.
    ///
    /// # Errors
    /// When the report is too large, when the activity is no longer wanted, or when the store does
    /// not take it. Only the second is a reason to stop.
    pub async fn report_progress(&self, progress: impl Into<String>) -> Result<(), ProgressError> {
        self.fields.reporter.report(progress.into()).await
    }

    /// Like [`report_progress`](Self::report_progress), written as JSON.
    ///
    /// # Errors
    /// Those of [`report_progress`](Self::report_progress), and when it cannot be written.
    pub async fn report_progress_typed<T: Serialize + ?Sized>(
        &self,
        progress: &T,
    ) -> Result<(), ProgressError> {
        let text = codec::encode(progress);
        let text = text.map_err(|message| ProgressError::Unencodable { message })?;
        self.report_progress(text).await
    }

    /// What an earlier attempt of this call has last reported.
    pub fn last_progress(&self) -> Option<&str> {
        self.fields.last_progress.as_deref()
    }

    /// Like [`last_progress`](Self::last_progress), read as JSON.
    ///
    /// # Errors
    /// When the report has another form.
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

    /// Whether nobody wants the result any more.
    pub fn is_cancelled(&self) -> bool {
        self.fields.cancellation.is_cancelled()
    }

    /// Ends when nobody wants the result any more.
    pub async fn cancelled(&self) {
        self.fields.cancellation.cancelled().await;
    }

    /// The token behind [`cancelled`](Self::cancelled), to be handed on. Shutdown does not fire it.
    pub fn cancellation_token(&self) -> CancellationToken {
        self.fields.cancellation.clone()
    }

    /// A client of the same store.
    pub fn get_client(&self) -> Client {
        self.fields.client.clone()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::providers::fake::FakeProvider;

    /// A context of a store that can be looked into.
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

    /// A context of an empty store.
    pub(crate) fn context() -> ActivityContext {
        context_of(FakeProvider::watching())
    }

    #[test]
    fn a_context_says_who_runs_what_for_whom() {
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
    async fn every_clone_sees_the_cancellation() {
        let context = context();
        let clone = context.clone();
        assert!(!clone.is_cancelled());
        context.cancellation_token().cancel();
        clone.cancelled().await;
        assert!(clone.is_cancelled());
    }

    #[test]
    fn traces_carry_the_identity_of_the_activity() {
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
