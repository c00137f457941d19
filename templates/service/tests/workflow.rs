//! The workflow, in memory and with a clock that skips.

use duroxide::prelude::*;
use duroxide::testing::{TestEnv, TestEnvBuilder};
use {{crate_name}}::{CONFIRMED, Mail, Mailer, Outcome, welcome};

type Tested = Result<(), Box<dyn std::error::Error>>;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn mocked() -> TestEnvBuilder {
    TestEnv::builder()
        .register(welcome)
        .mock(Mailer::send, |_mail: Mail| Ok(()))
}

#[tokio::test]
async fn a_user_who_confirms_gets_no_further_reminder() -> Tested {
    let env = mocked().build();
    let run = env.start(welcome, "w-1", "ada@example.org").await?;
    env.advance(DAY * 4).await?;
    env.raise(&run, CONFIRMED, ()).await?;
    assert_eq!(env.result(&run).await?, Outcome::Confirmed);
    let subjects: Vec<String> = env
        .calls(Mailer::send)?
        .into_iter()
        .map(|mail| mail.subject)
        .collect();
    assert_eq!(subjects, ["welcome", "please confirm"]);
    Ok(())
}

#[tokio::test]
async fn a_user_who_does_not_is_forgotten_after_nine_days() -> Tested {
    let env = mocked().build();
    let run = env.start(welcome, "w-1", "ada@example.org").await?;
    assert_eq!(env.result(&run).await?, Outcome::Forgotten);
    assert_eq!(env.elapsed(), DAY * 9);
    assert_eq!(env.calls(Mailer::send)?.len(), 3);
    Ok(())
}

#[tokio::test]
async fn a_crash_at_any_commit_changes_nothing() {
    let test = |env: TestEnv| async move {
        let run = env.start(welcome, "w-1", "ada@example.org").await.unwrap();
        env.result(&run).await
    };
    let report = mocked().crash_at_every_commit(test).await;
    assert!(report.commits > 6, "{report:?}");
}

#[tokio::test]
async fn a_mail_is_a_line_of_the_outbox() -> Tested {
    let folder = tempfile::tempdir()?;
    let outbox = folder.path().join("outbox.txt");
    let mailer = Mailer {
        outbox: outbox.clone(),
    };
    let env = TestEnv::builder()
        .register(welcome)
        .register_state(mailer)
        .build();
    let run = env.start(welcome, "w-1", "ada@example.org").await?;
    env.until_idle().await?;
    env.raise(&run, CONFIRMED, ()).await?;
    assert_eq!(env.result(&run).await?, Outcome::Confirmed);
    let sent = String::from_utf8(std::fs::read(outbox)?)?;
    assert_eq!(sent, "ada@example.org: welcome\n");
    Ok(())
}
