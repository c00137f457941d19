//! Mocks: of functions and of methods, sequences, calls that take time, calls that never end.

use duroxide::prelude::*;
use duroxide::testing::TestEnv;

use crate::code::{DAY, Order, PayError, buy, charge, fan_out, notify, order};

type Tested = Result<(), Box<dyn std::error::Error>>;

#[orchestration]
async fn patient(ctx: OrchestrationContext, order: Order) -> Result<String, String> {
    match ctx.timeout(DAY, ctx.call(charge, order)).await {
        Ok(charged) => charged.map_err(|error| error.to_string()),
        Err(elapsed) => Err(elapsed.to_string()),
    }
}

struct Bank {
    open: bool,
}

#[activity]
impl Bank {
    async fn deposit(&self, _ctx: ActivityContext, cents: u32) -> Result<u32, String> {
        if self.open { Ok(cents) } else { Err("closed".to_owned()) }
    }

    async fn greet(&self, _ctx: ActivityContext) -> Result<String, String> {
        Ok("good morning".to_owned())
    }
}

#[orchestration]
async fn save(ctx: OrchestrationContext, cents: u32) -> Result<String, String> {
    let greeting = ctx.call(Bank::greet, ()).await?;
    Ok(format!("{greeting}, {} saved", ctx.call(Bank::deposit, cents).await?))
}

#[tokio::test]
async fn methods_of_a_state_are_real_unless_they_are_mocked() -> Tested {
    let builder = || TestEnv::builder().register(save).register_state(Bank { open: false });
    let env = builder().build();
    let run = env.start(save, "s-1", 5).await?;
    assert_eq!(env.result(&run).await, Err(CallError::App("closed".to_owned())));
    let env = builder().mock(Bank::deposit, |cents: u32| Ok(cents + 1)).build();
    let run = env.start(save, "s-1", 5).await?;
    assert_eq!(env.result(&run).await?, "good morning, 6 saved");
    Ok(())
}

#[tokio::test]
async fn a_sequence_answers_one_call_after_the_other() -> Tested {
    let answers = [Err(PayError::Down), Ok("paid".to_owned())];
    let env = TestEnv::builder().register(buy).mock_sequence(charge, answers).build();
    let first = env.start(buy, "o-1", order()).await?;
    assert_eq!(env.result(&first).await, Err(CallError::App(PayError::Down)));
    let second = env.start(buy, "o-2", order()).await?;
    assert_eq!(env.result(&second).await?, "paid");
    let third = env.start(buy, "o-3", order()).await?;
    assert_eq!(env.result(&third).await, Err(CallError::App(PayError::Down)));
    let history = env.history(&third).await?;
    assert!(history.contains("the mock of 'charge' has no more than 2 answers"), "{history}");
    assert_eq!(env.calls(charge)?.len(), 3);
    Ok(())
}

#[tokio::test]
async fn a_call_that_takes_time_races_timers() -> Tested {
    let answer = |_order: Order| Ok("paid".to_owned());
    let env = TestEnv::builder().register(patient).mock_taking(charge, DAY / 2, answer).build();
    let run = env.start(patient, "o-1", order()).await?;
    assert_eq!(env.result(&run).await?, "paid");
    assert_eq!(env.elapsed(), DAY / 2);

    let env = TestEnv::builder().register(patient).mock_taking(charge, 2 * DAY, answer).build();
    let run = env.start(patient, "o-1", order()).await?;
    let late = CallError::App("not completed within 86400s".to_owned());
    assert_eq!(env.result(&run).await, Err(late));
    assert_eq!(env.elapsed(), DAY);
    Ok(())
}

#[tokio::test]
async fn a_call_that_never_ends_does_not_stop_the_clock() -> Tested {
    let env = TestEnv::builder().register(patient).mock_pending(charge).build();
    let run = env.start(patient, "o-1", order()).await?;
    let late = CallError::App("not completed within 86400s".to_owned());
    assert_eq!(env.result(&run).await, Err(late));
    let history = env.history(&run).await?;
    assert!(history.contains("cancel: dropped_future"), "{history}");
    Ok(())
}

#[tokio::test]
async fn a_mock_replaces_the_registered_activity() -> Tested {
    let env = TestEnv::builder()
        .register(fan_out)
        .register(notify)
        .mock(notify, |text: String| Ok(10 * text.len()))
        .build();
    let names = ["a", "bb", "ccc"].map(str::to_owned).to_vec();
    let run = env.start(fan_out, "f-1", names).await?;
    assert_eq!(env.result(&run).await?, 60);
    Ok(())
}
