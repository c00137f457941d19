//! What happens to a request until it is decided, or until its deadline.

use duroxide::prelude::*;
use duroxide::typed::PayloadError;
use serde::{Deserialize, Serialize};

/// The decision about a request. Only the first one counts.
pub const DECISION: Signal<Decision> = Signal::new("decision");

/// What is asked for, and of whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Who asks.
    pub requester: String,
    /// What for.
    pub purpose: String,
    /// Who decides.
    pub approver: String,
    /// Who is asked when the approver does not respond.
    pub manager: String,
    /// When the approver is reminded, and again after the same time.
    pub remind_after: Duration,
    /// How many reminders the approver gets before the manager is asked.
    pub reminders: u32,
    /// When the request expires.
    pub deadline: Duration,
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    /// Yes.
    Approved {
        /// Who says so.
        by: String,
    },
    /// No.
    Rejected {
        /// Who says so.
        by: String,
        /// Why.
        reason: String,
    },
}

/// Why a request is not approved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum ApprovalError {
    /// The answer is no.
    #[error("rejected by {by}: {reason}")]
    Rejected {
        /// Who says so.
        by: String,
        /// Why.
        reason: String,
    },
    /// There is no answer.
    #[error("not decided within {deadline:?}")]
    DeadlinePassed {
        /// The time that there was.
        deadline: Duration,
    },
    /// A mail could not be sent.
    #[error("mail: {0}")]
    Mail(#[from] CallError<MailError>),
    /// A program sent something else than a decision.
    #[error("{0}")]
    Payload(String),
}

impl From<PayloadError> for ApprovalError {
    fn from(error: PayloadError) -> Self {
        Self::Payload(error.to_string())
    }
}

/// A mail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mail {
    /// Name of the reader.
    pub to: String,
    /// What it says.
    pub text: String,
}

/// Why a mail is not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("the mail server does not respond")]
pub struct MailError;

/// Sends a mail. Here it prints a line.
#[activity(timeout = "2m", retry(attempts = 20, backoff = "1s", max = "5m", timeouts))]
pub async fn send(_ctx: ActivityContext, mail: Mail) -> Result<(), MailError> {
    println!("to {}: {}", mail.to, mail.text);
    Ok(())
}

/// Returns who approved the request. The custom status says who is asked.
#[orchestration(version = "1.0.0", calls(send))]
pub async fn approval(
    ctx: OrchestrationContext,
    request: Request,
) -> Result<String, ApprovalError> {
    let outcome = match ctx.timeout(request.deadline, decision(&ctx, &request)).await {
        Ok(Ok(Decision::Approved { by })) => Ok(by),
        Ok(Ok(Decision::Rejected { by, reason })) => Err(ApprovalError::Rejected { by, reason }),
        Ok(Err(error)) => Err(error),
        Err(_elapsed) => Err(ApprovalError::DeadlinePassed { deadline: request.deadline }),
    };
    let text = match &outcome {
        Ok(by) => format!("approved by {by}"),
        Err(error) => error.to_string(),
    };
    mail(&ctx, &request.requester, format!("{}: {text}", request.purpose)).await?;
    outcome
}

/// Asks, reminds and escalates until there is a decision, however long it takes.
async fn decision(
    ctx: &OrchestrationContext,
    request: &Request,
) -> Result<Decision, ApprovalError> {
    let Request { requester, purpose, approver, manager, .. } = request;
    // Before the first mail: a decision that arrives when no wait is open is lost.
    let mut decision = ctx.wait(DECISION);
    ctx.set_custom_status(format!("waits for {approver}"));
    mail(ctx, approver, format!("{requester} asks for {purpose}")).await?;
    for reminder in 1..=request.reminders {
        if let Ok(decided) = ctx.timeout(request.remind_after, &mut decision).await {
            return Ok(decided?);
        }
        ctx.set_custom_status(format!("waits for {approver}, reminder {reminder}"));
        mail(ctx, approver, format!("reminder {reminder}: {requester} asks for {purpose}")).await?;
    }
    if let Ok(decided) = ctx.timeout(request.remind_after, &mut decision).await {
        return Ok(decided?);
    }
    ctx.set_custom_status(format!("waits for {manager}"));
    mail(ctx, manager, format!("{approver} does not decide: {requester} asks for {purpose}"))
        .await?;
    Ok(decision.await?)
}

async fn mail(ctx: &OrchestrationContext, to: &str, text: String) -> Result<(), ApprovalError> {
    Ok(ctx.call(send, Mail { to: to.to_owned(), text }).await?)
}
