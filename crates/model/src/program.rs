//! The code of the instance: two activities, one after the other, and a signal at any time.

use crate::Config;
use crate::state::{CommitId, Message, Status, View};

/// What a turn does, apart from where it is stored.
pub(crate) struct Turn {
    /// The history after the turn.
    pub(crate) after: View,
    /// The activity that it schedules.
    pub(crate) schedules: Option<u8>,
    /// Whether it continues as new, which sends a message to itself.
    pub(crate) continues: bool,
    /// Whether it starts an execution and so pins it.
    pub(crate) pins: bool,
    /// Whether it appends events.
    pub(crate) appends: bool,
    /// Where it appends: the execution, and how many entries its history has before.
    pub(crate) place: (u8, usize),
}

/// Feeds messages to the code. What is late or known already changes nothing.
pub(crate) fn run(config: &Config, view: &View, messages: &[Message], commit: CommitId) -> Turn {
    let mut turn = Turn {
        after: view.clone(),
        schedules: None,
        continues: false,
        pins: false,
        appends: view.status != Status::Ended && !messages.is_empty(),
        place: (view.execution, view.history.len()),
    };
    for message in messages {
        feed(config, &mut turn, *message);
    }
    if turn.appends {
        turn.after.history.push(commit);
    }
    turn
}

fn feed(config: &Config, turn: &mut Turn, message: Message) {
    let after = &mut turn.after;
    match (after.status, message) {
        (Status::Ended, _) => {}
        (Status::New, Message::Start) => {
            after.status = Status::Running;
            (turn.pins, turn.schedules) = (true, Some(0));
        }
        (Status::ContinuedAsNew, Message::Continue) => {
            after.status = Status::Running;
            after.execution += 1;
            after.history.clear();
            turn.place = (after.execution, 0);
            (turn.pins, turn.schedules) = (true, Some(1));
        }
        (Status::New | Status::Running | Status::ContinuedAsNew, Message::Signal) => {
            after.progress.signal = true;
        }
        (Status::Running, Message::Result(activity)) => {
            let is_known =
                std::mem::replace(&mut after.progress.results[usize::from(activity)], true);
            match activity {
                _ if is_known => {}
                0 if config.continues => {
                    after.status = Status::ContinuedAsNew;
                    turn.continues = true;
                }
                0 => turn.schedules = Some(1),
                _ => after.status = Status::Ended,
            }
        }
        (Status::New, Message::Continue | Message::Result(_))
        | (Status::Running, Message::Start | Message::Continue)
        | (Status::ContinuedAsNew, Message::Start | Message::Result(_)) => {}
    }
}
