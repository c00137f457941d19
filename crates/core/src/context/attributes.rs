//! Search attributes, as orchestration code sets them.

use super::orchestration::OrchestrationContext;
use crate::model::stored_attribute::{attribute_key, decode_attribute, encode_attribute};
use crate::model::{Action, AttributeValue, Attributes};

impl OrchestrationContext {
    /// Sets a search attribute, by which clients find the instance once the turn commits. It is
    /// recorded in history and survives continue-as-new.
    ///
    /// An instance has at most 32 attributes. A name has at most 64 letters, digits, `_`, `.` and
    /// `-`, and a text at most 256 bytes; otherwise the orchestration fails.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn order(ctx: OrchestrationContext, region: String) -> Result<String, String> {
    ///     // Found by the filter `attr.region:eu-* attr.paid=false`.
    ///     ctx.set_attribute("region", region);
    ///     ctx.set_attribute("paid", false);
    ///     let receipt = ctx.schedule_activity("Charge", "12 EUR").await?;
    ///     ctx.set_attribute("paid", true);
    ///     Ok(receipt)
    /// }
    /// ```
    #[track_caller]
    pub fn set_attribute(&self, name: &str, value: impl Into<AttributeValue>) {
        let (key, value) = (attribute_key(name), encode_attribute(&value.into()));
        let mut state = self.shared.state();
        let last_updated_at_ms = state.now_ms;
        state.kv.set_attribute(key.clone(), Some(value.clone()));
        state.emit(Action::SetKeyValue { key, value, last_updated_at_ms });
    }

    /// Removes a search attribute.
    #[track_caller]
    pub fn clear_attribute(&self, name: &str) {
        let key = attribute_key(name);
        let mut state = self.shared.state();
        state.kv.set_attribute(key.clone(), None);
        state.emit(Action::ClearKeyValue { key });
    }

    /// The search attributes, also those that the start had.
    pub fn get_attributes(&self) -> Attributes {
        let state = self.shared.state();
        state.kv.attributes().filter_map(|(key, stored)| decode_attribute(key, stored)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_no_keys() {
        let name = || "A".to_owned();
        let ctx = OrchestrationContext::new(Vec::new(), 1, name(), name(), name(), None);
        ctx.set_attribute("customer", 42);
        ctx.set_attribute("region", "eu");
        ctx.set_kv_value("key", "value");
        assert_eq!(ctx.get_kv_length(), 1);
        assert_eq!(ctx.get_kv_all_keys(), ["key"]);
        ctx.clear_all_kv_values();
        assert_eq!(ctx.get_kv_length(), 0);
        ctx.clear_attribute("region");
        let left = [("customer".to_owned(), AttributeValue::Integer(42))];
        assert_eq!(ctx.get_attributes(), Attributes::from(left));
        assert_eq!(ctx.prune_kv_values_updated_before(u64::MAX), 0);
    }
}
