//! Work that no live node can run is listed with the reason.

use std::collections::BTreeMap;
use std::time::Duration;

use duroxide::client::StrandedWorkQuery;
use duroxide::providers::{ListCursor, SemverRange, WorkerAnnouncement};
use duroxide::runtime::RuntimeOptions;
use duroxide::{ActivityContext, Client, ClientError, OrchestrationContext};
use semver::Version;

use crate::support::{DEFAULT_MODE, Node, activities, memory, orchestrations, within};

async fn waits(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    Ok(ctx.schedule_wait("go").await)
}

async fn mails(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let resized = ctx.schedule_activity("Resize", "").with_tag("gpu");
    let mailed = ctx.schedule_activity("Mail", "");
    let (resized, mailed) = ctx.join2(resized, mailed).await;
    resized.and(mailed)
}

async fn mail(_: ActivityContext, input: String) -> Result<String, String> {
    Ok(input)
}

/// All stranded work, read in pages of one: the reason by what waits.
async fn stranded(client: &Client) -> BTreeMap<String, String> {
    let mut query = StrandedWorkQuery::new(1);
    let mut found = BTreeMap::new();
    loop {
        let page = client.list_stranded_work(query.clone()).await.unwrap();
        assert!(page.work.len() <= 1);
        for work in page.work {
            let text = work.to_string();
            let (waits, reason) = text.split_once(": ").unwrap();
            found.insert(waits.to_owned(), reason.to_owned());
        }
        let Some(next) = page.next else { return found };
        query = query.with_after(next);
    }
}

async fn until_stranded(client: &Client, wanted: &[(&str, &str)]) {
    let wanted: BTreeMap<String, String> =
        wanted.iter().map(|(waits, reason)| ((*waits).to_owned(), (*reason).to_owned())).collect();
    let mut last = BTreeMap::new();
    let reached = tokio::time::timeout(crate::support::TIMEOUT, async {
        while last != wanted {
            tokio::time::sleep(Duration::from_millis(2)).await;
            last = stranded(client).await;
        }
    });
    if reached.await.is_err() {
        panic!("{last:#?} instead of {wanted:#?}");
    }
}

/// Only starts were listed: a turn of a running instance waited without a word.
#[tokio::test]
async fn queued_work_of_running_instances_is_listed_with_the_reason() {
    let store = memory().await;
    let only_turns = RuntimeOptions { worker_concurrency: 0, ..DEFAULT_MODE.options() };
    let registry = orchestrations().register("Order", waits).register("Mailer", mails);
    let first = Node::on(&store, only_turns, registry, activities()).await;
    first.start_instance("order", "Order", "").await;
    first.wait_for_event("order", "ExternalSubscribed").await;
    first.start_instance("mailer", "Mailer", "").await;
    let client = first.client.clone();
    let (order, resize) = (
        "'order' waits for orchestration `Order 1.0.0`",
        "'mailer' waits for \
         activity `Resize` with tag `gpu`",
    );
    let mailing = "'mailer' waits for activity `Mail`";
    let no_node = "no live node runs such work";
    until_stranded(&client, &[(resize, no_node), (mailing, no_node)]).await;
    first.stop().await;
    client.raise_event("order", "go", "").await.unwrap();
    until_stranded(&client, &[(order, no_node), (resize, no_node), (mailing, no_node)]).await;

    let registry = orchestrations().register_versioned("Order", "2.0.0", waits);
    let newer = Node::on(&store, DEFAULT_MODE.options(), registry, activities()).await;
    let version = "live nodes have registered it only in version 2.0.0";
    let (tag, missing) = ("no live node serves its tag", "no live node has registered it");
    until_stranded(&client, &[(order, version), (resize, tag), (mailing, missing)]).await;
    newer.stop().await;

    let nine = SemverRange::new(Version::new(9, 0, 0), Version::new(9, 9, 9));
    let options = DEFAULT_MODE.options().with_supported_replay_versions(nine);
    let registry = orchestrations().register("Order", waits);
    let other = Node::on(&store, options, registry, activities().register("Mail", mail)).await;
    let replays = format!("no live node replays executions of Duroxide {}", build_version());
    // The activity runs; its result waits for a turn that no node can run.
    let mailer = "'mailer' waits for orchestration `Mailer 1.0.0`";
    let wanted = [(order, replays.as_str()), (mailer, &replays), (resize, tag)];
    until_stranded(&client, &wanted).await;

    // A node that does not report which turns it runs may run them.
    let silent = WorkerAnnouncement::new("older", Duration::from_secs(3600));
    store.announce_worker(&silent).await.unwrap();
    let unknown = "a live node of an older release does not report whether it can run it";
    until_stranded(&client, &[(order, unknown), (mailer, unknown), (resize, tag)]).await;
    let page = client.list_stranded_work(StrandedWorkQuery::new(10)).await.unwrap();
    assert_eq!(page.silent_nodes, ["older"]);
    store.withdraw_worker("older").await.unwrap();

    let all = orchestrations().register("Order", waits).register("Mailer", mails);
    let able = Node::on(&store, DEFAULT_MODE.options(), all, activities()).await;
    assert_eq!(able.output("order").await, "");
    until_stranded(&client, &[(resize, tag)]).await;
    able.stop().await;
    other.stop().await;
}

fn build_version() -> String {
    duroxide::current_build_version().to_string()
}

#[tokio::test]
async fn a_cursor_of_another_list_is_refused() {
    let node = Node::start(DEFAULT_MODE, orchestrations(), activities()).await;
    let query = StrandedWorkQuery::new(1).with_after(ListCursor::new("7"));
    let refused = within(node.client.list_stranded_work(query)).await;
    assert!(matches!(refused, Err(ClientError::InvalidInput { .. })), "{refused:?}");
    node.stop().await;
}
