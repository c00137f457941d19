//! Scheduled operations whose futures the code still holds.

use std::collections::HashMap;
use std::task::Waker;

use crate::model::{CompletionResult, ScheduleKind};

/// One scheduled operation whose future is alive.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) kind: ScheduleKind,
    /// Event id of the schedule, once it is recorded.
    pub(crate) schedule_id: Option<u64>,
    pub(crate) result: Option<CompletionResult>,
    pub(crate) waker: Option<Waker>,
    /// The future was dropped before the schedule was recorded.
    pub(crate) abandoned: bool,
}

/// Calls by token, and the token of each recorded schedule.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    by_token: HashMap<u64, Call>,
    token_by_schedule: HashMap<u64, u64>,
}

impl Calls {
    pub(crate) fn insert(&mut self, token: u64, kind: ScheduleKind) {
        let call = Call { kind, schedule_id: None, result: None, waker: None, abandoned: false };
        self.by_token.insert(token, call);
    }

    pub(crate) fn get_mut(&mut self, token: u64) -> Option<&mut Call> {
        self.by_token.get_mut(&token)
    }

    pub(crate) fn by_schedule_mut(&mut self, schedule_id: u64) -> Option<&mut Call> {
        self.by_token.get_mut(self.token_by_schedule.get(&schedule_id)?)
    }

    /// Binds a call to its recorded schedule. Returns the call if its future was already dropped.
    pub(crate) fn bind(&mut self, token: u64, schedule_id: u64) -> Option<Call> {
        let call = self.by_token.get_mut(&token)?;
        call.schedule_id = Some(schedule_id);
        if call.abandoned {
            return self.by_token.remove(&token);
        }
        self.token_by_schedule.insert(schedule_id, token);
        None
    }

    pub(crate) fn remove(&mut self, token: u64) -> Option<Call> {
        let call = self.by_token.remove(&token)?;
        if let Some(schedule_id) = call.schedule_id {
            self.token_by_schedule.remove(&schedule_id);
        }
        Some(call)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_token.len()
    }
}
