//! Orchestrations and activities as types: what `#[activity]` and `#[orchestration]` write, and
//! what typed calls, registrations and starts are made of.
//!
//! A function that has one of the attributes returns [`Recorded`], which names the *handle* of the
//! function: a type of the same name that implements [`Callable`]. So a function in the position
//! of a value is enough to find name, input, output and error at compile time.

mod call_error;
mod callable;
mod error_kind;
mod error_text;
mod function_impls;
mod functions;
mod hint;
mod input;
mod options;
mod recorded;
mod retry;
mod signal;

pub use call_error::CallError;
pub use callable::{Activity, Callable, Called, CalledKind, Orchestration, Outcome, called, child};
pub(crate) use error_kind::TIMED_OUT;
pub(crate) use error_text::StoredError;
pub use error_text::{AsJson, AsText, ErrorText, RecordedError, decode_error, encode_error};
pub use functions::{CallableFn, CodeContext, Method, MethodFn, RecordedFn, assert_context};
pub use hint::{DefaultHint, HintOf, RetryHint, Retryable};
pub use input::CallInput;
pub use options::CallOptions;
pub use recorded::Recorded;
pub use retry::Retry;
pub use signal::{PayloadError, Queue, Signal};
