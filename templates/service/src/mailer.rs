//! Activities: everything that has effects. An activity may run again after a crash.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

use duroxide::prelude::*;
use serde::{Deserialize, Serialize};

/// A mail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mail {
    pub to: String,
    pub subject: String,
}

/// Sends mails. The state of activities may be anything that they share, such as a connection pool.
#[derive(Debug)]
pub struct Mailer {
    pub outbox: PathBuf,
}

#[activity]
impl Mailer {
    #[activity(
        name = "SendMail",
        timeout = "2m",
        retry(attempts = 5, backoff = "1s", timeouts)
    )]
    pub async fn send(&self, _ctx: ActivityContext, mail: Mail) -> Result<(), String> {
        let line = format!("{}: {}\n", mail.to, mail.subject);
        let outbox = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.outbox);
        outbox
            .and_then(|mut outbox| outbox.write_all(line.as_bytes()))
            .map_err(|error| error.to_string())
    }
}
