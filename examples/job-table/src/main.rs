//! `example-job-table FOLDER COMMAND …`: the old program, the new one, and the change-over.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use duroxide::prelude::*;
use example_job_table::{JobTable, OLD_STOPPED, Post, Worker, change_over, old_worker, run_job};

const USAGE: &str = "\
usage: example-job-table FOLDER COMMAND
  insert KIND COUNT      adds rows to the table, as the old program does
  old-worker             polls the table until Ctrl-C
  new-worker             runs workflows until Ctrl-C
  change-over KIND       begins to move the jobs of a kind to workflows
  old-stopped KIND       says that nothing polls the table or adds to it any more; waits for the end
  show KIND              counts the rows of the table, and the instances";

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
    let table = JobTable::open(&folder.join("jobs.db"))?;
    let post = Post::new(&folder.join("outbox"));
    match command {
        ["insert", kind, count] => {
            for number in 1..=count.parse()? {
                table.insert(kind, &format!("letter-{number}"), 0)?;
            }
        }
        ["old-worker"] => {
            println!("the old worker polls the table");
            tokio::select! {
                ended = old_worker(&table, &post) => ended?,
                stopped = tokio::signal::ctrl_c() => stopped?,
            }
        }
        ["new-worker"] => run_workflows(open_store(folder).await?, table, post).await?,
        ["change-over", kind] => {
            let client = Client::new(open_store(folder).await?);
            let _moving = client.start(change_over, id(kind), (kind.to_string(), false)).await?;
            println!("jobs of the kind {kind} move");
        }
        ["old-stopped", kind] => {
            let client = Client::new(open_store(folder).await?);
            let moving = client.attach(change_over, id(kind));
            moving.enqueue(OLD_STOPPED, ()).await?;
            println!("the table is drained: {:?}", moving.result().await?);
        }
        ["show", kind] => {
            println!("table      {:?}", table.count(kind)?);
            let client = Client::new(open_store(folder).await?);
            for status in ["running", "completed", "failed"] {
                let filter = format!("name:run_job id:{kind}-* status:{status}");
                let count = client.count_instances(&filter.parse()?).await?;
                println!("{status:<10} {count} instances");
            }
        }
        _ => return Err(USAGE.into()),
    }
    Ok(())
}

fn id(kind: &str) -> String {
    format!("change-over-{kind}")
}

async fn open_store(folder: &Path) -> Result<Arc<SqliteProvider>, Box<dyn Error>> {
    let workflows = folder.join("workflows.db");
    Ok(Arc::new(SqliteProvider::new(&workflows.display().to_string(), None).await?))
}

async fn run_workflows(
    store: Arc<SqliteProvider>,
    table: JobTable,
    post: Post,
) -> Result<(), Box<dyn Error>> {
    let runtime = DuroxideRuntime::builder()
        .with_provider(store)
        .register(change_over)
        .register(run_job)
        .register_state(table)
        .register_state(Worker::new(post))
        .build()
        .await?;
    println!("workflows run");
    tokio::signal::ctrl_c().await?;
    runtime.shutdown(None).await;
    Ok(())
}
