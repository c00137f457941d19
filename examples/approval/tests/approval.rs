//! What happens to a request, on a clock that skips.

use duroxide::prelude::*;
use duroxide::testing::{TestEnv, TestEnvBuilder};
use example_approval::workflow::{
    ApprovalError, DECISION, Decision, Mail, MailError, Request, approval, send,
};

type Tested = Result<(), Box<dyn std::error::Error>>;

const DAY: Duration = Duration::from_secs(24 * 3600);

fn laptop() -> Request {
    let [requester, purpose, approver, manager] =
        ["Emmy", "a laptop", "Ada", "Grace"].map(str::to_owned);
    let (remind_after, deadline) = (DAY, 7 * DAY);
    Request { requester, purpose, approver, manager, remind_after, reminders: 2, deadline }
}

fn office() -> TestEnvBuilder {
    TestEnv::builder().register(approval).mock(send, |_mail: Mail| Ok(()))
}

fn approved(by: &str) -> Decision {
    Decision::Approved { by: by.to_owned() }
}

/// Who got mail, on which day, and how it begins.
fn mails(env: &TestEnv) -> Vec<(u64, String)> {
    let day_ms = 24 * 3600 * 1000;
    let sent = env.calls(send).unwrap().into_iter().zip(env.calls_named("send"));
    sent.map(|(mail, call)| (call.at_ms / day_ms, format!("{}: {}", mail.to, mail.text))).collect()
}

#[tokio::test]
async fn a_quick_decision_needs_one_mail() -> Tested {
    let env = office().build();
    let run = env.start(approval, "r-1", laptop()).await?;
    env.until_idle().await?;
    env.raise(&run, DECISION, approved("Ada")).await?;
    assert_eq!(env.result(&run).await?, "Ada");
    let expected = ["Ada: Emmy asks for a laptop", "Emmy: a laptop: approved by Ada"];
    assert_eq!(mails(&env), expected.map(|mail| (0, mail.to_owned())));
    Ok(())
}

#[tokio::test]
async fn a_rejection_is_an_error_with_its_reason() -> Tested {
    let env = office().build();
    let run = env.start(approval, "r-1", laptop()).await?;
    env.advance(DAY + DAY / 2).await?;
    let [by, reason] = ["Ada", "use the old one"].map(str::to_owned);
    let rejected = Decision::Rejected { by: by.clone(), reason: reason.clone() };
    env.raise(&run, DECISION, rejected).await?;
    let error = ApprovalError::Rejected { by, reason };
    assert_eq!(env.result(&run).await, Err(CallError::App(error)));
    assert_eq!(env.elapsed(), DAY + DAY / 2);
    Ok(())
}

#[tokio::test]
async fn without_a_decision_the_approver_is_reminded_then_the_manager_is_asked() -> Tested {
    let env = office().build();
    let run = env.start(approval, "r-1", laptop()).await?;
    env.advance(4 * DAY).await?;
    let expected = [
        (0, "Ada: Emmy asks for a laptop"),
        (1, "Ada: reminder 1: Emmy asks for a laptop"),
        (2, "Ada: reminder 2: Emmy asks for a laptop"),
        (3, "Grace: Ada does not decide: Emmy asks for a laptop"),
    ];
    assert_eq!(mails(&env), expected.map(|(day, mail)| (day, mail.to_owned())));
    env.raise(&run, DECISION, approved("Grace")).await?;
    assert_eq!(env.result(&run).await?, "Grace");
    Ok(())
}

#[tokio::test]
async fn the_deadline_ends_a_request_that_is_not_decided() -> Tested {
    let env = office().build();
    let run = env.start(approval, "r-1", laptop()).await?;
    let error = ApprovalError::DeadlinePassed { deadline: 7 * DAY };
    assert_eq!(env.result(&run).await, Err(CallError::App(error)));
    assert_eq!(env.elapsed(), 7 * DAY);
    assert_eq!(mails(&env).last().map(|(day, _mail)| *day), Some(7));
    Ok(())
}

#[tokio::test]
async fn a_mail_server_that_is_down_delays_the_mail_and_loses_no_decision() -> Tested {
    let answers = [Err(MailError), Err(MailError), Ok(()), Ok(())];
    let env = office().mock_sequence(send, answers).build();
    let run = env.start(approval, "r-1", laptop()).await?;
    env.until_idle().await?;
    // The first mail has failed and waits for its next attempt.
    env.raise(&run, DECISION, approved("Ada")).await?;
    assert_eq!(env.result(&run).await?, "Ada");
    assert_eq!(env.calls(send)?.len(), 4);
    assert!(env.elapsed() < Duration::from_secs(60), "{:?}", env.elapsed());
    Ok(())
}

#[tokio::test]
async fn something_else_than_a_decision_is_an_error_that_names_it() -> Tested {
    let env = office().build();
    let run = env.start(approval, "r-1", laptop()).await?;
    env.until_idle().await?;
    env.raise_named("r-1", DECISION.name(), "perhaps").await?;
    let error = env.result(&run).await.unwrap_err().to_string();
    assert!(error.contains("signal 'decision'"), "{error}");
    Ok(())
}

#[tokio::test]
async fn an_escalated_request_survives_a_crash_at_every_commit() {
    let test = |env: TestEnv| async move {
        let run = env.start(approval, "r-1", laptop()).await.map_err(|error| error.to_string())?;
        env.advance(4 * DAY).await.map_err(|error| error.to_string())?;
        let raised = env.raise(&run, DECISION, approved("Grace")).await;
        raised.map_err(|error| error.to_string())?;
        env.result(&run).await.map_err(|error| error.to_string())
    };
    let report = office().crash_at_every_commit(test).await;
    assert!(report.commits >= 12, "{report:?}");
}

#[tokio::test]
async fn an_expired_request_survives_a_crash_at_every_commit() {
    let test = |env: TestEnv| async move {
        let run = env.start(approval, "r-1", laptop()).await.map_err(|error| error.to_string())?;
        env.result(&run).await.map_err(|error| error.to_string())
    };
    let report = office().crash_at_every_commit(test).await;
    assert!(report.commits >= 12, "{report:?}");
}
