//! Key-value state of the instance.

use std::collections::HashMap;

use serde::{Serialize, de::DeserializeOwned};

use super::future::DurableFuture;
use super::orchestration::OrchestrationContext;
use crate::model::{Action, syscall};

impl OrchestrationContext {
    /// Sets a key. It survives continue-as-new and is visible to clients after the turn.
    pub fn set_kv_value(&self, key: impl Into<String>, value: impl Into<String>) {
        let (key, value) = (key.into(), value.into());
        let mut state = self.shared.state();
        let now_ms = state.now_ms;
        let last_updated_at_ms = state.kv.set(key.clone(), value.clone(), now_ms);
        state.emit(Action::SetKeyValue { key, value, last_updated_at_ms });
    }

    /// Sets a key to the JSON form of `value`.
    ///
    /// # Panics
    /// When the value cannot be encoded.
    pub fn set_kv_value_typed<T: Serialize>(&self, key: impl Into<String>, value: &T) {
        match serde_json::to_string(value) {
            Ok(json) => self.set_kv_value(key, json),
            Err(error) => panic!("KV serialization error: {error}"),
        }
    }

    /// The value of a key.
    pub fn get_kv_value(&self, key: &str) -> Option<String> {
        self.shared.state().kv.get(key).map(str::to_owned)
    }

    /// The value of a key, read from its JSON form.
    pub fn get_kv_value_typed<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, String> {
        self.get_kv_value(key).map(|json| decoded(key, &json)).transpose()
    }

    /// All keys and values.
    pub fn get_kv_all_values(&self) -> HashMap<String, String> {
        let state = self.shared.state();
        state.kv.iter().map(|(key, entry)| (key.clone(), entry.value.clone())).collect()
    }

    /// All keys, sorted.
    pub fn get_kv_all_keys(&self) -> Vec<String> {
        self.shared.state().kv.keys().cloned().collect()
    }

    /// Number of keys.
    pub fn get_kv_length(&self) -> usize {
        self.shared.state().kv.len()
    }

    /// Removes a key.
    pub fn clear_kv_value(&self, key: impl Into<String>) {
        let key = key.into();
        let mut state = self.shared.state();
        state.kv.remove(&key);
        state.emit(Action::ClearKeyValue { key });
    }

    /// Removes all keys.
    pub fn clear_all_kv_values(&self) {
        let mut state = self.shared.state();
        state.kv.clear();
        state.emit(Action::ClearKeyValues);
    }

    /// Removes keys that were last set before the given time. Returns how many.
    pub fn prune_kv_values_updated_before(&self, updated_before_ms: u64) -> usize {
        let mut state = self.shared.state();
        let old = state.kv.older_than(updated_before_ms);
        for key in &old {
            state.kv.remove(key);
            state.emit(Action::ClearKeyValue { key: key.clone() });
        }
        old.len()
    }

    /// Reads a key of another instance, as it is when a worker answers. Recorded.
    pub fn get_kv_value_from_instance(
        &self,
        instance_id: impl Into<String>,
        key: impl Into<String>,
    ) -> DurableFuture<Result<Option<String>, String>> {
        let (instance_id, key): (String, String) = (instance_id.into(), key.into());
        // Written by hand because the order of the keys is part of the recorded input.
        let input = format!(
            "{{\"instance_id\":{},\"key\":{}}}",
            serde_json::Value::String(instance_id),
            serde_json::Value::String(key)
        );
        self.schedule_activity(syscall::GET_KV_VALUE, input).map(|answer| {
            serde_json::from_str(&answer?).map_err(|error| format!("KV read error: {error}"))
        })
    }

    /// The typed form of [`get_kv_value_from_instance`](Self::get_kv_value_from_instance).
    pub fn get_kv_value_from_instance_typed<T: DeserializeOwned + Send + 'static>(
        &self,
        instance_id: impl Into<String>,
        key: impl Into<String>,
    ) -> DurableFuture<Result<Option<T>, String>> {
        let key = key.into();
        self.get_kv_value_from_instance(instance_id, key.clone())
            .map(move |answer| answer?.map(|json| decoded(&key, &json)).transpose())
    }
}

fn decoded<T: DeserializeOwned>(key: &str, json: &str) -> Result<T, String> {
    serde_json::from_str(json)
        .map_err(|error| format!("KV deserialization error for key '{key}': {error}"))
}
