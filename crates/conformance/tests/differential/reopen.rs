//! Stores an execution in place of a node.

use duroxide_core::providers::{ExpectedInstance, KvEntry, NewExecution};

use crate::apply::{HOLD, Side};
use crate::as_text::text;
use crate::build::{self, Position};
use crate::op::{KEYS, Turn, VALUES};

impl Side {
    /// Stores the next execution of an instance, or the first one. With an ending, the instance is
    /// held and its current execution ended.
    pub(crate) async fn reopen(
        &self,
        instance: String,
        turn: &Turn,
        ending: Option<&Turn>,
        now: u64,
    ) -> String {
        let (mut expected, mut ended, mut token) = (ExpectedInstance::New, None, None);
        let is_known = self.admin().get_instance_info(&instance).await.is_ok();
        let latest = self.admin().latest_execution_id(&instance).await.unwrap_or(1);
        if let Some(ending) = ending {
            let held = match self.admin().hold_instance(&instance, HOLD).await {
                Ok(held) => held,
                Err(error) => return text::<()>(Err(error)),
            };
            let at = Position {
                instance: &instance,
                execution_id: held.execution_id,
                first_event: held.last_event_id + 1,
            };
            let ending = Turn { next_execution: false, lease: None, ..ending.clone() };
            ended = Some(build::commit(&ending, at, now)).filter(|_| held.status.is_some());
            expected = ExpectedInstance::Held { lock_token: held.lock_token.clone() };
            token = Some(held.lock_token);
        } else if is_known {
            let last = self.provider.read(&instance).await;
            let last_event_id = last.unwrap_or_default().last().map_or(0, |event| event.event_id);
            expected = ExpectedInstance::Ended { execution_id: latest, last_event_id };
        }
        let execution_id = latest + u64::from(is_known && turn.next_execution);
        let at = Position { instance: &instance, execution_id, first_event: 1 };
        let named = Turn { next_execution: false, is_named: true, lease: None, ..turn.clone() };
        let entry = KvEntry { value: VALUES[2].to_owned(), last_updated_at_ms: 9 };
        let kv = turn.pin.map(|_| [(KEYS[0].to_owned(), entry)].into());
        let execution = NewExecution::new(&*instance, expected, build::commit(&named, at, now))
            .with_ending(ended)
            .with_custom_status(turn.parent.map(|_| "reopened".to_owned()))
            .with_kv(kv);
        // The contract does not say which of several faults of an execution is named.
        let stored = text(self.admin().store_execution(execution).await);
        let stored = stored.split_once(": ").map_or(stored.as_str(), |(class, _phrase)| class);
        if let Some(token) = token {
            // After a success, nothing is left to be released.
            let released = self.provider.abandon_orchestration_item(&token, None, true).await;
            return format!("{stored} {}", text(released));
        }
        stored.to_owned()
    }
}
