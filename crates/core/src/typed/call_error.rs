//! Why a typed call failed.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::callable::Callable;
use super::error_kind::{ErrorKind, kind_of_text};
use super::error_text::StoredError;

/// Why a call of an activity, a child or an instance failed. `E` is the error of the function.
///
/// `?` turns it into `String`, `anyhow::Error` and everything else that is made from standard
/// errors, and into an error of your own by `From<CallError<E>>`, which `#[from]` of `thiserror`
/// derives.
///
/// # Examples
///
/// ```
/// # extern crate duroxide_core as duroxide;
/// # use duroxide_macros::{activity, orchestration};
///
/// use duroxide::typed::CallError;
/// use duroxide::{ActivityContext, OrchestrationContext};
///
/// #[activity(retry(attempts = 3))]
/// async fn charge(_ctx: ActivityContext, cents: u64) -> Result<String, String> {
///     Ok(format!("{cents} cents charged"))
/// }
///
/// #[orchestration]
/// async fn buy(ctx: OrchestrationContext, cents: u64) -> Result<String, String> {
///     match ctx.call(charge, cents).await {
///         Ok(receipt) => Ok(receipt),
///         Err(CallError::Exhausted { last, attempts }) => Err(format!("{attempts} times {last}")),
///         Err(CallError::TimedOut) => Ok("on account".to_owned()),
///         Err(other) => Err(other.to_string()), // as `?` does
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[must_use = "a failed call is an error to handle"]
pub enum CallError<E> {
    /// The function returned this error.
    App(E),
    /// The retry policy allows no further attempt.
    Exhausted {
        /// The error of the last attempt that returned one.
        last: E,
        /// How many attempts there were.
        attempts: u32,
    },
    /// An attempt took too long, no worker started it in time, or the deadline of all attempts
    /// passed before one returned.
    TimedOut,
    /// The called orchestration was cancelled.
    Cancelled {
        /// Why.
        reason: String,
    },
    /// The call failed for another reason than its code: the function panicked, its input or its
    /// result does not decode, no node can run it, or the store refused it.
    Infrastructure {
        /// What went wrong.
        message: String,
    },
}

impl<E> CallError<E> {
    /// The error that the function itself returned, if that is the reason.
    pub fn app(&self) -> Option<&E> {
        match self {
            Self::App(error) | Self::Exhausted { last: error, .. } => Some(error),
            Self::TimedOut | Self::Cancelled { .. } | Self::Infrastructure { .. } => None,
        }
    }

    /// Converts the error that the function itself returned, or returns this error.
    ///
    /// # Errors
    /// This error, if the function did not return one.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::typed::CallError;
    ///
    /// let declined: CallError<String> = CallError::App("declined".to_owned());
    /// assert_eq!(declined.into_app().as_deref(), Ok("declined"));
    /// assert_eq!(CallError::<String>::TimedOut.into_app(), Err(CallError::TimedOut));
    /// ```
    pub fn into_app(self) -> Result<E, Self> {
        match self {
            Self::App(error) | Self::Exhausted { last: error, .. } => Ok(error),
            other @ (Self::TimedOut | Self::Cancelled { .. } | Self::Infrastructure { .. }) => {
                Err(other)
            }
        }
    }

    /// Converts the function's own error, and keeps the reason.
    pub fn map<F>(self, convert: impl FnOnce(E) -> F) -> CallError<F> {
        match self {
            Self::App(error) => CallError::App(convert(error)),
            Self::Exhausted { last, attempts } => {
                CallError::Exhausted { last: convert(last), attempts }
            }
            Self::TimedOut => CallError::TimedOut,
            Self::Cancelled { reason } => CallError::Cancelled { reason },
            Self::Infrastructure { message } => CallError::Infrastructure { message },
        }
    }

    /// A failure that is not one of the function.
    pub(crate) fn infrastructure(message: impl Into<String>) -> Self {
        Self::Infrastructure { message: message.into() }
    }

    /// What a stored text says about a call of `H`.
    pub(crate) fn from_text<H: Callable<Error = E>>(text: &str) -> Self {
        let app = || H::decode_error(text).map(Self::App);
        let other = || match kind_of_text(text) {
            ErrorKind::App => None,
            ErrorKind::TimedOut => Some(Self::TimedOut),
            ErrorKind::Cancelled { reason } => Some(Self::Cancelled { reason: reason.to_owned() }),
            ErrorKind::Infrastructure => Some(Self::infrastructure(text)),
        };
        let known = if StoredError::parse(text).is_typed() { app() } else { other().or_else(app) };
        known.unwrap_or_else(|| Self::infrastructure(text))
    }
}

impl<E: fmt::Display> fmt::Display for CallError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::App(error) => error.fmt(f),
            Self::Exhausted { last, attempts } => write!(f, "{last} (after {attempts} attempts)"),
            Self::TimedOut => f.write_str("the call timed out"),
            Self::Cancelled { reason } => write!(f, "canceled: {reason}"),
            Self::Infrastructure { message } => f.write_str(message),
        }
    }
}

// The error of the function is this error itself, not its source: its text is part of this text.
impl<E: fmt::Debug + fmt::Display> std::error::Error for CallError<E> {}

impl<E: fmt::Display> From<CallError<E>> for String {
    fn from(error: CallError<E>) -> Self {
        error.to_string()
    }
}
