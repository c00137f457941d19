//! Parents and children.

use duroxide::OrchestrationContext;
use duroxide::client::{ExportRequest, ExportSelection};
use duroxide::query::Filter;
use duroxide::runtime::OrchestrationRegistry;
use duroxide::transfer::ImportOptions;

use crate::support::{
    Store, client, import, node, output, postgres, sqlite, try_export, try_import,
};

fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("Parent", |ctx: OrchestrationContext, _: String| async move {
            let one = ctx.schedule_sub_orchestration_with_id("Child", "z-child", "1");
            let two = ctx.schedule_sub_orchestration_with_id("Child", "a-child", "2");
            let (one, two) = ctx.join2(one, two).await;
            Ok(format!("{}{}", one?, two?))
        })
        .register("Child", |_: OrchestrationContext, input: String| async move { Ok(input) })
        .build()
}

async fn family() -> Store {
    let store = sqlite().await;
    let runtime = node(&store, orchestrations(), false).await;
    client(&store).start_orchestration("m-parent", "Parent", "").await.unwrap();
    assert_eq!(output(&client(&store), "m-parent").await, "12");
    runtime.shutdown(None).await;
    store
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tree_comes_whole_whichever_of_it_is_selected() {
    let store = family().await;
    for id in ["m-parent", "a-child"] {
        let (file, report) = try_export(&store, ExportRequest::of(id).with_trees()).await.unwrap();
        assert_eq!((report.instances, report.missing_children.len()), (3, 0), "{id}");
        let target = postgres(&format!("tree_{}", id.len())).await;
        import(&target, &file).await;
        let tree = client(&target).get_instance_tree("m-parent").await.unwrap();
        assert_eq!(tree.all_ids.len(), 3);
    }
    let all = ExportSelection::Filter(Filter::all());
    let (_, report) = try_export(&store, ExportRequest::new(all).with_trees()).await.unwrap();
    assert_eq!(report.instances, 3, "a tree is written once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_left_of_a_family_is_reported() {
    let store = family().await;
    let (_, report) = try_export(&store, ExportRequest::of("m-parent")).await.unwrap();
    assert_eq!(report.missing_children, ["a-child", "z-child"]);
    let (file, report) = try_export(&store, ExportRequest::of("a-child")).await.unwrap();
    assert!(report.missing_children.is_empty());
    let target = sqlite().await;
    let imported = try_import(&target, &file, ImportOptions::default().verifying()).await.unwrap();
    assert_eq!((imported.without_parent, imported.different), (1, 0));
    // Listed in any order, parents come first.
    let ids = ["z-child", "a-child", "m-parent"].map(str::to_owned).to_vec();
    let request = ExportRequest::new(ExportSelection::Ids(ids));
    let (file, report) = try_export(&store, request).await.unwrap();
    assert_eq!((report.instances, report.missing_children.len()), (3, 0));
    let target = sqlite().await;
    assert_eq!(import(&target, &file).await.without_parent, 0);
}
