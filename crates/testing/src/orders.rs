//! Runs a test with completions and messages in other orders.

use crate::builder::TestEnvBuilder;
use crate::env::TestEnv;
use crate::gate::Plan;

impl TestEnvBuilder {
    /// Runs the test once for each seed. The seed decides in which order the results of activities
    /// and the events that the test raises reach the workflows: one at a time, those of one
    /// instance's events in their own order. The same seed gives the same order again.
    ///
    /// Returns what the runs returned, in the order of the seeds.
    pub async fn orders<T, F>(
        self,
        seeds: impl IntoIterator<Item = u64>,
        mut test: impl FnMut(TestEnv) -> F,
    ) -> Vec<T>
    where
        F: Future<Output = T>,
    {
        let blueprint = self.blueprint();
        let mut outcomes = Vec::new();
        for seed in seeds {
            let env = blueprint.open(Plan { order: Some(seed), ..Plan::default() });
            outcomes.push(test(env.clone()).await);
            env.stop().await;
        }
        outcomes
    }
}
