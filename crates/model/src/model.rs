//! The model for the checker.

use stateright::{Model, Property};

use crate::action::{Action, enabled};
use crate::state::State;
use crate::{Config, Promise};

impl Model for Config {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::new(self)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        enabled(self, state, actions);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        state.step(self, action).then(|| state.canonical(self))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        Promise::ALL.iter().map(|promise| promise.property()).collect()
    }
}
