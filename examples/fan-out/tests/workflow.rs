//! The fan-out in memory: pages, bound, failures and crashes.

use duroxide::prelude::*;
use duroxide::testing::{TestEnv, TestEnvBuilder};
use example_fan_out::{Catalogue, Failure, Job, PhotoError, Report, shrink_all, shrink_page};

type Tested = Result<(), Box<dyn std::error::Error>>;

/// Photos 1 to `count`; those with a seven in the last place are damaged.
fn photos(count: u32) -> TestEnvBuilder {
    TestEnv::builder()
        .register(shrink_all)
        .register(shrink_page)
        .mock(Catalogue::list_photos, move |(after, limit): (u32, u32)| {
            Ok((after + 1..=count).take(limit as usize).collect())
        })
}

fn shrink(photo: u32) -> Result<(), PhotoError> {
    if photo % 10 == 7 { Err(PhotoError::Damaged { bytes: 3 }) } else { Ok(()) }
}

fn small_pages() -> Job {
    Job { at_once: 3, page_size: 10, pages_per_execution: 2, ..Job::default() }
}

#[tokio::test]
async fn all_photos_of_all_pages_are_shrunk_and_failures_have_reasons() -> Tested {
    let env = photos(45).mock(Catalogue::shrink, shrink).build();
    let run = env.start(shrink_all, "t", small_pages()).await?;
    let failure = |photo| Failure { photo, reason: "damaged: 3 bytes instead of 1024".to_owned() };
    let failures = [7, 17, 27, 37].map(failure).to_vec();
    assert_eq!(env.result(&run).await?, Report { done: 41, failed: 4, failures });
    // A damaged photo is not attempted again.
    assert_eq!(env.calls(Catalogue::shrink)?.len(), 45);
    Ok(())
}

#[tokio::test]
async fn at_most_the_given_number_is_in_work() -> Tested {
    let second = Duration::from_secs(1);
    let env = photos(10).mock_taking(Catalogue::shrink, second, |_photo: u32| Ok(())).build();
    let run = env.start(shrink_all, "t", small_pages()).await?;
    assert_eq!(env.result(&run).await?.done, 10);
    // Ten photos, three at a time, a second each.
    assert_eq!(env.elapsed(), 4 * second);
    Ok(())
}

#[tokio::test]
async fn histories_do_not_grow_with_the_number_of_photos() -> Tested {
    let env = photos(200).mock(Catalogue::shrink, shrink).build();
    let run = env.start(shrink_all, "t", small_pages()).await?;
    assert_eq!(env.result(&run).await?.done, 180);
    let row = env.client().get_instance_row("t").await?.ok_or("the instance is stored")?;
    assert_eq!(row.executions, 11, "two of twenty pages each, and one that finds no more");
    assert_eq!(row.custom_status.as_deref(), Some("180 done, 20 failed"));
    for execution in 1..=row.executions {
        let events = env.client().read_execution_history("t", execution).await?;
        assert!(events.len() <= 12, "{} events in execution {execution}", events.len());
    }
    Ok(())
}

#[tokio::test]
async fn a_table_that_is_busy_is_asked_again() -> Tested {
    let answers = [Err(PhotoError::Table("busy".to_owned())), Ok(()), Ok(())];
    let env = photos(2).mock_sequence(Catalogue::shrink, answers).build();
    let run = env.start(shrink_all, "t", Job { at_once: 1, ..small_pages() }).await?;
    assert_eq!(env.result(&run).await?, Report { done: 2, ..Report::default() });
    Ok(())
}

#[tokio::test]
async fn a_crash_at_any_commit_changes_nothing() {
    let test = |env: TestEnv| async move {
        let job = Job { at_once: 2, page_size: 3, pages_per_execution: 1, ..Job::default() };
        let run = env.start(shrink_all, "t", job).await.map_err(|error| error.to_string())?;
        env.result(&run).await.map_err(|error| error.to_string())
    };
    let report = photos(7).mock(Catalogue::shrink, shrink).crash_at_every_commit(test).await;
    assert!(report.commits >= 20, "{report:?}");
}
