//! The loop: receive a message, think, use tools, respond.

use duroxide::prelude::*;
use duroxide::typed::PayloadError;
use serde::{Deserialize, Serialize};

use crate::conversation::Conversation;
use crate::model::{Message, ModelError, Step, Thinker};
use crate::tools::{self, ToolCall, add, weather};

/// What the user says.
pub const MESSAGES: Queue<String> = Queue::new("messages");

/// Ends the conversation.
pub const GOODBYE: &str = "bye";

/// Messages that one execution answers. Then the next one starts with an empty history.
pub const MESSAGES_PER_EXECUTION: usize = 10;

/// Calls of the model for one message. A model that asks for tools for ever is stopped.
const STEPS_MAX: usize = 8;

/// Tools that run at the same time.
const TOOLS_AT_ONCE: usize = 4;

/// How long the agent waits for the user.
const IDLE_MAX: Duration = Duration::from_secs(24 * 3600);

/// How a conversation ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// How many messages were answered.
    pub answered: u64,
    /// Tokens that were not used.
    pub tokens_left: u64,
}

/// Why a conversation cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum AgentError {
    /// The model failed.
    #[error(transparent)]
    Model(#[from] CallError<ModelError>),
    /// The budget is used up.
    #[error("the token budget is spent")]
    BudgetSpent,
    /// A program sent something else than a text.
    #[error("{0}")]
    Payload(String),
}

impl From<PayloadError> for AgentError {
    fn from(error: PayloadError) -> Self {
        Self::Payload(error.to_string())
    }
}

/// Talks with a user until the user says goodbye or nothing for a day.
#[orchestration(version = "1.0.0", calls(Thinker::think, add, weather))]
pub async fn converse(
    ctx: OrchestrationContext,
    mut talk: Conversation,
) -> Result<Summary, AgentError> {
    for _message in 0..MESSAGES_PER_EXECUTION {
        show(&ctx, &mut talk, Pause::Waiting);
        let said = match ctx.timeout(IDLE_MAX, ctx.receive(MESSAGES)).await {
            Ok(said) => said?,
            Err(_idle) => return Ok(summary(&talk)),
        };
        if said == GOODBYE {
            return Ok(summary(&talk));
        }
        talk.note(format!("you: {said}"));
        talk.messages.push(Message::User(said));
        let answer = answer(&ctx, &mut talk).await?;
        talk.note(format!("agent: {answer}"));
        talk.messages.push(Message::Agent(answer));
        talk.status.answered += 1;
    }
    talk.forget();
    ctx.continue_as(converse, talk).await
}

/// Lets the model think and use tools until it has an answer.
async fn answer(ctx: &OrchestrationContext, talk: &mut Conversation) -> Result<String, AgentError> {
    for _step in 0..STEPS_MAX {
        show(ctx, talk, Pause::Thinking);
        let reply = ctx.call(Thinker::think, &talk.messages).await?;
        let left = talk.tokens_left.checked_sub(reply.tokens);
        talk.tokens_left = left.ok_or(AgentError::BudgetSpent)?;
        let calls = match reply.step {
            Step::Answer(text) => return Ok(text),
            Step::UseTools(calls) => calls,
        };
        use_tools(ctx, talk, calls).await;
    }
    Ok("this takes me too many steps".to_owned())
}

async fn use_tools(ctx: &OrchestrationContext, talk: &mut Conversation, calls: Vec<ToolCall>) {
    for call in &calls {
        talk.note(format!("  uses {call}"));
    }
    show(ctx, talk, Pause::Thinking);
    let results = ctx.map_concurrent(&calls, TOOLS_AT_ONCE, |call| tools::run(ctx, call)).await;
    for (call, result) in calls.into_iter().zip(results) {
        talk.note(format!("  {call} returns {result}"));
        talk.messages.push(Message::Tool(call, result));
    }
}

enum Pause {
    Thinking,
    Waiting,
}

/// Shows clients how far the conversation is.
fn show(ctx: &OrchestrationContext, talk: &mut Conversation, pause: Pause) {
    talk.status.waiting = matches!(pause, Pause::Waiting);
    let json = serde_json::to_string(&talk.status);
    ctx.set_custom_status(json.expect("a struct of numbers and texts is JSON"));
}

fn summary(talk: &Conversation) -> Summary {
    Summary { answered: talk.status.answered, tokens_left: talk.tokens_left }
}
