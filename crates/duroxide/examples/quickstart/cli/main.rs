//! The commands.

use std::process::ExitCode;

use duroxide::prelude::*;
use duroxide::providers::Provider;

use super::args::{Answer, Args, Command, StorePlace, USAGE};
use super::orders::{self, Outcome};
use super::show;
use super::workflow::{self, Shop};
use super::world::World;

/// The lease of a killed step expires after this time. Short, because a person waits; a longer
/// lease tolerates a busier machine.
const LEASE: Duration = Duration::from_millis(1500);

const USAGE_ERROR: u8 = 2;

/// Does what the arguments ask for.
pub(crate) fn main(given: impl Iterator<Item = String>) -> ExitCode {
    let args = match Args::parse(given) {
        Ok(args) => args,
        Err(wrong) => {
            eprintln!("{wrong}\n\n{USAGE}");
            return ExitCode::from(USAGE_ERROR);
        }
    };
    match perform(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn perform(args: &Args) -> Outcome<()> {
    match args.command {
        Command::Run => run(args).await,
        Command::Answer(answer) => send(args, answer).await,
        Command::Status => list(args).await,
        Command::Reset => reset(args).await,
        Command::Help => {
            print!("{USAGE}");
            Ok(())
        }
    }
}

async fn open_store(args: &Args) -> Outcome<Arc<dyn Provider>> {
    match &args.store {
        // As a bare path: in a URL, some characters of a path would have a meaning.
        StorePlace::File(path) => {
            Ok(Arc::new(SqliteProvider::new(&path.display().to_string(), None).await?))
        }
        StorePlace::Server(url) => open_server(url).await,
    }
}

#[cfg(feature = "postgres")]
async fn open_server(url: &str) -> Outcome<Arc<dyn Provider>> {
    use duroxide::providers::postgres::PostgresProvider;
    Ok(Arc::new(PostgresProvider::new_with_schema(url, "duroxide_quickstart").await?))
}

#[cfg(not(feature = "postgres"))]
async fn open_server(_url: &str) -> Outcome<Arc<dyn Provider>> {
    Err("PostgreSQL needs cargo run --features postgres --example quickstart".into())
}

async fn run(args: &Args) -> Outcome<()> {
    let store = open_store(args).await?;
    let (world, mut started) = World::open(args.effects())?;
    let client = Client::new(store.clone());
    let order = orders::open(&client).await?;

    println!("database  {}", args.store);
    println!("effects   {}", args.effects().display());
    println!("try this  kill -9 {} at any moment, then the same command again", std::process::id());
    println!();
    if order.status == OrchestrationStatus::NotFound {
        println!("{} starts", order.id);
        orders::start(&client, &order.id, args).await?;
    } else {
        println!("{} continues; an interrupted step runs again within 2 s", order.id);
    }
    if args.answer.is_none() {
        println!("to answer it: cargo run --example quickstart -- approve (or reject)");
    }

    let runtime = DuroxideRuntime::builder()
        .with_provider(store)
        .with_options(options())
        .register(workflow::order)
        .register_state(Shop { world })
        .build()
        .await?;
    let outcome = orders::follow(&client, &order.id, args, &mut started).await;
    runtime.shutdown(None).await;
    println!("{}: {}", order.id, outcome?);
    Ok(())
}

fn options() -> RuntimeOptions {
    RuntimeOptions {
        worker_lock_timeout: LEASE,
        orchestrator_lock_timeout: LEASE,
        // People kill a quickstart more often than the default number of attempts allows.
        max_attempts: 1000,
        ..RuntimeOptions::default()
    }
}

async fn send(args: &Args, answer: Answer) -> Outcome<()> {
    let client = Client::new(open_store(args).await?);
    let order = orders::open(&client).await?;
    if order.status == OrchestrationStatus::NotFound {
        return Err("no order is open: begin one with cargo run --example quickstart".into());
    }
    let instance = client.attach(workflow::order, &order.id);
    instance.raise(workflow::APPROVAL, answer.as_str()).await?;
    println!("{}: {} sent", order.id, answer.as_str());
    Ok(())
}

async fn list(args: &Args) -> Outcome<()> {
    println!("database  {}", args.store);
    let client = Client::new(open_store(args).await?);
    let mut orders = orders::all(&client).await?;
    // The last one has not started yet.
    orders.pop();
    for order in &orders {
        println!("{}: {}", order.id, show::status(&order.status));
    }
    if orders.is_empty() {
        println!("no orders yet: begin one with cargo run --example quickstart");
    }
    Ok(())
}

/// Only a database of Duroxide is removed: `--store` may name anything by mistake.
async fn refuse_foreign_file(path: &std::path::Path) -> Outcome<()> {
    if !path.exists() {
        return Ok(());
    }
    // Read-only, so that the check changes nothing.
    let url = format!("{}?mode=ro", path.display());
    match SqliteProvider::new(&url, None).await {
        Ok(store) => Ok(store.close().await?),
        Err(error) => Err(format!("{} is not removed: {error}", path.display()).into()),
    }
}

/// What processes that were killed have left beside the database.
fn files_of_killed_nodes(path: &std::path::Path) -> Vec<String> {
    let start = format!("{}-node-", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Ok(entries) = std::fs::read_dir(folder.unwrap_or(".".as_ref())) else { return Vec::new() };
    let names = entries.flatten().map(|entry| path.with_file_name(entry.file_name()));
    names.map(|name| name.display().to_string()).filter(|name| name.starts_with(&start)).collect()
}

async fn reset(args: &Args) -> Outcome<()> {
    let effects = args.effects();
    let mut files = vec![effects.display().to_string()];
    match &args.store {
        StorePlace::File(path) => {
            refuse_foreign_file(path).await?;
            files.extend(["", "-wal", "-shm"].map(|end| format!("{}{end}", path.display())));
            files.extend(files_of_killed_nodes(path));
        }
        StorePlace::Server(_) => {
            let client = Client::new(open_store(args).await?);
            let mut orders = orders::all(&client).await?;
            orders.pop();
            for order in orders {
                client.delete_instance(&order.id, true).await?;
                println!("removed {}", order.id);
            }
        }
    }
    for file in files {
        match std::fs::remove_file(&file) {
            Ok(()) => println!("removed {file}"),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("cannot remove {file}: {error}").into()),
        }
    }
    Ok(())
}
