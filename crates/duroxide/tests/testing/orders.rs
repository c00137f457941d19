//! Other orders of completions and messages.

use std::collections::BTreeSet;

use duroxide::prelude::*;
use duroxide::testing::TestEnv;

use crate::code::notify;

/// Which of three calls completes first, second, third, and when an event comes between them.
#[orchestration]
async fn race(ctx: OrchestrationContext) -> Result<String, String> {
    let order = std::sync::Mutex::new(String::new());
    let call = |name: &'static str| {
        let (ctx, order) = (&ctx, &order);
        async move {
            let called = ctx.call(notify, name.to_owned()).await;
            order.lock().map_err(|error| error.to_string())?.push_str(name);
            called.map_err(|error| error.to_string())
        }
    };
    let event = async {
        let data = ctx.schedule_wait("go").await;
        order.lock().map_err(|error| error.to_string())?.push_str(&data);
        Ok::<_, String>(0)
    };
    let (a, b, c, e) = duroxide::join!(call("a"), call("b"), call("c"), event);
    a.and(b).and(c).and(e)?;
    let order = order.lock().map_err(|error| error.to_string())?.clone();
    Ok(order)
}

async fn run(env: TestEnv) -> String {
    let run = env.start(race, "r-1", ()).await.unwrap();
    env.raise_named("r-1", "go", "e").await.unwrap();
    env.result(&run).await.unwrap()
}

fn builder() -> duroxide::testing::TestEnvBuilder {
    TestEnv::builder().register(race).mock(notify, |text: String| Ok(text.len()))
}

#[tokio::test]
async fn seeds_permute_completions_and_messages_and_repeat() {
    let found = builder().orders(0..40, run).await;
    let distinct: BTreeSet<&String> = found.iter().collect();
    assert!(distinct.len() > 6, "{distinct:?}");
    for order in &found {
        let mut letters: Vec<char> = order.chars().collect();
        letters.sort_unstable();
        assert_eq!(letters, ['a', 'b', 'c', 'e']);
    }
    assert_eq!(builder().orders(0..40, run).await, found);
}
