//! Each instance has the clock of the server that holds it.

use std::sync::Arc;

use duroxide::OrchestrationContext;
use duroxide::providers::{Clock, ManualClock, Provider};

use crate::support::{Mode, NOW_MS, Node, activities, in_every_mode, memory, orchestrations};

/// Time of the server in the east.
const EAST_MS: u64 = NOW_MS + 1_000_000;
/// Time of the server in the west.
const WEST_MS: u64 = NOW_MS + 2_000_000;

/// A store on two servers, as far as clocks go.
struct TwoServers {
    inner: Arc<dyn Provider>,
}

impl Provider for TwoServers {
    fn inner(&self) -> Option<&dyn Provider> {
        Some(self.inner.as_ref())
    }

    fn clock_of(&self, instance: &str) -> Arc<dyn Clock> {
        let now = if instance.starts_with("east") { EAST_MS } else { WEST_MS };
        Arc::new(ManualClock::new(now))
    }

    duroxide::providers::forward_provider! { this => this.inner }
}

async fn two_steps(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.schedule_activity("Echo", input.clone()).await?;
    ctx.schedule_activity("Echo", input).await
}

async fn a_turn_has_the_time_of_its_own_server(mode: Mode) {
    let store: Arc<dyn Provider> = Arc::new(TwoServers { inner: memory().await });
    let registry = orchestrations().register("TwoSteps", two_steps);
    let echo = activities().register("Echo", |_, input: String| async move { Ok(input) });
    let node = Node::on(&store, mode.options(), registry, echo).await;
    for (instance, now) in [("east", EAST_MS), ("west", WEST_MS)] {
        assert_eq!(node.run(instance, "TwoSteps", "done").await, "done");
        let history = node.history(instance).await;
        assert!(history.iter().all(|event| event.timestamp_ms == now), "{history:?}");
    }
    node.stop().await;
}

in_every_mode! {
    a_turn_has_the_time_of_its_own_server,
}
