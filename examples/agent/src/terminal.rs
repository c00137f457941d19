//! The user's side: sends messages and prints the conversation while it goes on.

use std::error::Error;

use duroxide::client::InstanceHandle;
use duroxide::prelude::*;

use crate::conversation::{Conversation, Status};
use crate::workflow::{GOODBYE, MESSAGES, Summary, converse};

/// How long the terminal waits for a change. The agent waits for the user for a day.
const PATIENCE: Duration = Duration::from_secs(2 * 24 * 3600);

/// For stores that cannot notify of changes.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// What a call returns.
pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// A client that follows one conversation.
#[derive(Debug)]
pub struct Terminal {
    client: Client,
    conversation: InstanceHandle<converse>,
    /// Version of the status that was read last.
    seen: u64,
    /// Number of the line that was printed last.
    printed: u64,
    /// Messages that are answered.
    answered: u64,
}

impl Terminal {
    /// Starts a conversation, or joins the one of this id.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn open(client: Client, id: &str, tokens: u64) -> Outcome<Self> {
        let conversation = client.start(converse, id, Conversation::new(tokens)).await?;
        Ok(Self { client, conversation, seen: 0, printed: 0, answered: 0 })
    }

    /// Sends a message and prints what happens until it is answered. Returns the summary if the
    /// conversation has ended.
    ///
    /// # Errors
    /// When the conversation fails.
    pub async fn say(&mut self, text: &str) -> Outcome<Option<Summary>> {
        self.conversation.enqueue(MESSAGES, text).await?;
        let answered = if text == GOODBYE { u64::MAX } else { self.answered + 1 };
        self.follow(answered).await
    }

    /// Prints what happens until the agent waits for the next message.
    ///
    /// # Errors
    /// When the conversation fails.
    pub async fn catch_up(&mut self) -> Outcome<Option<Summary>> {
        self.follow(0).await
    }

    async fn follow(&mut self, answered: u64) -> Outcome<Option<Summary>> {
        loop {
            let id = self.conversation.instance_id();
            let change = self.client.wait_for_status_change(id, self.seen, POLL_INTERVAL, PATIENCE);
            match change.await? {
                OrchestrationStatus::Running { custom_status, custom_status_version } => {
                    self.seen = custom_status_version;
                    let status = self.print(custom_status.as_deref())?;
                    self.answered = status.answered;
                    if status.waiting && status.answered >= answered {
                        return Ok(None);
                    }
                }
                OrchestrationStatus::Completed { custom_status, .. }
                | OrchestrationStatus::Failed { custom_status, .. } => {
                    self.print(custom_status.as_deref())?;
                    return Ok(Some(self.conversation.result().await?));
                }
                OrchestrationStatus::NotFound => return Err("the conversation was deleted".into()),
            }
        }
    }

    /// Prints the lines that are new.
    fn print(&mut self, status: Option<&str>) -> Outcome<Status> {
        let status: Status = status.map_or(Ok(Status::default()), serde_json::from_str)?;
        for (number, line) in &status.lines {
            if *number > self.printed {
                println!("{line}");
                self.printed = *number;
            }
        }
        Ok(status)
    }
}
