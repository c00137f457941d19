//! Code in place of an activity.

use std::any::TypeId;
use std::sync::Arc;
use std::time::Duration;

use duroxide_core::model::codec;
use duroxide_core::typed::Callable;

/// What an activity returns, as it is stored.
pub(crate) type Outcome = Result<String, String>;

/// What a mock answers.
#[derive(Clone)]
pub(crate) enum Answers {
    Computed(Arc<dyn Fn(&str) -> Outcome + Send + Sync>),
    /// One for each call.
    Listed(Vec<Outcome>),
    /// None, until the call is cancelled.
    Never,
}

/// A mock as it is declared. Each environment begins with its first answer.
#[derive(Clone)]
pub(crate) struct Mock {
    pub(crate) answers: Answers,
    /// How long each call takes, by the clock of the test.
    pub(crate) takes: Duration,
}

impl Mock {
    pub(crate) fn new(answers: Answers) -> Self {
        Self { answers, takes: Duration::ZERO }
    }

    pub(crate) fn typed<H: Callable>(
        answer: impl Fn(H::Input) -> Result<H::Output, H::Error> + Send + Sync + 'static,
    ) -> Self {
        let computed = move |input: &str| encoded::<H>(answer(decoded_input::<H>(input)?));
        Self::new(Answers::Computed(Arc::new(computed)))
    }

    pub(crate) fn listed<H: Callable>(
        answers: impl IntoIterator<Item = Result<H::Output, H::Error>>,
    ) -> Self {
        Self::new(Answers::Listed(answers.into_iter().map(encoded::<H>).collect()))
    }
}

/// The input of a call. A function without parameters takes any.
pub(crate) fn decoded_input<H: Callable>(input: &str) -> Result<H::Input, String> {
    let takes_none = TypeId::of::<H::Input>() == TypeId::of::<()>();
    let what = || format!("the input of '{}'", H::NAME);
    codec::decode_as(what, if takes_none { "null" } else { input })
}

fn encoded<H: Callable>(outcome: Result<H::Output, H::Error>) -> Outcome {
    match outcome {
        Ok(output) => codec::encode(&output),
        Err(error) => Err(H::encode_error(&error)),
    }
}
