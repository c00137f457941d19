//! The change-over in memory, with a real table.

use std::collections::BTreeSet;
use std::path::Path;

use duroxide::prelude::*;
use duroxide::testing::{TestEnv, TestEnvBuilder};
use example_job_table::{
    Counts, Job, JobTable, OLD_STOPPED, Post, Worker, change_over, instance_id, run_job, work_once,
};

type Tested = Result<(), Box<dyn std::error::Error>>;

/// The table and the post of one test.
struct Office {
    table: Arc<JobTable>,
    post: Post,
    folder: tempfile::TempDir,
}

impl Office {
    fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let table = Arc::new(open_table(folder.path()));
        Self { table, post: Post::new(&folder.path().join("outbox")), folder }
    }

    fn env(&self) -> TestEnvBuilder {
        TestEnv::builder()
            .register(change_over)
            .register(run_job)
            .register_state(Arc::clone(&self.table))
            .register_state(Worker::new(self.post.clone()))
    }

    /// Lines of the outbox that begin with a job, each with its number of times.
    fn times(&self, id: i64) -> usize {
        let start = format!("mail {id} ");
        self.post.read().iter().filter(|line| line.starts_with(&start)).count()
    }
}

fn open_table(folder: &Path) -> JobTable {
    JobTable::open(&folder.join("jobs.db")).unwrap()
}

/// Moves everything, with the old side stopped, and waits for the jobs.
async fn move_all(env: &TestEnv) -> Result<Counts, String> {
    let kind = "mail".to_owned();
    let moving = env.start(change_over, "change-over", (kind, false)).await;
    let moving = moving.map_err(|error| error.to_string())?;
    let sent = env.enqueue(&moving, OLD_STOPPED, ()).await;
    sent.map_err(|error| error.to_string())?;
    let counts = env.result(&moving).await.map_err(|error| error.to_string())?;
    // Jobs that were moved may be due later.
    env.advance(Duration::from_secs(365 * 24 * 3600)).await.map_err(|error| error.to_string())?;
    Ok(counts)
}

#[tokio::test]
async fn every_pending_job_becomes_one_instance() -> Tested {
    let office = Office::open();
    let ids: Vec<i64> =
        (0..250).map(|_job| office.table.insert("mail", "letter", 0)).collect::<Result<_, _>>()?;
    office.table.insert("invoice", "letter", 0)?;
    let env = office.env().build();
    let counts = move_all(&env).await?;
    assert_eq!(counts, Counts { moved: 250, ..Counts::default() });
    assert!(ids.iter().all(|id| office.times(*id) == 1));
    assert_eq!(office.table.count("invoice")?.pending, 1, "another kind stays");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn old_workers_and_the_change_over_share_the_jobs() -> Tested {
    let office = Office::open();
    let ids: Vec<i64> =
        (0..300).map(|_job| office.table.insert("mail", "letter", 0)).collect::<Result<_, _>>()?;
    // A connection of its own for each, as in another process.
    let workers = [(); 2].map(|()| {
        let (table, post) = (open_table(office.folder.path()), office.post.clone());
        std::thread::spawn(move || {
            while table.count("mail").unwrap().pending > 0 {
                work_once(&table, &post).unwrap();
            }
        })
    });
    let env = office.env().build();
    let moving = env.start(change_over, "change-over", ("mail".to_owned(), false)).await?;
    env.until_idle().await?;
    for worker in workers {
        worker.join().map_err(|_panic| "an old worker panicked")?;
    }
    env.enqueue(&moving, OLD_STOPPED, ()).await?;
    let counts = env.result(&moving).await?;
    env.advance(Duration::from_secs(365 * 24 * 3600)).await?;
    assert!(counts.is_drained());
    assert_eq!(counts.moved + counts.done, 300, "{counts:?}");
    let wrong: Vec<&i64> = ids.iter().filter(|id| office.times(**id) != 1).collect();
    assert!(wrong.is_empty(), "not done once: {wrong:?}");
    Ok(())
}

#[tokio::test]
async fn a_change_over_that_died_in_the_middle_is_finished_by_the_next() -> Tested {
    let office = Office::open();
    for _job in 0..3 {
        office.table.insert("mail", "letter", 0)?;
    }
    let env = office.env().build();
    // Claimed, and one of three is started but not marked.
    let claimed = office.table.claim_for_move("mail", 10)?;
    env.client().start(run_job, instance_id(&claimed[0]), &claimed[0]).await.map(drop)?;
    let counts = move_all(&env).await?;
    assert_eq!(counts, Counts { moved: 3, ..Counts::default() });
    assert!(claimed.iter().all(|job| office.times(job.id) == 1), "{:?}", office.post.read());
    Ok(())
}

#[tokio::test]
async fn a_job_whose_old_worker_died_runs_in_the_end() -> Tested {
    let office = Office::open();
    let id = office.table.insert("mail", "letter", 0)?;
    // Its worker claims it and is never seen again.
    office.table.claim()?.ok_or("the job is due")?;
    let env = office.env().build();
    let moving = env.start(change_over, "change-over", ("mail".to_owned(), false)).await?;
    env.advance(Duration::from_secs(60)).await?;
    let counts = office.table.count("mail")?;
    assert_eq!((counts.running, counts.moved), (1, 0), "the worker may still live");
    env.enqueue(&moving, OLD_STOPPED, ()).await?;
    assert_eq!(env.result(&moving).await?.moved, 1);
    env.advance(Duration::from_secs(365 * 24 * 3600)).await?;
    assert_eq!(office.times(id), 1);
    Ok(())
}

#[tokio::test]
async fn a_job_keeps_its_time_and_the_attempts_that_are_left() -> Tested {
    let office = Office::open();
    let env = office.env().build();
    let now = env.now().duration_since(std::time::UNIX_EPOCH)?.as_secs();
    let later = Job {
        id: 1,
        kind: "mail".to_owned(),
        payload: "broken".to_owned(),
        attempts: 3,
        run_after: now + 3600,
    };
    let run = env.start(run_job, instance_id(&later), &later).await?;
    env.advance(Duration::from_secs(3599)).await?;
    assert_eq!(env.calls(Worker::perform)?.len(), 0);
    let failure = env.result(&run).await.map_err(|error| error.to_string());
    assert_eq!(failure, Err("'broken' has no address (after 2 attempts)".to_owned()));
    Ok(())
}

#[tokio::test]
async fn a_crash_at_any_commit_loses_no_job_and_repeats_none() {
    let office = Arc::new(Office::open());
    let builder = office.env();
    let test = |env: TestEnv| {
        let office = Arc::clone(&office);
        async move {
            // The table is shared by all runs, and each has rows of its own.
            let ids = [(); 3].map(|()| office.table.insert("mail", "letter", 0).unwrap());
            let counts = move_all(&env).await?;
            let instances = env.client().list_all_instances().await.unwrap();
            let started: BTreeSet<&String> =
                instances.iter().filter(|id| id.starts_with("mail-")).collect();
            let done = ids.iter().filter(|id| office.times(**id) > 0).count();
            Ok::<_, String>((counts.is_drained(), started.len(), done))
        }
    };
    let report = builder.crash_at_every_commit(test).await;
    assert!(report.commits >= 8, "{report:?}");
    // The first run, and two for each commit: none has changed the result.
    let moved = office.table.count("mail").unwrap().moved;
    assert_eq!(u64::from(moved), 3 * (1 + report.crashes));
}
