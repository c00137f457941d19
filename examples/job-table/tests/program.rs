//! The programs: the old worker and the new one side by side, each in a process of its own.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use duroxide::prelude::*;
use example_job_table::run_job;

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Fails only if the process has already exited.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn program(folder: &Path, args: &[&str]) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_example-job-table"));
    program.arg(folder).args(args);
    program
}

fn run(folder: &Path, args: &[&str]) -> String {
    let output = program(folder, args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Starts a worker and waits until it says that it works.
fn worker(folder: &Path, name: &str, says: &str) -> Running {
    let child = program(folder, &[name]).stdout(Stdio::piped()).spawn().unwrap();
    let mut running = Running(child);
    let mut lines = BufReader::new(running.0.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), says);
    running
}

#[tokio::test]
async fn the_table_is_drained_while_both_workers_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(folder, &["insert", "mail", "40"]);
    let old = worker(folder, "old-worker", "the old worker polls the table");
    let _new = worker(folder, "new-worker", "workflows run");
    run(folder, &["change-over", "mail"]);
    run(folder, &["insert", "mail", "40"]);
    // The old worker is killed, perhaps in the middle of a job.
    drop(old);
    let drained = run(folder, &["old-stopped", "mail"]);
    assert!(drained.contains("pending: 0, running: 0, moving: 0,"), "{drained}");

    for id in moved(folder) {
        let done = job(folder, &format!("mail-{id}")).await;
        assert_eq!(done, Ok(()), "job {id}");
    }
    let shown = run(folder, &["show", "mail"]);
    assert!(shown.contains("running    0 instances\n"), "{shown}");
    assert!(shown.contains("failed     0 instances\n"), "{shown}");
    let outbox = std::fs::read_to_string(folder.join("outbox")).unwrap();
    for id in 1..=80 {
        let start = format!("mail {id} ");
        let times = outbox.lines().filter(|line| line.starts_with(&start)).count();
        // Twice only if the old worker died between the job and the row.
        assert!((1..=2).contains(&times), "job {id} is done {times} times");
    }
}

/// The jobs that have become instances.
fn moved(folder: &Path) -> Vec<i64> {
    let table = rusqlite::Connection::open(folder.join("jobs.db")).unwrap();
    let mut moved = table.prepare("SELECT id FROM jobs WHERE status = 'moved'").unwrap();
    let ids = moved.query_map([], |row| row.get(0)).unwrap();
    ids.collect::<Result<_, _>>().unwrap()
}

async fn job(folder: &Path, instance: &str) -> Result<(), CallError<String>> {
    let store = folder.join("workflows.db").display().to_string();
    let client = Client::new(Arc::new(SqliteProvider::new(&store, None).await.unwrap()));
    client.attach(run_job, instance).result_within(Duration::from_secs(60)).await
}
