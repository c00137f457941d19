//! The tools of the agent. Each one is an activity: it runs once, and its result is remembered.

use std::fmt;

use duroxide::prelude::*;
use serde::{Deserialize, Serialize};

/// A call of a tool, as the model asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToolCall {
    /// The weather of a place.
    Weather {
        /// The place.
        city: String,
    },
    /// A sum.
    Add {
        /// What to add.
        numbers: Vec<i64>,
    },
}

impl fmt::Display for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Weather { city } => write!(f, "weather({city})"),
            Self::Add { numbers } => write!(f, "add{numbers:?}"),
        }
    }
}

/// Why a tool fails. The model reads it and may go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum ToolError {
    /// There is no such place.
    #[error("there is no weather in {0}")]
    UnknownCity(String),
    /// The sum is too large.
    #[error("the sum is too large")]
    TooLarge,
}

impl Retryable for ToolError {
    fn retry_hint(&self) -> RetryHint {
        match self {
            Self::UnknownCity(_) | Self::TooLarge => RetryHint::Never,
        }
    }
}

/// Runs a tool. What it returns is for the model.
pub(crate) async fn run(ctx: &OrchestrationContext, call: &ToolCall) -> String {
    let result = match call {
        ToolCall::Weather { city } => ctx.call(weather, city).await,
        ToolCall::Add { numbers } => ctx.call(add, numbers).await.map(|sum| sum.to_string()),
    };
    result.unwrap_or_else(|error| format!("error: {error}"))
}

/// The weather of a city.
#[activity(timeout = "2m", retry(attempts = 3, timeouts))]
pub async fn weather(_ctx: ActivityContext, city: String) -> Result<String, ToolError> {
    match city.as_str() {
        "Atlantis" => Err(ToolError::UnknownCity(city)),
        "Oslo" => Ok("snow in Oslo".to_owned()),
        _ => Ok(format!("sun in {city}")),
    }
}

/// The sum of numbers.
#[activity]
pub async fn add(_ctx: ActivityContext, numbers: Vec<i64>) -> Result<i64, ToolError> {
    let sum = numbers.iter().try_fold(0_i64, |sum, number| sum.checked_add(*number));
    sum.ok_or(ToolError::TooLarge)
}
