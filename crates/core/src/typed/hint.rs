//! What an error says about another attempt.

use std::time::Duration;

/// What an error says about another attempt.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
///
/// use std::time::Duration;
///
/// use duroxide::typed::RetryHint;
///
/// /// What a status of HTTP says about another attempt.
/// fn hint(status: u16, retry_after: Option<Duration>) -> RetryHint {
///     match (status, retry_after) {
///         (429 | 503, Some(wait)) => RetryHint::After(wait),
///         (400..=499, _) => RetryHint::Never,
///         _ => RetryHint::Policy,
///     }
/// }
///
/// assert_eq!(hint(404, None), RetryHint::Never);
/// assert_eq!(hint(500, None), RetryHint::default());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RetryHint {
    /// The policy of the call decides.
    #[default]
    Policy,
    /// Another attempt cannot help: the call fails at once.
    Never,
    /// The next attempt should wait at least this long.
    After(Duration),
}

/// An error that knows whether another attempt can help. A call with a retry policy obeys it.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use std::time::Duration;
///
/// use duroxide::typed::{RetryHint, Retryable};
///
/// #[derive(Debug)]
/// enum PayError {
///     Declined,
///     Busy { seconds: u64 },
///     Unreachable,
/// }
///
/// impl Retryable for PayError {
///     fn retry_hint(&self) -> RetryHint {
///         match self {
///             Self::Declined => RetryHint::Never,
///             Self::Busy { seconds } => RetryHint::After(Duration::from_secs(*seconds)),
///             Self::Unreachable => RetryHint::Policy,
///         }
///     }
/// }
/// # assert_eq!(PayError::Declined.retry_hint(), RetryHint::Never);
/// # assert_eq!(PayError::Unreachable.retry_hint(), RetryHint::Policy);
/// # let busy = PayError::Busy { seconds: 3 };
/// # assert_eq!(busy.retry_hint(), RetryHint::After(Duration::from_secs(3)));
/// ```
pub trait Retryable {
    /// What this error says about another attempt.
    fn retry_hint(&self) -> RetryHint;
}

/// Finds the hint of an error whose type need not be [`Retryable`]. For the code that the
/// attributes write: its own method comes before the one of [`DefaultHint`].
#[doc(hidden)]
#[derive(Debug)]
pub struct HintOf<'a, E>(pub &'a E);

impl<E: Retryable> HintOf<'_, E> {
    /// The hint of the error.
    pub fn retry_hint(&self) -> RetryHint {
        self.0.retry_hint()
    }
}

/// The hint of all other errors.
#[doc(hidden)]
pub trait DefaultHint {
    /// The policy decides.
    fn retry_hint(&self) -> RetryHint {
        RetryHint::Policy
    }
}

impl<E> DefaultHint for HintOf<'_, E> {}
