//! States that differ only in names are one state.
//!
//! Tokens matter only by equality, and equal nodes only by what they hold. The checker therefore
//! sees tokens that are numbered in the order in which they appear, and of two orders of equal
//! nodes the smaller one. A run is shown with these names: a node may change its number between
//! two steps.

use crate::Config;
use crate::state::{State, Store, Token};

impl State {
    /// The representative of all states that differ from this one only in names.
    pub(crate) fn canonical(mut self, config: &Config) -> Self {
        let swapped = (config.nodes[0] == config.nodes[1]).then(|| {
            let mut swapped = self.clone();
            swapped.nodes.swap(0, 1);
            swapped.renumber();
            swapped
        });
        self.renumber();
        match swapped {
            Some(swapped) if swapped < self => swapped,
            Some(_) | None => self,
        }
    }

    fn renumber(&mut self) {
        let mut names = Names::default();
        self.store.rename(&mut names);
        for node in &mut self.nodes {
            if let Some(turn) = &mut node.turn {
                names.rename(&mut turn.token);
            }
            if let Some(work) = &mut node.work {
                names.rename(&mut work.token);
            }
        }
        if let Some((token, _)) = &mut self.operator {
            names.rename(token);
        }
        if let Some(backup) = &mut self.backup {
            backup.rename(&mut names);
        }
    }
}

impl Store {
    fn rename(&mut self, names: &mut Names) {
        if let Some(lease) = &mut self.lease {
            names.rename(&mut lease.token);
        }
        for token in self.messages.iter_mut().filter_map(|queued| queued.turn.as_mut()) {
            names.rename(token);
        }
        for lease in self.work.iter_mut().filter_map(|work| work.lease.as_mut()) {
            names.rename(&mut lease.token);
        }
    }
}

/// Tokens in the order of their first appearance.
#[derive(Default)]
struct Names(Vec<Token>);

impl Names {
    fn rename(&mut self, token: &mut Token) {
        let known = self.0.iter().position(|other| other == token);
        let place = known.unwrap_or_else(|| {
            self.0.push(*token);
            self.0.len() - 1
        });
        *token = Token::try_from(place).expect("few tokens are in use at a time");
    }
}
