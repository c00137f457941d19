//! What an environment is made of, as often as a test needs one.

use std::collections::BTreeMap;
use std::sync::Arc;

use duroxide_core::clock::ManualClock;
use duroxide_core::providers::TagFilter;
use duroxide_core::runtime::{
    ActivityRegistry, MismatchPolicy, OrchestrationRegistry, RuntimeOptions, UnregisteredWork,
};

use crate::env::TestEnv;
use crate::gate::{Gate, Plan};
use crate::handlers::{Surroundings, TestedActivity};
use crate::journal::Journal;
use crate::limits::{ACTIVITIES_MAX, START_MS, TURNS_MAX};
use crate::mock::Mock;

/// The code and the options of environments.
#[derive(Clone)]
pub(crate) struct Blueprint {
    pub(crate) orchestrations: OrchestrationRegistry,
    pub(crate) activities: ActivityRegistry,
    pub(crate) mocks: BTreeMap<String, Mock>,
    pub(crate) options: RuntimeOptions,
}

impl Blueprint {
    pub(crate) fn open(&self, plan: Plan) -> TestEnv {
        let around = Arc::new(Surroundings {
            clock: Arc::new(ManualClock::new(START_MS)),
            gate: Arc::new(Gate::new(plan)),
            journal: Arc::new(Journal::default()),
        });
        let activities = self.activities_within(&around);
        TestEnv::new(around, self.orchestrations.clone(), activities, self.options.clone())
    }

    /// Mocks and the real activities beside them, all with a journal.
    fn activities_within(&self, around: &Arc<Surroundings>) -> ActivityRegistry {
        let mut registry = ActivityRegistry::builder();
        let ignored = self.activities.list_inputs_ignored_on_replay();
        for name in ignored {
            registry = registry.ignore_input_on_replay(name);
        }
        for name in self.activities.list_names() {
            if self.mocks.contains_key(&name) {
                continue;
            }
            if let Some((_version, handler)) = self.activities.resolve_handler(&name) {
                let tested = TestedActivity::real(Arc::clone(around), handler);
                registry = registry.register_handler(name, Arc::new(tested));
            }
        }
        for (name, mock) in &self.mocks {
            let tested = TestedActivity::mocked(Arc::clone(around), mock.clone());
            registry = registry.register_handler(name, Arc::new(tested));
        }
        registry.build()
    }
}

/// A node whose mistakes show at once: disagreements fail, and code that is missing is tried until
/// it is poison, by a clock that skips.
pub(crate) fn options() -> RuntimeOptions {
    RuntimeOptions::default()
        .with_replay_every_turn(true)
        .with_orchestration_concurrency(TURNS_MAX)
        .with_worker_concurrency(ACTIVITIES_MAX)
        .with_worker_tag_filter(TagFilter::Any)
        .with_mismatch_policy(MismatchPolicy::Fail)
        .with_unregistered_work(UnregisteredWork::Backoff)
}
