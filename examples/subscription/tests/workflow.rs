//! Subscriptions in memory: years pass in milliseconds.

use std::sync::atomic::{AtomicBool, Ordering};

use duroxide::prelude::*;
use duroxide::providers::InstanceQuery;
use duroxide::query::Filter;
use duroxide::testing::{TestEnv, TestEnvBuilder};
use example_subscription::{
    Bank, Bill, COMMANDS, Command, Ending, Interval, PayError, Plan, Subscription, subscription,
};

type Tested = Result<(), Box<dyn std::error::Error>>;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const ID: &str = "subscription-ada";

fn builder() -> TestEnvBuilder {
    TestEnv::builder().register(subscription).mock(Bank::remind, |_bill: Bill| Ok(()))
}

fn paying() -> TestEnvBuilder {
    builder().mock(Bank::charge, |_bill: Bill| Ok(()))
}

fn ada() -> Subscription {
    Subscription::new("ada", Plan::Basic, Interval::Month)
}

/// The attribute `state` of the subscription.
async fn state(env: &TestEnv) -> String {
    let row = env.client().get_instance_row(ID).await.unwrap().unwrap();
    row.attributes.get("state").map(ToString::to_string).unwrap_or_default()
}

fn charged(env: &TestEnv) -> Vec<u32> {
    env.calls(Bank::charge).unwrap().iter().map(|bill| bill.cents).collect()
}

#[tokio::test]
async fn ten_years_are_120_payments() -> Tested {
    let env = paying().build();
    let run = env.start(subscription, ID, ada()).await?;
    // The clock of tests starts in 2026; 2028, 2032 and 2036 have a day more.
    env.advance(DAY * (3650 + 3) - DAY / 2).await?;
    assert_eq!(charged(&env), [900; 120]);
    let mut keys: Vec<String> = env.calls(Bank::charge)?.into_iter().map(|bill| bill.key).collect();
    keys.dedup();
    assert_eq!(keys.len(), 120, "each period has a key of its own");
    let row = env.client().get_instance_row(ID).await?.ok_or("the instance is stored")?;
    assert_eq!(row.executions, 120);
    let history = env.client().read_execution_history(ID, 120).await?;
    assert!(history.len() < 20, "{} events after ten years", history.len());

    env.enqueue(&run, COMMANDS, Command::Cancel).await?;
    assert_eq!(env.result(&run).await?, Ending::Cancelled);
    assert_eq!(charged(&env).len(), 120);
    Ok(())
}

#[tokio::test]
async fn commands_take_effect_when_the_period_ends() -> Tested {
    let env = paying().build();
    let run = env.start(subscription, ID, ada()).await?;
    env.advance(DAY).await?;
    env.enqueue(&run, COMMANDS, Command::ChangePlan(Plan::Pro)).await?;
    env.advance(DAY).await?;
    assert_eq!(charged(&env), [900]);
    env.advance(DAY * 30).await?;
    assert_eq!(charged(&env), [900, 2900]);
    // Taken back before it counts.
    env.enqueue(&run, COMMANDS, Command::Cancel).await?;
    env.enqueue(&run, COMMANDS, Command::Resume).await?;
    env.advance(DAY * 30).await?;
    assert_eq!(charged(&env), [900, 2900, 2900]);
    Ok(())
}

#[tokio::test]
async fn a_pause_costs_nothing_and_a_resumption_starts_a_period() -> Tested {
    let env = paying().build();
    let run = env.start(subscription, ID, ada()).await?;
    env.until_idle().await?;
    assert_eq!(state(&env).await, "active");
    env.enqueue(&run, COMMANDS, Command::Pause).await?;
    env.advance(DAY * 365).await?;
    assert_eq!((state(&env).await.as_str(), charged(&env).len()), ("paused", 1));
    env.enqueue(&run, COMMANDS, Command::Resume).await?;
    env.until_idle().await?;
    assert_eq!((state(&env).await.as_str(), charged(&env).len()), ("active", 2));
    env.advance(DAY * 27).await?;
    assert_eq!(charged(&env).len(), 2, "the new period is a whole month");
    env.enqueue(&run, COMMANDS, Command::Pause).await?;
    env.enqueue(&run, COMMANDS, Command::Cancel).await?;
    assert_eq!(env.result(&run).await?, Ending::Cancelled);
    Ok(())
}

#[tokio::test]
async fn a_declined_card_is_reminded_and_the_period_keeps_its_end() -> Tested {
    let declined = || Err(PayError::Declined);
    let answers = [declined(), declined(), Ok(()), Ok(())];
    let env = builder().mock_sequence(Bank::charge, answers).build();
    let _run = env.start(subscription, ID, ada()).await?;
    env.advance(DAY * 3).await?;
    assert_eq!(state(&env).await, "past-due");
    let filter = Filter::parse("attr.state:past-due attr.plan:basic")?;
    let page = env.client().query_instances(InstanceQuery::new(filter)).await?;
    assert_eq!(page.rows.len(), 1, "an operator finds it");
    env.advance(DAY).await?;
    assert_eq!(state(&env).await, "active");
    assert_eq!(env.calls(Bank::remind)?.len(), 2);
    // The four days of dunning do not move the next payment.
    env.advance(DAY * 27).await?;
    assert_eq!(charged(&env).len(), 4);
    Ok(())
}

#[tokio::test]
async fn a_bill_that_stays_unpaid_ends_the_subscription() -> Tested {
    let env = builder().mock(Bank::charge, |_bill: Bill| Err(PayError::Declined)).build();
    let run = env.start(subscription, ID, ada()).await?;
    assert_eq!(env.result(&run).await?, Ending::Unpaid);
    assert_eq!(env.elapsed(), DAY * (1 + 3 + 7));
    assert_eq!((charged(&env).len(), env.calls(Bank::remind)?.len()), (4, 3));
    assert_eq!(state(&env).await, "ended");
    Ok(())
}

#[tokio::test]
async fn a_cancellation_while_past_due_counts_at_once() -> Tested {
    let env = builder().mock(Bank::charge, |_bill: Bill| Err(PayError::Declined)).build();
    let run = env.start(subscription, ID, ada()).await?;
    env.until_idle().await?;
    env.enqueue(&run, COMMANDS, Command::Cancel).await?;
    assert_eq!(env.result(&run).await?, Ending::Cancelled);
    assert_eq!(env.elapsed(), Duration::ZERO);
    Ok(())
}

#[tokio::test]
async fn a_bank_that_is_down_is_asked_again_without_a_letter() -> Tested {
    let is_down = Arc::new(AtomicBool::new(true));
    let down = Arc::clone(&is_down);
    let charge = move |_bill: Bill| match down.load(Ordering::SeqCst) {
        true => Err(PayError::NoAnswer("maintenance".to_owned())),
        false => Ok(()),
    };
    let env = builder().mock(Bank::charge, charge).build();
    let _run = env.start(subscription, ID, ada()).await?;
    env.advance(DAY / 2).await?;
    assert_eq!((state(&env).await.as_str(), charged(&env).len()), ("past-due", 5));
    is_down.store(false, Ordering::SeqCst);
    env.advance(DAY).await?;
    assert_eq!((state(&env).await.as_str(), charged(&env).len()), ("active", 6));
    assert_eq!(env.calls(Bank::remind)?.len(), 0);
    Ok(())
}

#[tokio::test]
async fn a_message_that_is_no_command_is_ignored() -> Tested {
    let env = paying().build();
    let run = env.start(subscription, ID, ada()).await?;
    env.until_idle().await?;
    env.client().enqueue_event(ID, COMMANDS.name(), "stop it").await?;
    env.enqueue(&run, COMMANDS, Command::Cancel).await?;
    assert_eq!(env.result(&run).await?, Ending::Cancelled);
    Ok(())
}

#[tokio::test]
async fn a_crash_at_any_commit_changes_nothing() {
    // The first period is paid; the second one, of another plan, is not.
    let charge = |bill: Bill| match bill.cents == Plan::Basic.cents() {
        true => Ok(()),
        false => Err(PayError::Declined),
    };
    let test = |env: TestEnv| async move {
        let run = env.start(subscription, ID, ada()).await.map_err(|error| error.to_string())?;
        let change = env.enqueue(&run, COMMANDS, Command::ChangePlan(Plan::Pro)).await;
        change.map_err(|error| error.to_string())?;
        env.result(&run).await.map_err(|error| error.to_string())
    };
    let report = builder().mock(Bank::charge, charge).crash_at_every_commit(test).await;
    assert!(report.commits >= 15, "{report:?}");
}
