//! The context of an activity that a test runs without a node.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::ActivityContext;
use super::activity_context::ActivityFields;
use super::progress::ProgressReporter;
use crate::client::Client;
use crate::limits::TESTED_LEASE;
use crate::model::{INITIAL_EVENT_ID, INITIAL_EXECUTION_ID};
use crate::providers::Provider;

/// One attempt of an activity, as a test describes it.
#[derive(Debug, Clone)]
pub struct TestedAttempt {
    /// The instance that the context names.
    pub instance_id: String,
    /// The name that the context shows.
    pub activity_name: String,
    /// The number of the delivery, from 1.
    pub attempt: u32,
    /// What an earlier attempt reported.
    pub last_progress: Option<String>,
    /// The lease under which progress is stored.
    pub lock_token: String,
    /// Fires when the test cancels the activity.
    pub cancellation: CancellationToken,
}

impl ActivityContext {
    /// The context of an attempt, on a store that has its lease.
    pub fn for_test(store: Arc<dyn Provider>, attempt: TestedAttempt) -> Self {
        let token = attempt.lock_token;
        Self::new(ActivityFields {
            instance_id: attempt.instance_id,
            execution_id: INITIAL_EXECUTION_ID,
            orchestration_name: "Test".to_owned(),
            orchestration_version: "1.0.0".to_owned(),
            activity_name: attempt.activity_name,
            activity_id: INITIAL_EVENT_ID + 1,
            attempt: attempt.attempt,
            worker_id: "test".to_owned(),
            session_id: None,
            tag: None,
            last_progress: attempt.last_progress,
            reporter: ProgressReporter::new(Arc::clone(&store), token, TESTED_LEASE),
            cancellation: attempt.cancellation,
            client: Client::new(store),
        })
    }
}
