//! Hooks for tests that drive a context without the engine; kept for 0.1.x.

use super::orchestration::OrchestrationContext;
use crate::model::{Action, CompletionResult};

#[doc(hidden)]
impl OrchestrationContext {
    pub fn set_is_replaying(&self, is_replaying: bool) {
        self.shared.state().replaying = is_replaying;
    }

    pub fn bind_external_subscription(&self, schedule_id: u64, name: &str) {
        self.shared.state().bind_wait(schedule_id, name);
    }

    pub fn deliver_external_event(&self, name: String, data: String) {
        let (_accepted, waker) = self.shared.state().deliver_signal(name, data);
        waker.into_iter().for_each(std::task::Waker::wake);
    }

    pub fn bind_queue_subscription(&self, schedule_id: u64, name: &str) {
        let waker = self.shared.state().bind_dequeue(schedule_id, name);
        waker.into_iter().for_each(std::task::Waker::wake);
    }

    pub fn deliver_queue_message(&self, name: String, data: String) {
        let waker = self.shared.state().deliver_message(name, data);
        waker.into_iter().for_each(std::task::Waker::wake);
    }

    pub fn drain_emitted_actions(&self) -> Vec<(u64, Action)> {
        self.shared.state().emitted.drain(..).collect()
    }

    pub fn get_emitted_actions(&self) -> Vec<(u64, Action)> {
        self.shared.state().emitted.iter().cloned().collect()
    }

    pub fn bind_token(&self, token: u64, schedule_id: u64) {
        self.shared.state().bind(token, schedule_id);
    }

    pub fn deliver_result(&self, schedule_id: u64, result: CompletionResult) {
        let waker = self.shared.state().deliver(schedule_id, result);
        waker.into_iter().for_each(std::task::Waker::wake);
    }
}
