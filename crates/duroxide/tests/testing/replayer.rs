//! Recorded histories against changed code.

use duroxide::testing::{Replayer, TestEnv};

use crate::code::{Order, PayError, buy, charge, order};

type Tested = Result<(), Box<dyn std::error::Error>>;

mod changed {
    use duroxide::prelude::*;

    use crate::code::{DAY, Order, PayError, charge};

    /// The same workflow with its steps in another order.
    #[orchestration(version = "1.0.0")]
    pub(crate) async fn buy(ctx: OrchestrationContext, order: Order) -> Result<String, PayError> {
        let charged = ctx.call(charge, order).await;
        ctx.schedule_timer(3 * DAY).await;
        charged.map_err(|_error| PayError::Down)
    }
}

async fn recorded() -> Result<String, Box<dyn std::error::Error>> {
    let env = TestEnv::builder()
        .register(buy)
        .mock(charge, |_order: Order| Err(PayError::Declined("no".to_owned())))
        .build();
    let run = env.start(buy, "o-1", order()).await?;
    assert!(env.result(&run).await.is_err());
    Ok(env.export("o-1").await?)
}

#[tokio::test]
async fn a_recorded_history_replays_in_one_line() -> Tested {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("orders.jsonl"), recorded().await?)?;
    Replayer::of(buy).assert_folder(folder.path());
    Ok(())
}

#[tokio::test]
async fn a_changed_order_of_steps_is_named() -> Tested {
    let checked = Replayer::of(changed::buy).replay(&recorded().await?)?;
    let text = checked[0].to_string();
    let (place, rest) = text.split_once(", called at ").expect("it names the line");
    assert_eq!(place, "o-1 (execution 1, buy 1.0.0): differs at event 2");
    let (file, rest) = rest.split_once('\n').expect("details follow");
    assert!(file.contains("tests/testing/replayer.rs:"), "{file}");
    assert_eq!(
        rest.lines().take(3).collect::<Vec<_>>(),
        [
            "    field:     kind",
            "    recorded:  TimerCreated { fire_at_ms: 1790259200000 }",
            "    requested: CallActivity { scheduling_event_id: 0, name: \"charge\", input: \
             \"{\\\"amount\\\":12,\\\"item\\\":\\\"book\\\"}\", session_id: None, tag: None }",
        ],
        "{rest}"
    );
    Ok(())
}
