//! Orchestrations: what happens in which order. They decide the same in every replay.

use duroxide::prelude::*;
use serde::{Deserialize, Serialize};

use crate::mailer::{Mail, Mailer};

/// The user follows the link of the mail.
pub const CONFIRMED: Signal<()> = Signal::new("confirmed");

const REMINDERS: u32 = 2;
const PATIENCE: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// What has become of a new user.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    Confirmed,
    Forgotten,
}

/// Welcomes a user, and reminds them until they confirm their address.
#[orchestration]
pub async fn welcome(ctx: OrchestrationContext, address: String) -> Result<Outcome, String> {
    // Opened before the first mail: no answer can be too early.
    let mut confirmed = ctx.wait(CONFIRMED);
    for reminder in 0..=REMINDERS {
        let subject = match reminder {
            0 => "welcome",
            _ => "please confirm",
        };
        let mail = Mail {
            to: address.clone(),
            subject: subject.to_owned(),
        };
        ctx.call(Mailer::send, mail).await?;
        ctx.set_custom_status(format!("{reminder} reminders"));
        duroxide::select! {
            _answer = &mut confirmed => return Ok(Outcome::Confirmed),
            () = ctx.schedule_timer(PATIENCE) => {}
        }
    }
    Ok(Outcome::Forgotten)
}
