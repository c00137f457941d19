//! Deleting and listing parents and children.

use crate::ProviderFactory;
use crate::support::{Must, Store};

/// A root with two children, the first of which has a child.
async fn family<F: ProviderFactory + ?Sized>(factory: &F) -> Store<'_, F> {
    let store = Store::open(factory).await;
    store.create("root").await;
    store.create_child("first", "root").await;
    store.create_child("second", "root").await;
    store.create_child("grandchild", "first").await;
    store
}

async fn children<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, id: &str) -> Vec<String> {
    let mut children = store.admin().list_children(id).await.must("listing children");
    children.sort();
    children
}

/// Deleting a root deletes its descendants; a descendant cannot be deleted alone.
pub async fn test_cascade_delete_hierarchy<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = family(factory).await;
    store.create("stranger").await;
    for instance in ["grandchild", "first", "second", "root"] {
        store.complete(instance, "done").await;
    }
    for (instance, force) in
        [("first", false), ("first", true), ("grandchild", false), ("grandchild", true)]
    {
        let refused = store.admin().delete_instance(instance, force).await;
        let error = refused.must_fail_for_good("deleting a sub-orchestration");
        let text = error.message.to_lowercase();
        let explains = ["sub-orchestration", "root", "parent"].iter().any(|w| text.contains(w));
        assert!(explains, "{error}");
    }
    assert_eq!(store.instances().await.len(), 5, "a refused call changes nothing");
    let deleted = store.admin().delete_instance("root", false).await.must("deleting a root");
    assert_eq!(deleted.instances_deleted, 4);
    assert_eq!((deleted.executions_deleted, deleted.events_deleted), (4, 8));
    assert_eq!(store.instances().await, ["stranger"]);
    for instance in ["root", "first", "second", "grandchild"] {
        assert_eq!(store.history(instance).await, vec![], "history of {instance}");
    }
}

/// Only a forced deletion deletes a tree with a running instance, and it deletes the whole tree.
pub async fn test_delete_refused_while_descendant_runs<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = family(factory).await;
    for instance in ["first", "second", "root"] {
        store.complete(instance, "done").await;
    }
    let refused = store.admin().delete_instance("root", false).await;
    let error = refused.must_fail_for_good("deleting a tree with a running instance");
    assert!(error.message.to_lowercase().contains("running"), "{error}");
    assert_eq!(store.instances().await.len(), 4, "a refused call changes nothing");
    assert_eq!(store.history("root").await.len(), 2, "a refused call changes nothing");
    let deleted = store.admin().delete_instance("root", true).await.must("deleting by force");
    assert_eq!(deleted.instances_deleted, 4);
    assert_eq!(store.instances().await, [""; 0]);
}

/// Direct children are listed, and only those.
pub async fn test_list_children<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = family(factory).await;
    assert_eq!(children(&store, "root").await, ["first", "second"]);
    assert_eq!(children(&store, "first").await, ["grandchild"]);
    assert_eq!(children(&store, "second").await, [""; 0]);
    assert_eq!(children(&store, "unknown").await, [""; 0], "an unknown instance has none");
}

/// A child has a parent, a root has none, and an unknown instance is an error.
pub async fn test_delete_get_parent_id<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = family(factory).await;
    for (instance, parent) in
        [("root", None), ("first", Some("root")), ("grandchild", Some("first"))]
    {
        let found = store.admin().get_parent_id(instance).await.must("reading a parent");
        assert_eq!(found.as_deref(), parent, "parent of {instance}");
    }
    // Later commits do not carry the parent; the stored one stays.
    store.continue_as_new("first").await;
    let found = store.admin().get_parent_id("first").await.must("reading a parent");
    assert_eq!(found.as_deref(), Some("root"));
    let error = store
        .admin()
        .get_parent_id("unknown")
        .await
        .must_fail("reading the parent of an unknown instance");
    assert!(error.message.contains("not found"), "{error}");
}

/// A tree starts with the requested instance and lists each descendant once.
pub async fn test_delete_get_instance_tree<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = family(factory).await;
    let tree = store.admin().get_instance_tree("root").await.must("reading a tree");
    assert_eq!((tree.root_id.as_str(), tree.all_ids[0].as_str()), ("root", "root"));
    let mut all = tree.all_ids.clone();
    all.sort();
    assert_eq!(all, ["first", "grandchild", "root", "second"]);
    assert_eq!((tree.size(), tree.is_root_only()), (4, false));
    let tree = store.admin().get_instance_tree("first").await.must("reading a tree");
    assert_eq!(tree.all_ids, ["first", "grandchild"], "without parents and siblings");
    for alone in ["second", "unknown"] {
        let tree = store.admin().get_instance_tree(alone).await.must("reading a tree");
        assert_eq!((tree.is_root_only(), tree.all_ids), (true, vec![alone.to_owned()]));
    }
}
