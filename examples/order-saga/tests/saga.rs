//! What happens to an order, on a clock that skips.

use duroxide::prelude::*;
use duroxide::testing::{TestEnv, TestEnvBuilder};
use example_order_saga::shop::{
    Parcel, PayError, Payment, Reservation, ShipError, Shop, StockError,
};
use example_order_saga::workflow::{Order, OrderError, fulfil};

type Tested = Result<(), Box<dyn std::error::Error>>;

const HOUR: Duration = Duration::from_secs(3600);

fn chair() -> Order {
    let [item, card, city] = ["chair", "4711", "Lisbon"].map(str::to_owned);
    Order { item, cents: 12_000, card, city, packing_seconds: HOUR.as_secs() }
}

/// A shop in which everything works. A test replaces what fails.
fn shop() -> TestEnvBuilder {
    TestEnv::builder()
        .register(fulfil)
        .mock(Shop::reserve, |order: Order| Ok(Reservation(order.item)))
        .mock(Shop::release, |_reservation: Reservation| Ok(()))
        .mock(Shop::charge, |order: Order| Ok(Payment(order.cents.to_string())))
        .mock(Shop::refund, |_payment: Payment| Ok(()))
        .mock(Shop::ship, |order: Order| Ok(Parcel { tracking: order.city }))
}

/// The names of the steps in the history, in order.
fn steps(history: &str) -> Vec<String> {
    let calls = history.lines().filter_map(|line| line.split_once(" activity "));
    calls.filter_map(|(_, call)| call.split('(').next()).map(str::to_owned).collect()
}

#[tokio::test]
async fn an_order_is_reserved_charged_packed_and_shipped() -> Tested {
    let env = shop().build();
    let run = env.start(fulfil, "o-1", chair()).await?;
    assert_eq!(env.result(&run).await?, Parcel { tracking: "Lisbon".to_owned() });
    assert_eq!(env.elapsed(), HOUR);
    assert_eq!(steps(&env.history(&run).await?), ["reserve", "charge", "ship"]);
    Ok(())
}

#[tokio::test]
async fn a_sold_out_article_leaves_nothing_to_undo() -> Tested {
    let sold_out = || StockError::SoldOut { item: "chair".to_owned() };
    let env = shop().mock(Shop::reserve, move |_order: Order| Err(sold_out())).build();
    let run = env.start(fulfil, "o-1", chair()).await?;
    let error = OrderError::Stock(CallError::App(sold_out()));
    assert_eq!(env.result(&run).await, Err(CallError::App(error)));
    assert_eq!(steps(&env.history(&run).await?), ["reserve"]);
    Ok(())
}

#[tokio::test]
async fn a_declined_card_releases_the_goods_and_is_not_attempted_again() -> Tested {
    let declined = || PayError::Declined { card: "4711".to_owned() };
    let env = shop().mock(Shop::charge, move |_order: Order| Err(declined())).build();
    let run = env.start(fulfil, "o-1", chair()).await?;
    let error = OrderError::Payment(CallError::App(declined()));
    assert_eq!(env.result(&run).await, Err(CallError::App(error)));
    assert_eq!(steps(&env.history(&run).await?), ["reserve", "charge", "release"]);
    assert_eq!(env.elapsed(), Duration::ZERO);
    Ok(())
}

#[tokio::test]
async fn without_a_carrier_the_money_is_returned_first_and_then_the_goods() -> Tested {
    let no_carrier = || ShipError::NoCarrier { city: "Lisbon".to_owned() };
    let env = shop().mock(Shop::ship, move |_order: Order| Err(no_carrier())).build();
    let run = env.start(fulfil, "o-1", chair()).await?;
    let error = OrderError::Shipping(CallError::App(no_carrier()));
    assert_eq!(env.result(&run).await, Err(CallError::App(error)));
    let expected = ["reserve", "charge", "ship", "refund", "release"];
    assert_eq!(steps(&env.history(&run).await?), expected);
    assert_eq!(env.calls(Shop::refund)?, [Payment("12000".to_owned())]);
    Ok(())
}

#[tokio::test]
async fn a_bank_that_is_down_for_a_moment_delays_the_order() -> Tested {
    let down = || Err(PayError::Down("busy".to_owned()));
    let answers = [down(), down(), Ok(Payment("late".to_owned()))];
    let env = shop().mock_sequence(Shop::charge, answers).build();
    let run = env.start(fulfil, "o-1", chair()).await?;
    assert_eq!(env.result(&run).await?.tracking, "Lisbon");
    assert_eq!(env.calls(Shop::charge)?.len(), 3);
    Ok(())
}

#[tokio::test]
async fn an_order_that_is_withdrawn_while_it_is_packed_is_undone() -> Tested {
    let env = shop().build();
    let run = env.start(fulfil, "o-1", chair()).await?;
    env.advance(HOUR / 2).await?;
    run.request_cancellation("too late", HOUR).await?;
    let error = OrderError::Withdrawn { reason: "too late".to_owned() };
    assert_eq!(env.result(&run).await, Err(CallError::App(error)));
    assert_eq!(env.elapsed(), HOUR / 2);
    let expected = ["reserve", "charge", "refund", "release"];
    assert_eq!(steps(&env.history(&run).await?), expected);
    Ok(())
}

#[tokio::test]
async fn a_withdrawal_during_a_step_waits_for_its_end() -> Tested {
    let reserve = |order: Order| Ok(Reservation(order.item));
    let env = shop().mock_taking(Shop::reserve, Duration::from_secs(10), reserve).build();
    let run = env.start(fulfil, "o-1", chair()).await?;
    env.advance(Duration::from_secs(5)).await?;
    run.request_cancellation("changed my mind", HOUR).await?;
    let error = OrderError::Withdrawn { reason: "changed my mind".to_owned() };
    assert_eq!(env.result(&run).await, Err(CallError::App(error)));
    assert_eq!(env.elapsed(), Duration::from_secs(10));
    assert_eq!(steps(&env.history(&run).await?), ["reserve", "release"]);
    Ok(())
}

/// Result and steps of one order, for comparison.
async fn outcome(env: &TestEnv, withdrawn: bool) -> Result<(String, Vec<String>), String> {
    let run = env.start(fulfil, "o-1", chair()).await.map_err(|error| error.to_string())?;
    if withdrawn {
        env.advance(HOUR / 2).await.map_err(|error| error.to_string())?;
        run.request_cancellation("no", HOUR).await.map_err(|error| error.to_string())?;
    }
    let result = format!("{:?}", env.result(&run).await);
    let history = env.history(&run).await.map_err(|error| error.to_string())?;
    Ok((result, steps(&history)))
}

#[tokio::test]
async fn a_shipped_order_survives_a_crash_at_every_commit() {
    let report =
        shop().crash_at_every_commit(|env| async move { outcome(&env, false).await }).await;
    assert!(report.commits >= 7, "{report:?}");
}

#[tokio::test]
async fn a_withdrawn_order_survives_a_crash_at_every_commit() {
    let report = shop().crash_at_every_commit(|env| async move { outcome(&env, true).await }).await;
    assert!(report.commits >= 8, "{report:?}");
}

#[tokio::test]
async fn an_order_that_no_carrier_takes_survives_a_crash_at_every_commit() {
    let no_carrier = |_order: Order| Err(ShipError::NoCarrier { city: "Atlantis".to_owned() });
    let shop = shop().mock(Shop::ship, no_carrier);
    let report = shop.crash_at_every_commit(|env| async move { outcome(&env, false).await }).await;
    assert!(report.commits >= 9, "{report:?}");
}
