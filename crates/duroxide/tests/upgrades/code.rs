//! The code of all deployments.

use duroxide::runtime::registry::{ActivityRegistry, OrchestrationRegistryBuilder};
use duroxide::{ActivityContext, OrchestrationContext, OrchestrationRegistry};

use crate::journal::Journal;

/// What a signal says to end an instance.
pub(crate) const END: &str = "end";

type Output = Result<String, String>;

/// Every activity writes what it does, and for which order.
pub(crate) fn activities(names: &[&'static str], journal: &Journal) -> ActivityRegistry {
    let mut builder = ActivityRegistry::builder();
    for &name in names {
        let journal = journal.clone();
        builder = builder.register(name, move |_: ActivityContext, order: String| {
            journal.write(name, &order);
            async move { Ok(order) }
        });
    }
    builder.build()
}

/// What every deployment has.
pub(crate) fn common() -> OrchestrationRegistryBuilder {
    OrchestrationRegistry::builder()
        .register("Order", order_one)
        .register("Pack", pack)
        .register("Rental", rental)
        .register("Meter", meter)
}

pub(crate) fn with_order_two(common: OrchestrationRegistryBuilder) -> OrchestrationRegistryBuilder {
    common.register_versioned("Order", "2.0.0", order_two)
}

async fn order_one(ctx: OrchestrationContext, order: String) -> Output {
    ctx.schedule_activity("Charge", order.clone()).await?;
    ctx.schedule_sub_orchestration("Pack", order.clone()).await?;
    ctx.set_custom_status("1.0.0");
    let approval = ctx.schedule_wait("Approval").await;
    ctx.schedule_activity("Ship", order).await?;
    Ok(format!("{approval} 1.0.0"))
}

/// Waits by a kind of event that Duroxide 1.5.0 does not know, and calls an activity that its nodes
/// do not have.
async fn order_two(ctx: OrchestrationContext, order: String) -> Output {
    ctx.schedule_activity("Charge", order.clone()).await?;
    ctx.schedule_sub_orchestration("Pack", order.clone()).await?;
    ctx.set_custom_status("2.0.0");
    let approval = ctx.schedule_wait2("Approval", "manager").await;
    ctx.schedule_activity("Label", order.clone()).await?;
    ctx.schedule_activity("Ship", order).await?;
    Ok(format!("{approval} 2.0.0"))
}

async fn pack(ctx: OrchestrationContext, order: String) -> Output {
    ctx.schedule_activity("Box", order).await
}

/// Stays in one execution for as many rounds as there are signals.
async fn rental(ctx: OrchestrationContext, id: String) -> Output {
    let mut round = 0;
    loop {
        ctx.set_custom_status(round.to_string());
        let signal = ctx.schedule_wait("Next").await;
        ctx.schedule_activity("Round", format!("{id} {round}")).await?;
        if signal == END {
            return Ok(round.to_string());
        }
        round += 1;
    }
}

/// Each round is an execution.
async fn meter(ctx: OrchestrationContext, input: String) -> Output {
    let (id, round) = input.split_once(' ').unwrap_or((&input, "0"));
    ctx.set_custom_status(round);
    let signal = ctx.schedule_wait("Next").await;
    ctx.schedule_activity("Round", format!("{id} {round}")).await?;
    if signal == END {
        return Ok(round.to_owned());
    }
    let round: u32 = round.parse().map_err(|error| format!("{round}: {error}"))?;
    ctx.continue_as_new(format!("{id} {}", round + 1)).await
}

pub(crate) async fn parcel(ctx: OrchestrationContext, parcel: String) -> Output {
    ctx.schedule_activity("Charge", parcel.clone()).await?;
    ctx.schedule_wait("Approval").await;
    ctx.schedule_activity("Ship", parcel).await
}

/// A step added in the middle, without a version and without a patch.
pub(crate) async fn bad_parcel(ctx: OrchestrationContext, parcel: String) -> Output {
    ctx.schedule_activity("Charge", parcel.clone()).await?;
    ctx.schedule_activity("Insure", parcel.clone()).await?;
    ctx.schedule_wait("Approval").await;
    ctx.schedule_activity("Ship", parcel).await
}

/// The line of the step that `bad_parcel` adds.
pub(crate) fn line_of_the_added_step() -> u32 {
    let step = |line: &str| line.contains(r#"schedule_activity("Insure""#);
    let index = include_str!("code.rs").lines().position(step).unwrap();
    u32::try_from(index).unwrap() + 1
}

pub(crate) async fn fixed_parcel(ctx: OrchestrationContext, parcel: String) -> Output {
    ctx.schedule_activity("Charge", parcel.clone()).await?;
    if ctx.patched("insure") {
        ctx.schedule_activity("Insure", parcel.clone()).await?;
    }
    ctx.schedule_wait("Approval").await;
    ctx.schedule_activity("Ship", parcel).await
}
