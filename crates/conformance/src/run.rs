//! Running validations.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use crate::limits::VALIDATION_TIME_MAX;
use crate::{Ability, Outcome, ProviderFactory, Report, Validation, all};

/// Runs one validation and panics if the contract is broken.
///
/// # Panics
/// Also if the validation is unknown or does not finish in time.
pub async fn run_validation(factory: &dyn ProviderFactory, category: &str, name: &str) {
    let validation = all()
        .into_iter()
        .find(|validation| validation.category == category && validation.name == name)
        .unwrap_or_else(|| panic!("unknown validation {category}::{name}"));
    run_in_time(factory, &validation).await;
}

/// Runs every validation, one after the other, and reports every failure by name.
pub async fn run_all_validations(factory: &dyn ProviderFactory) -> Report {
    let mut report = Report::default();
    for validation in all() {
        let outcome = judge(factory, &validation).await;
        report.outcomes.push((validation, outcome));
    }
    report
}

async fn judge(factory: &dyn ProviderFactory, validation: &Validation) -> Outcome {
    let mut missing = None;
    let run = async {
        missing = first_missing(factory, validation).await;
        if missing.is_none() {
            run_in_time(factory, validation).await;
        }
    };
    match (catch(run).await, missing) {
        (Ok(()), None) => Outcome::Passed,
        (Ok(()), Some(missing)) => Outcome::Skipped(missing),
        (Err(message), _) => Outcome::Failed(message),
    }
}

/// The first ability that the factory denies or the provider does not declare.
async fn first_missing(factory: &dyn ProviderFactory, validation: &Validation) -> Option<Ability> {
    let mut needs = validation.needs.iter().copied();
    let denied = needs.clone().find(|ability| !factory.can(*ability));
    if denied.is_some() || validation.needs.is_empty() {
        return denied;
    }
    let provider = factory.create_provider().await;
    needs.find(|ability| !ability.is_met_by(provider.as_ref()))
}

async fn run_in_time(factory: &dyn ProviderFactory, validation: &Validation) {
    let run = (validation.run)(factory);
    if tokio::time::timeout(VALIDATION_TIME_MAX, run).await.is_err() {
        panic!("did not finish within {VALIDATION_TIME_MAX:?}");
    }
}

/// Polls a future and converts its panic into a message.
async fn catch(future: impl Future<Output = ()>) -> Result<(), String> {
    let mut future = pin!(future);
    poll_fn(|context| {
        // The future is not polled again after a panic, so its broken state is never observed.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(())) => Poll::Ready(Ok(())),
            Err(panic) => Poll::Ready(Err(message_of(panic.as_ref()))),
        }
    })
    .await
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("panicked without a message")
        .to_owned()
}
