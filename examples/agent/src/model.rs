//! The model behind the agent: a trait, the activity that calls it, and a model for tests and
//! demonstrations that needs no network.

use async_trait::async_trait;
use duroxide::prelude::*;
use serde::{Deserialize, Serialize};

use crate::tools::ToolCall;

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// Of the user.
    User(String),
    /// Of the agent.
    Agent(String),
    /// What a tool returned.
    Tool(ToolCall, String),
}

/// What the model wants to do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Respond to the user.
    Answer(String),
    /// Use these tools, and continue with their results.
    UseTools(Vec<ToolCall>),
}

/// One response of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// What to do.
    pub step: Step,
    /// What the call cost.
    pub tokens: u64,
}

/// Why the model does not respond.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum ModelError {
    /// The same call can succeed later.
    #[error("the model is overloaded for {seconds} s")]
    Overloaded {
        /// How long to wait.
        seconds: u64,
    },
    /// The same call fails again.
    #[error("the model refuses: {0}")]
    Refused(String),
}

impl Retryable for ModelError {
    fn retry_hint(&self) -> RetryHint {
        match self {
            Self::Overloaded { seconds } => RetryHint::After(Duration::from_secs(*seconds)),
            Self::Refused(_) => RetryHint::Never,
        }
    }
}

/// A language model. Implement it with the client of a provider.
#[async_trait]
pub trait Model: Send + Sync {
    /// The next step of a conversation.
    async fn next(&self, conversation: &[Message]) -> Result<Reply, ModelError>;
}

/// The activity that calls the model.
pub struct Thinker {
    model: Box<dyn Model>,
}

impl Thinker {
    /// An activity with this model.
    pub fn new(model: impl Model + 'static) -> Self {
        Self { model: Box::new(model) }
    }
}

#[activity]
impl Thinker {
    /// Asks the model for the next step.
    #[activity(timeout = "2m", retry(attempts = 6, backoff = "1s", max = "1m", timeouts))]
    pub async fn think(
        &self,
        _ctx: ActivityContext,
        conversation: Vec<Message>,
    ) -> Result<Reply, ModelError> {
        self.model.next(&conversation).await
    }
}

/// A model that knows two phrases, `weather in <city> and <city>` and `add <number> <number>`, and
/// always responds in the same way.
#[derive(Debug, Clone, Copy)]
pub struct PhraseBook;

#[async_trait]
impl Model for PhraseBook {
    async fn next(&self, conversation: &[Message]) -> Result<Reply, ModelError> {
        Ok(Reply { step: next_step(conversation), tokens: words(conversation) })
    }
}

fn next_step(conversation: &[Message]) -> Step {
    // Results of tools since the user spoke, in order.
    let recent = conversation.rsplit(|message| matches!(message, Message::User(_))).next();
    let results: Vec<&str> = recent.into_iter().flatten().filter_map(tool_result).collect();
    if !results.is_empty() {
        return Step::Answer(results.join("; "));
    }
    let said = conversation.iter().rev().find_map(|message| match message {
        Message::User(text) => Some(text.as_str()),
        Message::Agent(_) | Message::Tool(..) => None,
    });
    match calls_for(said.unwrap_or_default()) {
        calls if calls.is_empty() => {
            Step::Answer("ask me for the weather in a city, or to add numbers".to_owned())
        }
        calls => Step::UseTools(calls),
    }
}

fn tool_result(message: &Message) -> Option<&str> {
    match message {
        Message::Tool(_, result) => Some(result),
        Message::User(_) | Message::Agent(_) => None,
    }
}

fn calls_for(said: &str) -> Vec<ToolCall> {
    if let Some((_, cities)) = said.split_once("weather in ") {
        let cities = cities.trim_end_matches('?').split(" and ");
        return cities.map(|city| ToolCall::Weather { city: city.to_owned() }).collect();
    }
    if let Some((_, numbers)) = said.split_once("add ") {
        let numbers = numbers.split(' ').filter_map(|number| number.parse().ok()).collect();
        return vec![ToolCall::Add { numbers }];
    }
    Vec::new()
}

/// Costs as much as the whole conversation has words, as with real models.
fn words(conversation: &[Message]) -> u64 {
    let texts = conversation.iter().map(|message| match message {
        Message::User(text) | Message::Agent(text) | Message::Tool(_, text) => text,
    });
    texts.map(|text| text.split_whitespace().count() as u64).sum()
}
