//! The check before a node starts.

use std::fmt;

use tracing::{info, warn};

use super::checker::Checker;
use crate::providers::{Provider, SemverRange};
use crate::runtime::registry::MissingRegistrations;
use crate::runtime::{ActivityRegistry, OrchestrationRegistry, RuntimeOptions};

/// What a node does before it starts, with the running executions of its store.
///
/// The check reads the history of every running execution, so that a node with many of them starts
/// later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum StartupCheck {
    /// No check.
    #[default]
    Off,
    /// Logs what does not agree with the code of this node, and starts.
    Warn,
    /// Does not start if this node would break an execution: if its code differs from a history,
    /// if a history that it claims to replay cannot be decoded, or if the store cannot be read.
    /// Executions whose handler is missing are only logged, because other nodes may have it.
    Refuse,
}

/// Why a node did not start: functions that are missing, the report of the check, or the trouble
/// of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartupRefusal(Refusal);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Refusal {
    Missing(MissingRegistrations),
    Check(String),
}

impl fmt::Display for StartupRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Refusal::Missing(missing) => write!(f, "the node does not start: {missing}"),
            Refusal::Check(problem) => {
                write!(f, "the node does not start, because of its start-up check: {problem}")
            }
        }
    }
}

impl std::error::Error for StartupRefusal {}

/// Checks that this node has what its orchestrations call, and the running executions as the
/// options say.
pub(crate) async fn before_start(
    store: &dyn Provider,
    (activities, orchestrations): (&ActivityRegistry, &OrchestrationRegistry),
    options: &RuntimeOptions,
) -> Result<(), StartupRefusal> {
    MissingRegistrations::check(activities, orchestrations, options)
        .map_err(|missing| StartupRefusal(Refusal::Missing(missing)))?;
    if options.startup_check == StartupCheck::Off {
        return Ok(());
    }
    let range = options.supported_replay_versions.clone();
    let range = range.unwrap_or_else(SemverRange::default_for_current_build);
    let versions = std::iter::once(range).chain(options.further_replay_versions.iter().cloned());
    let checker = Checker::new(orchestrations.clone())
        .with_activities(activities.clone())
        .with_replay_versions(versions);
    let (problem, breaks) = match checker.check_store(store).await {
        Ok(report) if report.is_compatible() => {
            let checked = report.progress.executions;
            info!(target: "duroxide::runtime", checked, "running executions agree with this code");
            return Ok(());
        }
        Ok(report) => (report.to_string(), report.breaks_executions()),
        Err(error) => (error.to_string(), true),
    };
    if breaks && options.startup_check == StartupCheck::Refuse {
        return Err(StartupRefusal(Refusal::Check(problem)));
    }
    warn!(
        target: "duroxide::runtime", problem,
        "running executions do not agree with this code; starting all the same"
    );
    Ok(())
}
