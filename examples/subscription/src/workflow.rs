//! The life of a subscription: bill, wait, renew.

use std::time::{SystemTime, UNIX_EPOCH};

use duroxide::AttributeValue;
use duroxide::prelude::*;
use serde::{Deserialize, Serialize};

use crate::bank::{Bank, Bill, PayError};
use crate::period::Interval;
use crate::plan::Plan;

/// Days between the attempts to collect a bill. After the last one the subscription ends.
const DUNNING_DAYS: [u32; 3] = [1, 3, 7];

/// What a customer asks for. A queue keeps every message, also while the service is down.
pub const COMMANDS: Queue<Command> = Queue::new("commands");

/// What a customer asks for. All take effect when the paid period ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// Another plan.
    ChangePlan(Plan),
    /// No further period until `Resume`.
    Pause,
    /// Takes `Pause` or `Cancel` back, or ends a pause.
    Resume,
    /// No further period.
    Cancel,
}

/// A subscription at the beginning of a period.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Subscription {
    customer: String,
    plan: Plan,
    interval: Interval,
    /// When the first period since the last pause began.
    since: Option<SystemTime>,
    /// Periods since then.
    periods: u32,
    /// What follows this period.
    next: Next,
    next_plan: Plan,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Next {
    Renew,
    Pause,
    Cancel,
}

/// How a subscription ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Ending {
    /// The customer cancelled it.
    Cancelled,
    /// The last bill was not paid.
    Unpaid,
}

impl Subscription {
    /// A new subscription.
    pub fn new(customer: impl Into<String>, plan: Plan, interval: Interval) -> Self {
        let (customer, next) = (customer.into(), Next::Renew);
        Self { customer, plan, interval, since: None, periods: 0, next, next_plan: plan }
    }

    /// The id of the subscription of a customer.
    pub fn id_of(customer: &str) -> String {
        format!("subscription-{customer}")
    }

    /// The id of this subscription.
    pub fn instance_id(&self) -> String {
        Self::id_of(&self.customer)
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::ChangePlan(plan) => self.next_plan = plan,
            Command::Pause => self.next = Next::Pause,
            Command::Resume => self.next = Next::Renew,
            Command::Cancel => self.next = Next::Cancel,
        }
    }

    /// What operators see and search for.
    fn show(&self, ctx: &OrchestrationContext, state: &str, until: Option<SystemTime>) {
        ctx.set_attribute("plan", self.plan.to_string());
        ctx.set_attribute("state", state);
        match until.and_then(|until| until.duration_since(UNIX_EPOCH).ok()) {
            Some(until) => {
                let millis = u64::try_from(until.as_millis()).unwrap_or(u64::MAX);
                ctx.set_attribute("until", AttributeValue::Time(millis));
            }
            None => ctx.clear_attribute("until"),
        }
    }
}

/// One period of a subscription; the next one is the next execution.
#[orchestration(calls(Bank::charge, Bank::remind))]
pub async fn subscription(
    ctx: OrchestrationContext,
    mut sub: Subscription,
) -> Result<Ending, String> {
    let now = ctx.utc_now().await?;
    let since = *sub.since.get_or_insert(now);
    if !collect(&ctx, &mut sub, since).await? {
        sub.show(&ctx, "ended", None);
        let is_cancelled = sub.next == Next::Cancel;
        return Ok(if is_cancelled { Ending::Cancelled } else { Ending::Unpaid });
    }
    let end = sub.interval.after(since, sub.periods + 1);
    sub.show(&ctx, "active", Some(end));
    let left = end.duration_since(ctx.utc_now().await?).unwrap_or_default();
    let mut timer = ctx.schedule_timer(left);
    while let Some(command) = command_before(&ctx, &mut timer).await {
        sub.obey(command);
    }
    sub.periods += 1;
    if sub.next == Next::Pause {
        sub.show(&ctx, "paused", None);
        while sub.next == Next::Pause {
            sub.obey(command(&ctx).await);
        }
        // The periods begin anew on the day of the resumption.
        (sub.since, sub.periods) = (None, 0);
    }
    if sub.next == Next::Cancel {
        sub.show(&ctx, "ended", None);
        return Ok(Ending::Cancelled);
    }
    sub.plan = sub.next_plan;
    ctx.continue_as(subscription, sub).await
}

/// Charges the period. If that fails, it reminds the customer and attempts it again for some days.
/// Returns whether the period is paid.
async fn collect(
    ctx: &OrchestrationContext,
    sub: &mut Subscription,
    since: SystemTime,
) -> Result<bool, String> {
    let start = sub.interval.after(since, sub.periods).duration_since(UNIX_EPOCH);
    let key = format!("{}-{}", sub.customer, start.unwrap_or_default().as_secs());
    let bill = Bill { customer: sub.customer.clone(), key, cents: sub.plan.cents() };
    for days in DUNNING_DAYS {
        match ctx.call(Bank::charge, &bill).await {
            Ok(()) => return Ok(true),
            Err(CallError::App(PayError::Declined)) => {
                ctx.call(Bank::remind, &bill).await?;
            }
            Err(error) => ctx.trace_warn(format!("{} is not charged: {error}", sub.customer)),
        }
        sub.show(ctx, "past-due", None);
        let mut timer = ctx.schedule_timer(sub.interval.day() * days);
        while let Some(command) = command_before(ctx, &mut timer).await {
            sub.obey(command);
            // Nothing is paid, so there is no period whose end could be waited for.
            if sub.next == Next::Cancel {
                return Ok(false);
            }
        }
    }
    Ok(ctx.call(Bank::charge, &bill).await.is_ok())
}

/// The next command, unless the timer fires first.
async fn command_before(
    ctx: &OrchestrationContext,
    timer: &mut DurableFuture<()>,
) -> Option<Command> {
    duroxide::select! {
        () = timer => None,
        command = command(ctx) => Some(command)
    }
}

/// The next command.
async fn command(ctx: &OrchestrationContext) -> Command {
    loop {
        match ctx.receive(COMMANDS).await {
            Ok(command) => return command,
            Err(error) => ctx.trace_warn(format!("a message is ignored: {error}")),
        }
    }
}
