//! The service: `serve` runs the workflows, the other commands talk to them through the store.

use std::error::Error;

use duroxide::prelude::*;
use {{crate_name}}::{CONFIRMED, Mailer, welcome};

const STORE: &str = "sqlite:workflows.db";
const OUTBOX: &str = "outbox.txt";
/// How long running activities may take to end when the service stops.
const GRACE_MS: u64 = 10_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let store = Arc::new(SqliteProvider::new(STORE, None).await?);
    let client = Client::new(store.clone());
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        [] | ["serve"] => serve(store).await,
        ["start", address] => {
            // The id makes a second start harmless.
            let welcome = client.start(welcome, id(address), *address).await?;
            println!("{} started", welcome.instance_id());
            Ok(())
        }
        ["confirm", address] => {
            let welcome = client.attach(welcome, id(address));
            welcome.raise(CONFIRMED, ()).await?;
            println!("{:?}", welcome.result().await?);
            Ok(())
        }
        _ => Err("commands are serve, start ADDRESS, confirm ADDRESS".into()),
    }
}

fn id(address: &str) -> String {
    format!("welcome-{address}")
}

async fn serve(store: Arc<SqliteProvider>) -> Result<(), Box<dyn Error>> {
    let runtime = DuroxideRuntime::builder()
        .with_provider(store)
        .register(welcome)
        .register_state(Mailer {
            outbox: OUTBOX.into(),
        })
        .build()
        .await?;
    println!("serving; workflows are in {STORE}, mails in {OUTBOX}");
    stopped().await?;
    println!("stopping");
    runtime.shutdown(Some(GRACE_MS)).await;
    Ok(())
}

/// Waits for Ctrl-C or, where there is one, SIGTERM.
async fn stopped() -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix;
        let mut terminate = unix::signal(unix::SignalKind::terminate())?;
        duroxide::select! {
            pressed = tokio::signal::ctrl_c() => pressed,
            _terminated = terminate.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}
