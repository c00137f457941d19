//! The code that nodes run. A gate is a file: code waits until the test creates it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{ActivityContext, Either2, OrchestrationContext, OrchestrationRegistry};

use crate::cluster::Cluster;
use crate::journal::{Journal, POLL_INTERVAL};

/// The gates of one test. The test opens them.
#[derive(Debug, Clone)]
pub(crate) struct Gates {
    folder: PathBuf,
}

impl Gates {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    pub(crate) fn open(&self, name: &str) {
        std::fs::write(self.path(name), "").unwrap();
    }

    fn is_open(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("gate-{name}"))
    }
}

impl Cluster {
    /// The gates that the test opens for its nodes.
    pub(crate) fn gates(&self) -> Gates {
        Gates::new(self.folder.path())
    }
}

pub(crate) fn activities(journal: &Journal, gates: &Gates) -> ActivityRegistry {
    let (held, quick, aborts) =
        ((journal.clone(), gates.clone()), journal.clone(), journal.clone());
    ActivityRegistry::builder()
        // Waits for its gate or for its cancellation.
        .register("Held", move |ctx: ActivityContext, _: String| {
            let (journal, gates) = held.clone();
            async move {
                journal.write("started", ctx.instance_id());
                let open = async {
                    while !gates.is_open(ctx.instance_id()) {
                        tokio::time::sleep(POLL_INTERVAL).await;
                    }
                };
                tokio::select! {
                    () = ctx.cancelled() => journal.write("cancelled", ctx.instance_id()),
                    () = open => journal.write("completed", ctx.instance_id()),
                }
                Ok(std::process::id().to_string())
            }
        })
        .register("Sleep", |_: ActivityContext, millis: String| async move {
            tokio::time::sleep(Duration::from_millis(millis.parse().unwrap())).await;
            Ok(std::process::id().to_string())
        })
        .register("Quick", move |ctx: ActivityContext, _: String| {
            quick.write("quick", ctx.instance_id());
            async move { Ok(std::process::id().to_string()) }
        })
        .register("Abort", move |ctx: ActivityContext, _: String| {
            aborts.write("started", ctx.instance_id());
            async move { std::process::abort() }
        })
        .build()
}

pub(crate) fn orchestrations(journal: &Journal, gates: &Gates) -> OrchestrationRegistry {
    let (journal, aborts, gates) = (journal.clone(), journal.clone(), gates.clone());
    OrchestrationRegistry::builder()
        .register("Held", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("Held", "").await
        })
        .register("Sleep", |ctx: OrchestrationContext, millis: String| async move {
            ctx.schedule_activity("Sleep", millis).await
        })
        .register("Quick", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("Quick", "").await
        })
        .register("Abort", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("Abort", "").await
        })
        .register("Race", |ctx: OrchestrationContext, _: String| async move {
            let held = ctx.schedule_activity("Held", "");
            match ctx.select2(held, ctx.schedule_wait("Enough")).await {
                Either2::First(_) => Err("the activity won".to_owned()),
                Either2::Second(_) => Ok(ctx.schedule_wait("End").await),
            }
        })
        .register("Session", |ctx: OrchestrationContext, session: String| async move {
            let first = ctx.schedule_activity_on_session("Quick", "", session.as_str()).await?;
            ctx.schedule_wait("Go").await;
            let second = ctx.schedule_activity_on_session("Quick", "", session.as_str()).await?;
            Ok(format!("{first} {second}"))
        })
        .register("Tagged", |ctx: OrchestrationContext, tag: String| async move {
            let call = ctx.schedule_activity("Quick", "");
            if tag.is_empty() { call.await } else { call.with_tag(tag).await }
        })
        // Returns the process that ran its last turn. Only a return value may depend on that.
        .register("Turn", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_wait("Go").await;
            Ok(std::process::id().to_string())
        })
        // Its code aborts the process after its activity.
        .register("AbortAfter", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("Quick", "").await?;
            std::process::abort()
        })
        .register("AbortTurn", move |ctx: OrchestrationContext, _: String| {
            aborts.write("turn", &ctx.instance_id());
            async move { std::process::abort() }
        })
        // Its first turn blocks until the gate is open, as a slow turn does. Real code must not.
        .register("LongTurn", move |ctx: OrchestrationContext, _: String| {
            journal.write("turn", &ctx.instance_id());
            while !gates.is_open(&ctx.instance_id()) {
                std::thread::sleep(POLL_INTERVAL);
            }
            journal.write("decided", &ctx.instance_id());
            async move { ctx.schedule_activity("Quick", "").await }
        })
        .build()
}
