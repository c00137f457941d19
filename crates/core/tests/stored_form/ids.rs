//! Instance ids: generated ids, and ids that are refused.

use duroxide_core::model::ids::{
    build_child_instance_id, child_suffix, is_auto_generated_sub_orch_id, refuse_child_id,
    refuse_root_id,
};

#[test]
fn a_generated_suffix_names_the_event_and_any_execution_after_the_first() {
    assert_eq!(child_suffix(1, 15), "sub::15");
    assert_eq!(child_suffix(2, 2), "sub::2_2");
    assert_eq!(child_suffix(10, 7), "sub::10_7");
}

#[test]
fn a_generated_child_id_extends_the_id_of_its_parent() {
    assert_eq!(build_child_instance_id("mix", &child_suffix(1, 15)), "mix::sub::15");
    assert_eq!(build_child_instance_id("w", &child_suffix(2, 2)), "w::sub::2_2");
    let child = build_child_instance_id("root", &child_suffix(1, 2));
    assert_eq!(build_child_instance_id(&child, &child_suffix(1, 2)), "root::sub::2::sub::2");
}

#[test]
fn explicit_child_ids_are_used_unchanged() {
    assert_eq!(build_child_instance_id("root", "invoice-7"), "invoice-7");
    assert_eq!(build_child_instance_id("root", "a::sub::b"), "a::sub::b");
    assert!(!is_auto_generated_sub_orch_id("a::sub::b"));
    assert!(is_auto_generated_sub_orch_id("sub::2"));
}

#[test]
fn only_a_leading_marker_is_refused_for_children() {
    let refused = refuse_child_id("sub::x").unwrap();
    let start = "sub-orchestration instance id 'sub::x' starts with the reserved marker 'sub::', \
                 which ";
    assert!(refused.starts_with(start), "{refused}");
    assert_eq!(refuse_child_id("a::sub::b"), None);
    assert_eq!(refuse_child_id(""), None);
}

#[test]
fn the_marker_is_refused_anywhere_in_a_root_id() {
    for id in ["sub::", "sub::1", "a::sub::1", "a::sub::"] {
        let refused = refuse_root_id(id).expect(id);
        assert!(refused.contains("uses the reserved sub-orchestration marker"), "{refused}");
        assert!(refused.contains(id), "{refused}");
    }
}

#[test]
fn every_other_root_id_is_allowed() {
    for id in ["", "a", "a::b", "a:sub::b", "subscription", "sub:", "SUB::1", "\u{fc} \n"] {
        assert_eq!(refuse_root_id(id), None, "{id:?}");
    }
}
