//! The key-value store of an instance, as orchestration code uses it.

use std::collections::{BTreeMap, HashMap};

use serde::{Serialize, de::DeserializeOwned};

use super::future::DurableFuture;
use super::orchestration::OrchestrationContext;
use crate::model::{Action, syscall};

impl OrchestrationContext {
    /// Sets a key. The value survives continue-as-new, and clients see it once the turn commits.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn count(ctx: OrchestrationContext, _input: String) -> Result<String, String> {
    ///     let visits = ctx.get_kv_value_typed::<u64>("visits")?.unwrap_or(0) + 1;
    ///     ctx.set_kv_value_typed("visits", &visits);
    ///     ctx.set_kv_value("last_greeting", "hello");
    ///     Ok(visits.to_string())
    /// }
    /// ```
    #[track_caller]
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
    #[track_caller]
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

    /// The value of a key, decoded from JSON.
    ///
    /// # Errors
    /// When the value is not the JSON form of a `T`.
    pub fn get_kv_value_typed<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, String> {
        self.get_kv_value(key).map(|json| decoded(key, &json)).transpose()
    }

    /// All keys and values, sorted by key.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn ship_all(ctx: OrchestrationContext, _input: String) -> Result<String, String> {
    ///     // The order is the same in every replay, so the loop may schedule activities.
    ///     for (parcel, address) in ctx.get_kv_entries() {
    ///         ctx.schedule_activity("Ship", format!("{parcel} to {address}")).await?;
    ///     }
    ///     Ok("shipped".to_owned())
    /// }
    /// ```
    pub fn get_kv_entries(&self) -> BTreeMap<String, String> {
        self.collect_kv()
    }

    /// All keys and values, in no particular order.
    ///
    /// The order differs from replay to replay, so code that iterates over this map must not
    /// schedule anything on the way. [`get_kv_entries`](Self::get_kv_entries) is sorted.
    pub fn get_kv_all_values(&self) -> HashMap<String, String> {
        self.collect_kv()
    }

    /// All keys, sorted.
    pub fn get_kv_all_keys(&self) -> Vec<String> {
        self.shared.state().kv.keys().cloned().collect()
    }

    /// The number of keys.
    pub fn get_kv_length(&self) -> usize {
        self.shared.state().kv.len()
    }

    /// Removes a key.
    #[track_caller]
    pub fn clear_kv_value(&self, key: impl Into<String>) {
        let key = key.into();
        let mut state = self.shared.state();
        state.kv.remove(&key);
        state.emit(Action::ClearKeyValue { key });
    }

    /// Removes all keys. Attributes stay.
    #[track_caller]
    pub fn clear_all_kv_values(&self) {
        let mut state = self.shared.state();
        state.kv.clear();
        state.emit(Action::ClearKeyValues);
        // The store clears what it keeps under the keys of attributes, too.
        let attributes: Vec<(String, String)> =
            state.kv.attributes().map(|(key, stored)| (key.clone(), stored.clone())).collect();
        let last_updated_at_ms = state.now_ms;
        for (key, value) in attributes {
            state.emit(Action::SetKeyValue { key, value, last_updated_at_ms });
        }
    }

    /// Removes the keys that were last set before the given time, and returns their number. The
    /// decision uses recorded times, so every replay removes the same keys.
    #[track_caller]
    pub fn prune_kv_values_updated_before(&self, updated_before_ms: u64) -> usize {
        let mut state = self.shared.state();
        let old = state.kv.older_than(updated_before_ms);
        for key in &old {
            state.kv.remove(key);
            state.emit(Action::ClearKeyValue { key: key.clone() });
        }
        old.len()
    }

    /// Reads a key of another instance at the moment when a worker processes the request. The
    /// value is recorded in history.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn quote(ctx: OrchestrationContext, _input: String) -> Result<String, String> {
    ///     let rate = ctx.get_kv_value_from_instance("exchange", "EUR").await?;
    ///     rate.ok_or_else(|| "no rate yet".to_owned())
    /// }
    /// ```
    #[track_caller]
    pub fn get_kv_value_from_instance(
        &self,
        instance_id: impl Into<String>,
        key: impl Into<String>,
    ) -> DurableFuture<Result<Option<String>, String>> {
        let (instance_id, key): (String, String) = (instance_id.into(), key.into());
        // Formatted by hand because the order of the keys is part of the recorded input.
        let input = format!(
            "{{\"instance_id\":{},\"key\":{}}}",
            serde_json::Value::String(instance_id),
            serde_json::Value::String(key)
        );
        self.schedule_activity(syscall::GET_KV_VALUE, input).map(|result| {
            serde_json::from_str(&result?).map_err(|error| format!("KV read error: {error}"))
        })
    }

    /// The typed form of [`get_kv_value_from_instance`](Self::get_kv_value_from_instance).
    #[track_caller]
    pub fn get_kv_value_from_instance_typed<T: DeserializeOwned + Send + 'static>(
        &self,
        instance_id: impl Into<String>,
        key: impl Into<String>,
    ) -> DurableFuture<Result<Option<T>, String>> {
        let key = key.into();
        self.get_kv_value_from_instance(instance_id, key.clone())
            .map(move |value| value?.map(|json| decoded(&key, &json)).transpose())
    }

    fn collect_kv<C: FromIterator<(String, String)>>(&self) -> C {
        let state = self.shared.state();
        state.kv.iter().map(|(key, entry)| (key.clone(), entry.value.clone())).collect()
    }
}

fn decoded<T: DeserializeOwned>(key: &str, json: &str) -> Result<T, String> {
    serde_json::from_str(json)
        .map_err(|error| format!("KV deserialization error for key '{key}': {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted_by_key_and_equal_to_all_values() {
        let name = || "A".to_owned();
        let ctx = OrchestrationContext::new(Vec::new(), 1, name(), name(), name(), None);
        for key in ["c", "a", "b"] {
            ctx.set_kv_value(key, key.to_uppercase());
        }
        let entries: Vec<_> = ctx.get_kv_entries().into_iter().collect();
        let expected = [("a", "A"), ("b", "B"), ("c", "C")];
        assert_eq!(entries, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
        assert_eq!(ctx.get_kv_all_values(), entries.into_iter().collect());
    }
}
