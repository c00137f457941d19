//! Every prefix of a random run continues: the code agrees with it, and goes on.

use duroxide_core::client::{LaterMessages, MendOptions, MendPlan, MendPoint};
use duroxide_core::engine::{Execution, TurnResult};
use duroxide_core::histories::RecordedHistory;
use duroxide_core::{Event, WorkItem};
use proptest::prelude::*;

use super::config;
use super::program::{Block, program};
use super::subject::{Keeping, Subject};
use super::world::{TURNS_MAX, World};
use crate::notation::INSTANCE;

/// Runs a program, and mends each of its executions at every event.
fn continues_at_every_event(program: &Block, pin: &str, seed: u64) -> Result<(), TestCaseError> {
    let mut world = World::new(seed);
    let mut subject = Subject::new(program.clone(), pin, Keeping::Warm);
    for _turn in 0..TURNS_MAX {
        let batch = world.batch();
        let turn = subject.run_turn(&batch);
        if turn.result != TurnResult::Continue {
            mend_at_every_event(&subject)?;
        }
        if !world.commit(&turn, &subject.history) {
            return Ok(());
        }
    }
    Err(TestCaseError::fail("all actions completed and the program did not"))
}

fn mend_at_every_event(subject: &Subject) -> Result<(), TestCaseError> {
    let execution_id = subject.history[0].execution_id;
    let history = RecordedHistory::new(INSTANCE, execution_id, subject.history.clone());
    for messages in [LaterMessages::Reapply, LaterMessages::Drop] {
        let options = MendOptions::default().with_messages(messages);
        for event in &subject.history {
            let point = MendPoint::Event(event.event_id);
            let plan = MendPlan::of_history(&history, point, &options);
            go_on(subject, &plan.expect("every event is a point"))?;
        }
    }
    Ok(())
}

/// The turn that follows, and the replay of both.
fn go_on(subject: &Subject, plan: &MendPlan) -> Result<(), TestCaseError> {
    let mut events: Vec<Event> = plan.history().events.clone();
    let execution_id = events[0].execution_id;
    let agreed = Execution::verify(subject.setup(), &events);
    prop_assert!(agreed.is_ok(), "{agreed:?}\n{plan}");
    let now_ms = events.last().expect("a start").timestamp_ms + 1;
    let execution = Execution::open(subject.setup(), &events);
    let mut execution = execution.expect("the history starts with OrchestrationStarted");
    let wake = WorkItem::TimerFired {
        instance: INSTANCE.to_owned(),
        execution_id: 0,
        id: 0,
        fire_at_ms: 0,
    };
    let turn = execution.advance(vec![wake], now_ms);
    if let TurnResult::Failed(details) = &turn.result {
        let text = details.display_message();
        prop_assert!(!text.starts_with("nondeterministic"), "{text}\n{plan}");
    }
    prop_assert!(turn.events.iter().all(|event| event.execution_id == execution_id));
    events.extend(turn.events);
    let agreed = Execution::verify(subject.setup(), &events);
    prop_assert!(agreed.is_ok(), "after a turn: {agreed:?}\n{plan}");
    Ok(())
}

proptest! {
    #![proptest_config(config(120))]

    #[test]
    fn a_program_goes_on_from_any_event(program in program(), seed: u64) {
        continues_at_every_event(&program, "0.2.0", seed)?;
    }
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn a_program_goes_on_from_any_event_with_the_rules_of_0_1_30(program in program(), seed: u64) {
        continues_at_every_event(&program, "0.1.30", seed)?;
    }
}
