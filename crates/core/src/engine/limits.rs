//! Limits that a turn must keep.

use super::execution::Execution;
use crate::limits::{
    MAX_CUSTOM_STATUS_BYTES, MAX_ID_BYTES, MAX_KV_KEY_BYTES, MAX_KV_KEYS, MAX_KV_VALUE_BYTES,
    MAX_PATCH_ID_BYTES, MAX_TAG_NAME_BYTES,
};
use crate::model::attribute::{refuse_attribute, refuse_count};
use crate::model::stored_attribute::decode_attribute;
use crate::model::{EventKind, PatchMarker};

impl Execution {
    /// The first limit that this turn breaks, in a fixed order.
    pub(super) fn broken_limit(&self) -> Option<String> {
        self.status_too_large()
            .or_else(|| self.tag_too_large())
            .or_else(|| self.name_too_long())
            .or_else(|| self.value_too_large())
            .or_else(|| self.too_many_keys())
            .or_else(|| self.attribute_refused())
    }

    fn status_too_large(&self) -> Option<String> {
        let last = self.fresh.iter().rev().find_map(|event| {
            let EventKind::CustomStatusUpdated { status } = &event.kind else { return None };
            status.as_ref()
        })?;
        (last.len() > MAX_CUSTOM_STATUS_BYTES).then(|| {
            format!(
                "Custom status size ({} bytes) exceeds limit ({MAX_CUSTOM_STATUS_BYTES} bytes)",
                last.len()
            )
        })
    }

    fn tag_too_large(&self) -> Option<String> {
        self.fresh.iter().find_map(|event| {
            let EventKind::ActivityScheduled { name, tag: Some(tag), .. } = &event.kind else {
                return None;
            };
            (tag.len() > MAX_TAG_NAME_BYTES).then(|| {
                format!(
                    "Activity '{name}' tag size ({} bytes) exceeds limit \
                     ({MAX_TAG_NAME_BYTES} bytes)",
                    tag.len()
                )
            })
        })
    }

    /// A store could not index a longer name.
    fn name_too_long(&self) -> Option<String> {
        self.fresh.iter().find_map(|event| {
            let kind = &event.kind;
            let (what, name, limit) =
                if let EventKind::ActivityScheduled { session_id: Some(session), .. } = kind {
                    ("Session id", session.as_str(), MAX_ID_BYTES)
                } else if let EventKind::SubOrchestrationScheduled { instance, .. }
                | EventKind::OrchestrationChained { instance, .. } = kind
                {
                    ("Instance id", instance.as_str(), MAX_ID_BYTES)
                } else if let EventKind::KeyValueSet { key, .. } = kind {
                    ("KV key", key.as_str(), MAX_KV_KEY_BYTES)
                } else {
                    ("Patch id", PatchMarker::of(event)?.id, MAX_PATCH_ID_BYTES)
                };
            (name.len() > limit).then(|| {
                format!("{what} size ({} bytes) exceeds limit ({limit} bytes)", name.len())
            })
        })
    }

    fn value_too_large(&self) -> Option<String> {
        self.fresh.iter().find_map(|event| {
            let EventKind::KeyValueSet { key, value, .. } = &event.kind else { return None };
            (value.len() > MAX_KV_VALUE_BYTES).then(|| {
                format!(
                    "KV value for key '{key}' ({} bytes) exceeds limit \
                     ({MAX_KV_VALUE_BYTES} bytes)",
                    value.len()
                )
            })
        })
    }

    fn attribute_refused(&self) -> Option<String> {
        let mut sets_one = false;
        for event in &self.fresh {
            let EventKind::KeyValueSet { key, value, .. } = &event.kind else { continue };
            if let Some((name, value)) = decode_attribute(key, value) {
                sets_one = true;
                if let Some(refusal) = refuse_attribute(&name, &value) {
                    return Some(refusal);
                }
            }
        }
        sets_one.then(|| refuse_count(self.ctx.get_attributes().len())).flatten()
    }

    /// Counts all live keys of the instance, whenever they were set. An instance that an older
    /// version let grow past the limit is stopped only when it sets another key.
    fn too_many_keys(&self) -> Option<String> {
        let sets_a_key =
            self.fresh.iter().any(|event| matches!(event.kind, EventKind::KeyValueSet { .. }));
        let keys = self.ctx.get_kv_length();
        (sets_a_key && keys > MAX_KV_KEYS)
            .then(|| format!("KV key count ({keys}) exceeds limit ({MAX_KV_KEYS})"))
    }
}
