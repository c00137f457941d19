//! What a customer can subscribe to.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Plan {
    /// Enough for one.
    Basic,
    /// For a team.
    Pro,
}

impl Plan {
    /// The price of one period.
    pub fn cents(self) -> u32 {
        match self {
            Self::Basic => 900,
            Self::Pro => 2900,
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Basic => "basic",
            Self::Pro => "pro",
        })
    }
}

impl FromStr for Plan {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "basic" => Ok(Self::Basic),
            "pro" => Ok(Self::Pro),
            other => Err(format!("there is no plan '{other}': basic, pro")),
        }
    }
}
