//! Instance ids and the marker of generated child ids.

/// First execution of an instance.
pub const INITIAL_EXECUTION_ID: u64 = 1;

/// Id of the start event of every execution.
pub const INITIAL_EVENT_ID: u64 = 1;

/// Marker of child ids that the runtime generates.
pub const SUB_ORCH_AUTO_PREFIX: &str = "sub::";

/// [`SUB_ORCH_AUTO_PREFIX`] between the id of a parent and the rest of a child's.
const GENERATED_CHILD: &str = "::sub::";

/// Whether `instance` is a generated suffix rather than a full id.
pub fn is_auto_generated_sub_orch_id(instance: &str) -> bool {
    instance.starts_with(SUB_ORCH_AUTO_PREFIX)
}

/// Full id of a child: generated suffixes are put under the parent, explicit ids stay as they are.
pub fn build_child_instance_id(parent_instance: &str, child_instance: &str) -> String {
    if is_auto_generated_sub_orch_id(child_instance) {
        format!("{parent_instance}::{child_instance}")
    } else {
        child_instance.to_owned()
    }
}

/// The part of an instance id that says which server keeps the instance: the id before the first
/// `::sub::`, or the whole id.
///
/// Generated children have their parent's id in front of the marker, so a tree of generated ids
/// has one key. The rule is frozen: stores may place data by it.
pub fn routing_key(instance: &str) -> &str {
    instance.split_once(GENERATED_CHILD).map_or(instance, |(root, _child)| root)
}

/// The suffix recorded for a generated child id.
pub fn child_suffix(parent_execution_id: u64, event_id: u64) -> String {
    if parent_execution_id == INITIAL_EXECUTION_ID {
        format!("{SUB_ORCH_AUTO_PREFIX}{event_id}")
    } else {
        format!("{SUB_ORCH_AUTO_PREFIX}{parent_execution_id}_{event_id}")
    }
}

/// Why a root instance id is refused, if it is: the marker would collide with children.
pub fn refuse_root_id(instance: &str) -> Option<String> {
    let nested = format!("::{SUB_ORCH_AUTO_PREFIX}");
    (instance.starts_with(SUB_ORCH_AUTO_PREFIX) || instance.contains(&nested)).then(|| {
        format!(
            "instance id '{instance}' uses the reserved sub-orchestration marker \
             '{SUB_ORCH_AUTO_PREFIX}'; choose an id that neither starts with it nor contains \
             '{nested}'"
        )
    })
}

/// Why an explicit child instance id is refused, if it is.
pub fn refuse_child_id(instance: &str) -> Option<String> {
    is_auto_generated_sub_orch_id(instance).then(|| {
        format!(
            "sub-orchestration instance id '{instance}' starts with the reserved marker \
             '{SUB_ORCH_AUTO_PREFIX}', which is kept for generated ids; choose another id"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_routing_key_is_the_id_before_the_first_generated_part() {
        assert_eq!(routing_key("order-7"), "order-7");
        assert_eq!(routing_key("order-7::sub::2"), "order-7");
        assert_eq!(routing_key("order-7::sub::2::sub::3_4"), "order-7");
        assert_eq!(routing_key("a::subway"), "a::subway");
        assert_eq!(routing_key("sub::2"), "sub::2");
        assert_eq!(routing_key(""), "");
    }

    #[test]
    fn generated_children_stay_with_their_tree() {
        let mut instance = "tenant::order-7".to_owned();
        for (execution_id, event_id) in [(1, 2), (3, 4), (1, 50)] {
            instance = build_child_instance_id(&instance, &child_suffix(execution_id, event_id));
            assert_eq!(routing_key(&instance), "tenant::order-7", "{instance}");
        }
    }

    #[test]
    fn the_marker_in_an_id_is_the_prefix_of_generated_suffixes() {
        assert_eq!(GENERATED_CHILD, format!("::{SUB_ORCH_AUTO_PREFIX}"));
    }
}
