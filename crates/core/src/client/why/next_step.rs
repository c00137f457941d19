//! What an operator can try.

use std::fmt;

use serde::Serialize;

use super::lines::{is_hidden, shown};
use super::{ActivityState, Cause, Outcome, WaitingActivity, Why};
use crate::client::StrandedReason;
use crate::providers::SuspensionOrigin;

/// Something to try.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NextStep {
    /// A command, quoted for a shell; `None` if no command does it.
    pub command: Option<String>,
    /// What it does, or what to do.
    pub text: String,
}

impl NextStep {
    fn command(arguments: &[&str], text: impl Into<String>) -> Self {
        let mut words = vec!["duroxide".to_owned()];
        words.extend(arguments.iter().map(|word| quoted(word)));
        // An id may look like an option.
        if arguments.iter().any(|word| word.starts_with('-')) {
            words.insert(2, "--".to_owned());
        }
        Self { command: Some(words.join(" ")), text: text.into() }
    }

    fn advice(text: impl AsRef<str>) -> Self {
        Self { command: None, text: shown(text.as_ref()) }
    }
}

impl fmt::Display for NextStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.command {
            Some(command) => write!(f, "{command}  ({})", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./:@=+,".contains(it);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if !word.chars().any(is_hidden) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    // The form with escapes, so that no control code reaches the terminal.
    let mut quoted = String::from("$'");
    for character in word.chars() {
        match character {
            '\'' | '\\' => quoted.extend(['\\', character]),
            other if is_hidden(other) => {
                let bytes = other.to_string().into_bytes();
                quoted.extend(bytes.iter().map(|byte| format!("\\x{byte:02x}")));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('\'');
    quoted
}

/// What to try about the cause of an answer.
pub(super) fn next_steps(why: &Why) -> Vec<NextStep> {
    let id = why.instance.as_str();
    let history = || NextStep::command(&["history", id], "shows what it has done");
    match &why.cause {
        Cause::Ended => match why.ended.as_ref().map(|ended| &ended.outcome) {
            Some(Outcome::Failed { .. }) => {
                vec![NextStep::command(&["retry", id], "runs what failed again"), history()]
            }
            Some(Outcome::Completed { .. }) | None => Vec::new(),
        },
        Cause::Suspended => of_suspension(why),
        Cause::TurnStranded { reason } => of_stranded_turn(why, reason),
        Cause::HistoryUndecodable => of_undecodable(why),
        Cause::ActivityStranded { activity_id, reason } => {
            of_stranded_activity(why.activity(*activity_id), reason)
        }
        Cause::NotStarted | Cause::TurnReady => vec![
            NextStep::advice("wait for a free slot, or start another node that runs turns"),
            NextStep::command(&["nodes"], "lists the live nodes and what they run"),
        ],
        Cause::TurnRunning | Cause::TurnDelayed { .. } => {
            vec![NextStep::command(&["watch", id], "shows what happens next")]
        }
        Cause::ActivityRetry { .. } => {
            vec![NextStep::advice("wait for the retry, or mend what the activity needs"), history()]
        }
        Cause::Activity { activity_id } => of_activity(why, *activity_id),
        Cause::Child { instance } => {
            vec![NextStep::command(&["why", instance], "says why the child waits")]
        }
        Cause::Event { name } => {
            vec![NextStep::command(&["raise", id, name], "delivers the event; add DATA")]
        }
        Cause::Queue { name } => {
            vec![NextStep::command(&["enqueue", id, name], "sends a message; add DATA")]
        }
        Cause::Timer { timer_id } => match why.timer(*timer_id).is_some_and(|it| it.is_lost) {
            true => vec![NextStep::command(&["reset", id], "runs it again from its start")],
            false => Vec::new(),
        },
        Cause::Unknown => vec![history()],
    }
}

fn of_suspension(why: &Why) -> Vec<NextStep> {
    let id = why.instance.as_str();
    match why.suspended.as_ref().map(|suspended| suspended.origin) {
        Some(SuspensionOrigin::Replay) => vec![
            NextStep::advice("deploy code that agrees with the history; nodes then go on"),
            NextStep::command(&["resume", id], "tries the code at once"),
            NextStep::command(&["history", id], "shows what the code did before"),
        ],
        Some(SuspensionOrigin::Operator) | None => {
            vec![NextStep::command(&["resume", id], "lets it go on")]
        }
    }
}

fn of_stranded_turn(why: &Why, reason: &StrandedReason) -> Vec<NextStep> {
    let code = match (&why.orchestration, &why.version) {
        (Some(name), Some(version)) => format!("orchestration `{name} {version}`"),
        (Some(name), None) => format!("orchestration `{name}`"),
        (None, _) => "its orchestration".to_owned(),
    };
    let advice = match reason {
        StrandedReason::ReplayVersion(pin) => {
            format!("start a node that replays executions of Duroxide {pin}")
        }
        StrandedReason::HandlerMissing | StrandedReason::HandlerVersionMissing(_) => {
            format!("start a node that has registered {code}")
        }
        StrandedReason::NoNode => format!("start a node that runs turns of {code}"),
        StrandedReason::TagWithoutWorker | StrandedReason::Unknown => {
            format!("check which nodes run {code}")
        }
    };
    with_nodes(advice)
}

fn of_stranded_activity(
    activity: Option<&WaitingActivity>,
    reason: &StrandedReason,
) -> Vec<NextStep> {
    let name = activity.map_or("", |activity| activity.name.as_str());
    let place = match activity.and_then(|activity| activity.tag.as_deref()) {
        Some(tag) => format!("serves tag `{tag}`"),
        None => "serves activities without a tag".to_owned(),
    };
    let advice = match reason {
        StrandedReason::HandlerMissing | StrandedReason::HandlerVersionMissing(_) => {
            format!("start a node that {place} and has registered activity `{name}`")
        }
        StrandedReason::TagWithoutWorker | StrandedReason::NoNode => {
            format!("start a worker that {place} and has registered activity `{name}`")
        }
        StrandedReason::ReplayVersion(_) | StrandedReason::Unknown => {
            format!("check which nodes run activity `{name}`")
        }
    };
    with_nodes(advice)
}

fn with_nodes(advice: String) -> Vec<NextStep> {
    let nodes = NextStep::command(&["nodes"], "lists the live nodes and what they run");
    vec![NextStep::advice(advice), nodes]
}

fn of_undecodable(why: &Why) -> Vec<NextStep> {
    let id = why.instance.as_str();
    let written_by = why.undecodable.as_ref().and_then(|events| events.written_by.as_ref());
    let mut steps = Vec::new();
    if let Some(release) = written_by {
        let text = format!("ask with a build of Duroxide {release}, which wrote the event");
        steps.push(NextStep::advice(text));
    }
    steps.push(NextStep::command(&["history", id], "shows the events as they are stored"));
    steps.push(NextStep::command(&["terminate", id], "ends it without its history"));
    steps
}

fn of_activity(why: &Why, activity_id: u64) -> Vec<NextStep> {
    let wait = |text: &str| vec![NextStep::advice(text)];
    match why.activity(activity_id).map(|activity| &activity.state) {
        Some(ActivityState::Queued { .. }) => with_nodes(
            "wait for a free slot of a worker, or start another worker that serves it".to_owned(),
        ),
        Some(ActivityState::InSession { owner, .. }) => vec![NextStep::advice(format!(
            "wait for worker `{owner}`, which owns the session, or stop it"
        ))],
        Some(ActivityState::Leased { .. }) => {
            wait("wait for the worker; the lease expires if it died")
        }
        Some(ActivityState::Delayed { .. }) => wait("wait for the delay to end"),
        Some(ActivityState::NotQueued | ActivityState::Unknown) | None => {
            let id = why.instance.as_str();
            vec![NextStep::command(&["history", id], "shows what it has done")]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let step = NextStep::command(&["raise", "it's 7", "Go-1"], "");
        assert_eq!(step.command.as_deref(), Some(r"duroxide raise 'it'\''s 7' Go-1"));
        assert_eq!(quoted(""), "''");
        // An id that looks like an option is none.
        let step = NextStep::command(&["raise", "-7", "Go"], "");
        assert_eq!(step.command.as_deref(), Some("duroxide raise -- -7 Go"));
    }

    #[test]
    fn stored_control_codes_do_not_reach_the_terminal() {
        let step = NextStep::command(&["raise", "a\n'b\\", "\u{1b}[31m"], "");
        assert_eq!(step.command.as_deref(), Some(r"duroxide raise $'a\x0a\'b\\' $'\x1b[31m'"));
        assert_eq!(NextStep::advice("wait for \u{1b}[31m`x`").text, "wait for [31m`x`");
    }
}
