//! The handles of functions: what is known about them at compile time.

use std::fmt;

use serde::{Serialize, de::DeserializeOwned};

use super::functions::CallableFn;
use super::options::CallOptions;

/// A function with a recorded name: an activity or an orchestration.
///
/// `#[activity]` and `#[orchestration]` implement it for a type with the name of the function. The
/// name is stored in histories, so that it must stay when the function is renamed.
///
/// # Examples
///
/// ```
/// # extern crate duroxide_core as duroxide;
/// # use duroxide_macros::{activity, orchestration};
///
/// use duroxide::ActivityContext;
/// use duroxide::typed::Callable;
///
/// #[activity(name = "Charge")]
/// async fn charge(_ctx: ActivityContext, cents: u64) -> Result<u64, String> {
///     Ok(cents)
/// }
///
/// // The handle is a type with the name of the function.
/// assert_eq!(<charge as Callable>::NAME, "Charge");
/// let _input: <charge as Callable>::Input = 7_u64;
/// ```
pub trait Callable: Send + Sync + 'static {
    /// The name that is stored.
    const NAME: &'static str;
    /// The parameters after the context: one as it is, several as a tuple, none as `()`.
    type Input: Serialize + DeserializeOwned + Send + 'static;
    /// What the function returns in `Ok`.
    type Output: Serialize + DeserializeOwned + Send + 'static;
    /// What the function returns in `Err`.
    type Error: fmt::Display + Send + 'static;

    /// The text that is stored for an error.
    fn encode_error(error: &Self::Error) -> String;

    /// The error of a stored text; `None` if the text is not one of this type.
    fn decode_error(text: &str) -> Option<Self::Error>;
}

/// The handle of an activity. `#[activity]` implements it.
///
/// # Examples
///
/// ```
/// # extern crate duroxide_core as duroxide;
/// # use duroxide_macros::{activity, orchestration};
///
/// use std::time::Duration;
///
/// use duroxide::ActivityContext;
/// use duroxide::typed::Activity;
///
/// #[activity(tag = "gpu", timeout = "30s")]
/// async fn render(_ctx: ActivityContext, scene: String) -> Result<String, String> {
///     Ok(scene)
/// }
///
/// let options = <render as Activity>::OPTIONS;
/// assert_eq!((options.tag, options.timeout), (Some("gpu"), Some(Duration::from_secs(30))));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an activity",
    label = "not an activity",
    note = "an orchestration is called with `ctx.child`; a function becomes an activity by \
            `#[activity]`"
)]
pub trait Activity: Callable {
    /// Options of every call that does not set them itself.
    const OPTIONS: CallOptions = CallOptions::new();
    /// Whether only other nodes run it, so that this node need not have it registered.
    const ELSEWHERE: bool = false;
}

/// The handle of an orchestration. `#[orchestration]` implements it.
///
/// # Examples
///
/// ```
/// # extern crate duroxide_core as duroxide;
/// # use duroxide_macros::{activity, orchestration};
///
/// use duroxide::typed::Orchestration;
/// use duroxide::{ActivityContext, OrchestrationContext};
///
/// #[activity]
/// async fn charge(_ctx: ActivityContext, cents: u64) -> Result<u64, String> {
///     Ok(cents)
/// }
///
/// #[orchestration(version = "1.2.0")]
/// async fn buy(ctx: OrchestrationContext, cents: u64) -> Result<u64, String> {
///     Ok(ctx.call(charge, cents).await?)
/// }
///
/// assert_eq!(<buy as Orchestration>::VERSION, Some("1.2.0"));
/// assert_eq!(<buy as Orchestration>::calls()[0].name, "charge");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an orchestration",
    label = "not an orchestration",
    note = "an activity is called with `ctx.call`; a function becomes an orchestration by \
            `#[orchestration]`"
)]
pub trait Orchestration: Callable {
    /// The version, if the code names one. Then starts and children ask for exactly this version;
    /// otherwise the node that starts it chooses by its registry.
    const VERSION: Option<&'static str> = None;

    /// The functions that its code calls, as far as the attribute sees them.
    fn calls() -> Vec<Called> {
        Vec::new()
    }
}

/// A function that an orchestration calls. A runtime that runs the orchestration refuses to start
/// if it is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Called {
    /// Whether it is an activity or an orchestration.
    pub kind: CalledKind,
    /// Its recorded name.
    pub name: &'static str,
    /// The tag that the calls of an activity have.
    pub tag: Option<&'static str>,
    /// Whether only other nodes run it.
    pub elsewhere: bool,
}

/// What is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalledKind {
    /// An activity.
    Activity,
    /// A child orchestration.
    Orchestration,
}

impl fmt::Display for CalledKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Activity => "activity",
            Self::Orchestration => "orchestration",
        })
    }
}

/// An activity as an entry of [`Orchestration::calls`].
pub fn called<F: CallableFn<M, Handle: Activity>, M>(_activity: F) -> Called {
    let kind = CalledKind::Activity;
    let (tag, elsewhere) = (F::Handle::OPTIONS.tag, F::Handle::ELSEWHERE);
    Called { kind, name: F::Handle::NAME, tag, elsewhere }
}

/// A child orchestration as an entry of [`Orchestration::calls`].
pub fn child<F: CallableFn<M, Handle: Orchestration>, M>(_orchestration: F) -> Called {
    let kind = CalledKind::Orchestration;
    Called { kind, name: F::Handle::NAME, tag: None, elsewhere: false }
}

/// The result of a function, however its type is written: `Result<T, E>` or an alias of it.
#[diagnostic::on_unimplemented(
    message = "an activity or orchestration returns a `Result`, not `{Self}`",
    label = "not a `Result`",
    note = "return `Result<T, E>`; `E` may be `String`, `anyhow::Error` or an error of your own"
)]
pub trait Outcome {
    /// The type in `Ok`.
    type Ok;
    /// The type in `Err`.
    type Error;
}

impl<T, E> Outcome for Result<T, E> {
    type Ok = T;
    type Error = E;
}
