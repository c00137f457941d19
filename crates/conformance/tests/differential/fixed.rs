//! Cases in which stores have disagreed. The property may need thousands of cases to meet them.

use crate::op::{Code, Fact, Filter, Known, Mark, Message, Op, Turn};
use crate::steps::Steps;

const LEASE: u64 = 5_000;

/// All cases, with what each is about.
pub(crate) fn cases() -> [(&'static str, Steps); 4] {
    [
        ("a pin of an instance that is not stored", pin_of_an_instance_that_is_not_stored()),
        ("the values of an execution that the caller holds", values_of_a_known_execution()),
        ("a direct turn that starts an execution", direct_turn_that_starts_an_execution()),
        ("a start behind a delayed one", start_behind_a_delayed_one()),
    ]
}

fn start(version: bool, delay: Option<u64>) -> Op {
    Op::Send { message: Message::Start { instance: 0, version }, delay }
}

fn fetch(code: Code, known: Known) -> Op {
    Op::FetchTurns { turns_max: 1, lease: LEASE, filter: Filter::Off, code, known }
}

fn fetched_and_committed(turn: Turn) -> [Op; 2] {
    let fetch = Op::FetchTurn { lease: LEASE, filter: Filter::Off };
    [fetch, Op::Commit { back: 0, turn, plain_ack: false }]
}

// A turn without a name does not store the instance, so that its pin holds no node off.
fn pin_of_an_instance_that_is_not_stored() -> Steps {
    let turn =
        Turn { pin: Some(0), messages: vec![Message::Signal(0)], is_named: false, ..Turn::named() };
    let mut steps = vec![start(false, None)];
    steps.extend(fetched_and_committed(turn));
    steps.push(Op::FetchTurn { lease: LEASE, filter: Filter::Ranges(vec![(1, 1)]) });
    Steps(steps)
}

fn values_of_a_known_execution() -> Steps {
    let turn = Turn {
        events: vec![Fact::Set { key: 0, value: 0 }],
        messages: vec![Message::Signal(0)],
        status: Some("Completed"),
        ..Turn::named()
    };
    let mut steps = vec![start(false, None)];
    steps.extend(fetched_and_committed(turn));
    steps.push(fetch(None, Known::Newest));
    Steps(steps)
}

// Without a pin and a status, nothing but its number shows that the execution is new.
fn direct_turn_that_starts_an_execution() -> Steps {
    let mut steps = vec![start(false, None)];
    steps.extend(fetched_and_committed(Turn::named()));
    let turn = Turn { next_execution: true, ..Turn::named() };
    let (instance, mark, finished) = (Some(0), Mark::Newest, Vec::new());
    steps.push(Op::CommitDirect { instance, mark, turn, finished });
    Steps(steps)
}

// The first start decides about the code, even while it is delayed.
fn start_behind_a_delayed_one() -> Steps {
    Steps(vec![start(false, Some(1_000)), start(true, None), fetch(Some(vec![0]), Known::Nothing)])
}
