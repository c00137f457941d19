//! Both styles store the same, byte for byte: names, inputs, results, errors and ids of children.

use duroxide::prelude::*;
use duroxide::testing::{Replayer, TestEnv};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Order {
    article: String,
    quantity: u32,
}

const WORDS: Queue<String> = Queue::new("words");
const NUMBER: Signal<u32> = Signal::new("number");
const DAY: Duration = Duration::from_secs(24 * 3600);

#[activity(name = "Add")]
async fn add(_ctx: ActivityContext, left: u64, right: u64) -> Result<u64, String> {
    Ok(left + right)
}

#[activity(name = "Fail")]
async fn fail(_ctx: ActivityContext, reason: String) -> Result<(), String> {
    Err(reason)
}

#[activity(name = "Ping")]
async fn ping(_ctx: ActivityContext) -> Result<String, String> {
    Ok("pong".to_owned())
}

#[orchestration(name = "Leaf")]
async fn leaf(_ctx: OrchestrationContext, order: Order) -> Result<Order, String> {
    Ok(order)
}

#[orchestration(name = "Root")]
async fn root(ctx: OrchestrationContext, order: Order) -> Result<String, String> {
    let sum = ctx.call(add, (2, 3)).with_tag("sums").await?;
    let failure = ctx.call(fail, "no").await.unwrap_err();
    let pong = ctx.call(ping, ()).await?;
    let leaf = ctx.child(leaf, &order).await?;
    ctx.schedule_timer(DAY).await;
    let (word, number) = ctx.join2(ctx.receive(WORDS), ctx.wait(NUMBER)).await;
    let text = format!("{sum} {failure} {pong} {} {} {}", leaf.quantity, word?, number?);
    ctx.call(fail, text).await?;
    Ok("unreachable".to_owned())
}

fn typed() -> (ActivityRegistry, OrchestrationRegistry) {
    let activities = ActivityRegistry::builder().register_fn(add).register_fn(fail);
    let orchestrations = OrchestrationRegistry::builder().register_fn(root).register_fn(leaf);
    (activities.register_fn(ping).build(), orchestrations.build())
}

/// The same program, written with strings.
fn untyped() -> (ActivityRegistry, OrchestrationRegistry) {
    async fn root(ctx: OrchestrationContext, order: Order) -> Result<String, String> {
        let sum = ctx.schedule_activity_typed::<_, u64>("Add", &(2, 3)).with_tag("sums").await?;
        let failure = ctx.schedule_activity("Fail", "no").await.unwrap_err();
        let pong = ctx.schedule_activity_typed::<_, String>("Ping", &()).await?;
        let leaf: Order = ctx.schedule_sub_orchestration_typed("Leaf", &order).await?;
        ctx.schedule_timer(DAY).await;
        let word = ctx.dequeue_event("words");
        let (word, number) = ctx.join2(word, ctx.schedule_wait_typed::<u32>("number")).await;
        let text = format!("{sum} {failure} {pong} {} {word} {number}", leaf.quantity);
        ctx.schedule_activity("Fail", text).await
    }
    let activities = ActivityRegistry::builder()
        .register_typed("Add", |_ctx: ActivityContext, (left, right): (u64, u64)| async move {
            Ok::<u64, String>(left + right)
        })
        .register("Fail", |_ctx: ActivityContext, reason: String| async move {
            Err::<String, String>(reason)
        })
        .register_typed("Ping", |_ctx: ActivityContext, _input: ()| async move {
            Ok::<_, String>("pong".to_owned())
        });
    let orchestrations = OrchestrationRegistry::builder()
        .register_typed("Root", root)
        .register_typed("Leaf", |_ctx: OrchestrationContext, order: Order| async move {
            Ok::<Order, String>(order)
        });
    (activities.build(), orchestrations.build())
}

/// What a run stores of the root and of its child.
async fn recorded(code: (ActivityRegistry, OrchestrationRegistry)) -> [String; 2] {
    let filter = duroxide::TagFilter::default_and(["sums"]);
    let env = TestEnv::builder()
        .activities(code.0)
        .orchestrations(code.1)
        .options(|options| options.with_worker_tag_filter(filter))
        .build();
    let order = Order { article: "chair".to_owned(), quantity: 3 };
    let run = env.start(root, "root-1", &order).await.unwrap();
    env.advance(DAY).await.unwrap();
    env.enqueue(&run, WORDS, "word").await.unwrap();
    env.raise(&run, NUMBER, 7).await.unwrap();
    let failed = env.result(&run).await.unwrap_err();
    assert_eq!(failed, CallError::App("5 no pong 3 word 7".to_owned()));
    let instances = env.client().get_instance_tree("root-1").await.unwrap().all_ids;
    let [root, child] = instances.as_slice() else { panic!("{instances:?}") };
    [env.export(root).await.unwrap(), env.export(child).await.unwrap()]
}

#[tokio::test]
async fn both_styles_store_the_same() {
    assert_eq!(recorded(typed()).await, recorded(untyped()).await);
}

#[tokio::test]
async fn each_style_replays_what_the_other_stored() {
    for (first, second) in [(typed(), untyped()), (untyped(), typed())] {
        for history in recorded(first).await {
            let replayer = Replayer::default().activities(second.0.clone());
            let checked = replayer.orchestrations(second.1.clone()).replay(&history).unwrap();
            assert_eq!(checked.len(), 1);
            assert!(checked[0].verdict.is_fine(), "{}", checked[0]);
        }
    }
}
