//! Whether a run can go on for ever.
//!
//! The checker visits states, not runs: a cycle of states in which nothing is committed would
//! escape it. This search follows the runs themselves and finds a state that leads back to itself.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use stateright::Model;

use crate::Config;
use crate::state::State;

/// What a search of all runs has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runs {
    /// Different states.
    pub states: usize,
    /// Steps of the longest path that the search followed.
    pub depth: usize,
    /// Whether a state leads back to itself.
    pub has_cycle: bool,
}

/// Follows every run from the first state.
pub fn explore_runs(config: &Config) -> Runs {
    let mut is_open = HashMap::new();
    let mut runs = Runs { states: 0, depth: 0, has_cycle: false };
    let mut path: Vec<(u64, Vec<State>)> = Vec::new();
    for state in config.init_states() {
        path.push(open(config, &state, &mut is_open));
    }
    while let Some((id, next)) = path.last_mut() {
        let Some(state) = next.pop() else {
            is_open.insert(*id, false);
            path.pop();
            continue;
        };
        match is_open.get(&fingerprint(&state)) {
            Some(true) => runs.has_cycle = true,
            Some(false) => {}
            None => path.push(open(config, &state, &mut is_open)),
        }
        runs.depth = runs.depth.max(path.len());
    }
    runs.states = is_open.len();
    runs
}

fn open(config: &Config, state: &State, is_open: &mut HashMap<u64, bool>) -> (u64, Vec<State>) {
    let id = fingerprint(state);
    is_open.insert(id, true);
    (id, config.next_states(state))
}

fn fingerprint(state: &State) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}
