//! `example-subscription FOLDER COMMAND …`: the service, and what its customers and operators do.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use duroxide::prelude::*;
use duroxide::providers::InstanceQuery;
use duroxide::query::Filter;
use example_subscription::{Bank, COMMANDS, Command, Interval, Subscription, subscription};

const USAGE: &str = "\
usage: example-subscription FOLDER COMMAND
  serve                        runs the subscriptions until Ctrl-C
  start CUSTOMER PLAN [SECS]   subscribes (basic, pro), for months or for periods of SECS seconds
  plan CUSTOMER PLAN           changes the plan from the next period on
  pause | resume | cancel CUSTOMER
  card CUSTOMER good|declined  changes the card of a customer
  list [FILTER]                lists subscriptions, such as: list attr.state:past-due";

#[tokio::main]
async fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match perform(&args).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn perform(args: &[&str]) -> Result<(), Box<dyn Error>> {
    let [folder, command @ ..] = args else { return Err(USAGE.into()) };
    let folder = Path::new(folder);
    std::fs::create_dir_all(folder)?;
    let workflows = folder.join("workflows.db");
    let store = Arc::new(SqliteProvider::new(&workflows.display().to_string(), None).await?);
    let client = Client::new(store.clone());
    match command {
        ["serve"] => serve(store, folder).await?,
        ["start", customer, plan] => {
            start(&client, Subscription::new(*customer, plan.parse()?, Interval::Month)).await?;
        }
        ["start", customer, plan, seconds] => {
            let interval = Interval::Seconds(seconds.parse()?);
            start(&client, Subscription::new(*customer, plan.parse()?, interval)).await?;
        }
        ["plan", customer, plan] => {
            send(&client, customer, Command::ChangePlan(plan.parse()?)).await?;
        }
        ["pause", customer] => send(&client, customer, Command::Pause).await?,
        ["resume", customer] => send(&client, customer, Command::Resume).await?,
        ["cancel", customer] => send(&client, customer, Command::Cancel).await?,
        ["card", customer, card] => Bank::new(folder).set_card(customer, *card == "good")?,
        ["list"] => list(&client, "").await?,
        ["list", filter] => list(&client, filter).await?,
        _ => return Err(USAGE.into()),
    }
    Ok(())
}

async fn serve(store: Arc<SqliteProvider>, folder: &Path) -> Result<(), Box<dyn Error>> {
    let runtime = DuroxideRuntime::builder()
        .with_provider(store)
        .register(subscription)
        .register_state(Bank::new(folder))
        .build()
        .await?;
    println!("serving subscriptions in {}", folder.display());
    tokio::signal::ctrl_c().await?;
    runtime.shutdown(None).await;
    Ok(())
}

async fn start(client: &Client, new: Subscription) -> Result<(), ClientError> {
    // A customer has one subscription: the id makes a second start harmless.
    let instance = client.start(subscription, new.instance_id(), new).await?;
    println!("{} is subscribed", instance.instance_id());
    Ok(())
}

async fn send(client: &Client, customer: &str, command: Command) -> Result<(), ClientError> {
    client.attach(subscription, Subscription::id_of(customer)).enqueue(COMMANDS, command).await
}

async fn list(client: &Client, filter: &str) -> Result<(), ClientError> {
    let mut query = InstanceQuery::new(Filter::parse(filter)?);
    loop {
        let page = client.query_instances(query.clone()).await?;
        for row in &page.rows {
            let attribute = |name| row.attributes.get(name).map(ToString::to_string);
            let [plan, state, until] =
                ["plan", "state", "until"].map(|name| attribute(name).unwrap_or_default());
            println!("{} {plan} {state} {until} ({} periods)", row.instance_id, row.executions);
        }
        let Some(next) = page.next else { return Ok(()) };
        query = query.with_after(next);
    }
}
