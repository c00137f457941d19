//! Custom status: a text that clients can read while the instance runs.

use super::orchestration::OrchestrationContext;
use crate::model::{Action, SystemStats};

impl OrchestrationContext {
    /// Sets the custom status. The change is recorded in history, and clients see it once the turn
    /// commits.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn import(ctx: OrchestrationContext, files: String) -> Result<String, String> {
    ///     for file in files.lines() {
    ///         ctx.set_custom_status(format!("importing {file}"));
    ///         ctx.schedule_activity("Import", file).await?;
    ///     }
    ///     ctx.reset_custom_status();
    ///     Ok("imported".to_owned())
    /// }
    /// ```
    #[track_caller]
    pub fn set_custom_status(&self, status: impl Into<String>) {
        self.update_custom_status(Some(status.into()));
    }

    /// Removes the custom status. The change is recorded in history.
    #[track_caller]
    pub fn reset_custom_status(&self) {
        self.update_custom_status(None);
    }

    /// The custom status that the code set last.
    pub fn get_custom_status(&self) -> Option<String> {
        self.shared.state().custom_status.clone()
    }

    /// Always `None`, because sizes differ from replay to replay; kept for 0.1.x. A client reads
    /// them with `get_orchestration_stats`.
    pub fn get_system_stats(&self) -> Option<SystemStats> {
        None
    }

    #[track_caller]
    fn update_custom_status(&self, status: Option<String>) {
        let mut state = self.shared.state();
        state.custom_status.clone_from(&status);
        state.emit(Action::UpdateCustomStatus { status });
    }
}
