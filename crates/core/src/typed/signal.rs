//! Names of signals and queues with the type of their payload.

use std::fmt;
use std::marker::PhantomData;

/// A signal with its payload type.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use duroxide::OrchestrationContext;
/// use duroxide::typed::Signal;
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Approval {
///     by: String,
/// }
///
/// const APPROVED: Signal<Approval> = Signal::new("approved");
///
/// async fn approval(ctx: OrchestrationContext, _order: String) -> Result<String, String> {
///     let approval = ctx.wait(APPROVED).await?;
///     Ok(format!("approved by {}", approval.by))
/// }
/// ```
pub struct Signal<T> {
    name: &'static str,
    payload: PhantomData<fn(T) -> T>,
}

/// A FIFO queue with the type of its messages.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use duroxide::OrchestrationContext;
/// use duroxide::typed::Queue;
///
/// const NUMBERS: Queue<u32> = Queue::new("numbers");
///
/// async fn sum(ctx: OrchestrationContext, _input: String) -> Result<String, String> {
///     let mut sum = 0;
///     while sum < 100 {
///         sum += ctx.receive(NUMBERS).await?;
///     }
///     Ok(sum.to_string())
/// }
/// ```
pub struct Queue<T> {
    name: &'static str,
    payload: PhantomData<fn(T) -> T>,
}

macro_rules! named {
    ($type:ident, $what:literal) => {
        impl<T> $type<T> {
            #[doc = concat!("The ", $what, " of this name.")]
            pub const fn new(name: &'static str) -> Self {
                Self { name, payload: PhantomData }
            }

            /// The name that is stored.
            pub const fn name(&self) -> &'static str {
                self.name
            }
        }

        // Not derived: a derive requires the payload to be `Clone` and `Debug`.
        impl<T> Clone for $type<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $type<T> {}

        impl<T> fmt::Debug for $type<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($type)).field(&self.name).finish()
            }
        }
    };
}

named!(Signal, "signal");
named!(Queue, "queue");

/// A payload that a sender encoded as something else. The text names orchestration, signal or
/// queue, and type.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
///
/// use duroxide::OrchestrationContext;
/// use duroxide::typed::Signal;
///
/// const AMOUNT: Signal<u64> = Signal::new("amount");
///
/// async fn amount(ctx: OrchestrationContext, _input: String) -> Result<String, String> {
///     match ctx.wait(AMOUNT).await {
///         Ok(cents) => Ok(cents.to_string()),
///         // A client raised "amount" by name, with another payload.
///         Err(error) => Err(error.to_string()),
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PayloadError {
    message: String,
}

impl PayloadError {
    pub(crate) fn new(message: String) -> Self {
        Self { message }
    }
}

impl From<PayloadError> for String {
    fn from(error: PayloadError) -> Self {
        error.message
    }
}
