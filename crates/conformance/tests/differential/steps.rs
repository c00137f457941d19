//! Sequences of operations.

use proptest::prelude::*;

use crate::op::Op;
use crate::random_ops::{advance, id, op, store_op, turn_op, work_op};

const STEPS_MAX: usize = 80;

/// A sequence of steps that prints one step per line.
#[derive(Clone)]
pub(crate) struct Steps(pub(crate) Vec<Op>);

impl std::fmt::Debug for Steps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().enumerate().try_for_each(|(number, step)| write!(f, "\n{number}: {step:?}"))
    }
}

fn steps_of(op: BoxedStrategy<Op>) -> BoxedStrategy<Steps> {
    prop::collection::vec(op, 1..STEPS_MAX).prop_map(Steps).boxed()
}

/// Sequences of all operations, and denser ones of only turns or only activities.
pub(crate) fn steps() -> BoxedStrategy<Steps> {
    prop_oneof![
        2 => steps_of(op()),
        1 => steps_of(prop_oneof![8 => turn_op(), 2 => store_op(), 2 => advance()].boxed()),
        1 => steps_of(prop_oneof![6 => work_op(), 1 => advance()].boxed()),
    ]
    .boxed()
}

/// Sequences that also corrupt stored histories.
pub(crate) fn steps_with_corruption() -> BoxedStrategy<Steps> {
    steps_of(prop_oneof![12 => op(), 1 => id().prop_map(Op::Corrupt)].boxed())
}
