//! The activities of an environment: mocks and real code, with a journal.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use duroxide_core::ActivityContext;
use duroxide_core::clock::{Clock, ManualClock, millis};
use duroxide_core::runtime::ActivityHandler;

use crate::gate::Gate;
use crate::journal::{Journal, RecordedCall};
use crate::limits::START_MS;
use crate::mock::{Answers, Mock, Outcome};

/// What the activities of one environment share.
pub(crate) struct Surroundings {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) journal: Arc<Journal>,
}

/// The code behind one name.
pub(crate) struct TestedActivity {
    around: Arc<Surroundings>,
    code: Code,
}

enum Code {
    Real(Arc<dyn ActivityHandler>),
    Mock { mock: Mock, left: Mutex<VecDeque<Outcome>> },
}

impl TestedActivity {
    pub(crate) fn real(around: Arc<Surroundings>, handler: Arc<dyn ActivityHandler>) -> Self {
        Self { around, code: Code::Real(handler) }
    }

    pub(crate) fn mocked(around: Arc<Surroundings>, mock: Mock) -> Self {
        let left = match &mock.answers {
            Answers::Listed(answers) => answers.iter().cloned().collect(),
            Answers::Computed(_) | Answers::Never => VecDeque::new(),
        };
        Self { around, code: Code::Mock { mock, left: Mutex::new(left) } }
    }

    fn note(&self, ctx: &ActivityContext, input: &str) {
        self.around.journal.note(RecordedCall {
            activity: ctx.activity_name().to_owned(),
            instance_id: ctx.instance_id().to_owned(),
            input: input.to_owned(),
            attempt: ctx.attempt(),
            at_ms: self.around.clock.now_ms().saturating_sub(START_MS),
        });
    }

    /// Waits by the clock of the test, which may skip meanwhile.
    async fn sleep(&self, ctx: &ActivityContext, until: Option<u64>) {
        let _asleep = self.around.gate.fall_asleep(until);
        match until {
            Some(until) => {
                tokio::select! {
                    () = self.around.clock.sleep_until(until) => {}
                    () = ctx.cancelled() => {}
                }
            }
            None => ctx.cancelled().await,
        }
    }
}

#[async_trait]
impl ActivityHandler for TestedActivity {
    async fn invoke(&self, ctx: ActivityContext, input: String) -> Outcome {
        self.note(&ctx, &input);
        let (mock, left) = match &self.code {
            Code::Real(handler) => return handler.invoke(ctx, input).await,
            Code::Mock { mock, left } => (mock, left),
        };
        if !mock.takes.is_zero() {
            let until = self.around.clock.now_ms().saturating_add(millis(mock.takes));
            self.sleep(&ctx, Some(until)).await;
        }
        match &mock.answers {
            Answers::Computed(answer) => answer(&input),
            Answers::Listed(answers) => {
                let next = left.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                next.unwrap_or_else(|| {
                    let (name, count) = (ctx.activity_name(), answers.len());
                    Err(format!("the mock of '{name}' has no more than {count} answers"))
                })
            }
            Answers::Never => {
                self.sleep(&ctx, None).await;
                Err("cancelled".to_owned())
            }
        }
    }
}
