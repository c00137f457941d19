//! Custom status: a text that clients see.

use super::orchestration::OrchestrationContext;
use crate::model::{Action, SystemStats};

impl OrchestrationContext {
    /// Sets the custom status. Recorded in history.
    pub fn set_custom_status(&self, status: impl Into<String>) {
        self.update_custom_status(Some(status.into()));
    }

    /// Removes the custom status. Recorded in history.
    pub fn reset_custom_status(&self) {
        self.update_custom_status(None);
    }

    /// The custom status as this code last set it.
    pub fn get_custom_status(&self) -> Option<String> {
        self.shared.state().custom_status.clone()
    }

    /// Always `None`: sizes differ from replay to replay. Clients see them instead.
    pub fn get_system_stats(&self) -> Option<SystemStats> {
        None
    }

    fn update_custom_status(&self, status: Option<String>) {
        let mut state = self.shared.state();
        state.custom_status.clone_from(&status);
        state.emit(Action::UpdateCustomStatus { status });
    }
}
