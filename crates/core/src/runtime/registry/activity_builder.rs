//! Collecting activities. They have one version.

use std::future::Future;
use std::sync::Arc;

use serde::{Serialize, de::DeserializeOwned};

use super::builder::Registration;
use super::versions::UNVERSIONED;
use super::{ActivityRegistry, ActivityRegistryBuilder};
use crate::model::{codec, syscall};
use crate::runtime::activity_handler::BlockingActivity;
use crate::runtime::{ActivityContext, ActivityHandler, FnActivity};

const DUPLICATE: &str = "duplicate activity registration";
const DUPLICATE_IN_MERGE: &str = "duplicate activity in merge";

impl ActivityRegistryBuilder {
    /// Earlier spelling of [`builder_from`](super::Registry::builder_from).
    pub fn from_registry(registry: &ActivityRegistry) -> Self {
        ActivityRegistry::builder_from(registry)
    }

    /// Registers an activity.
    pub fn register<F, Fut>(self, name: impl Into<String>, f: F) -> Self
    where
        F: Fn(ActivityContext, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        self.add_activity(name.into(), Arc::new(FnActivity(f)))
    }

    /// Registers an activity with decoded input and encoded output.
    pub fn register_typed<In, Out, F, Fut>(self, name: impl Into<String>, f: F) -> Self
    where
        In: DeserializeOwned + Send + 'static,
        Out: Serialize + Send + 'static,
        F: Fn(ActivityContext, In) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Out, String>> + Send + 'static,
    {
        let handler = FnActivity(move |ctx, input: String| {
            let running = codec::decode(&input).map(|input| f(ctx, input));
            async move { codec::encode(&running?.await?) }
        });
        self.add_activity(name.into(), Arc::new(handler))
    }

    /// Registers an activity that blocks its thread: it computes for long, sleeps, or calls code
    /// that is not async. It runs on one of the threads that tokio keeps for such work, so it
    /// holds up nothing else.
    ///
    /// A thread cannot be aborted: when a cancelled activity does not return within its grace, its
    /// slot is free but the thread goes on. Look at [`ActivityContext::is_cancelled`] now and then.
    pub fn register_blocking<F>(self, name: impl Into<String>, f: F) -> Self
    where
        F: Fn(ActivityContext, String) -> Result<String, String> + Send + Sync + 'static,
    {
        self.add_activity(name.into(), Arc::new(BlockingActivity(Arc::new(f))))
    }

    /// Adds the activities of another registry.
    pub fn merge(self, other: ActivityRegistry) -> Self {
        self.merge_registry(other, DUPLICATE_IN_MERGE)
    }

    /// Registers each.
    pub fn register_all<F, Fut>(self, handlers: Vec<(&str, F)>) -> Self
    where
        F: Fn(ActivityContext, String) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        self.register_all_handlers(handlers, |builder, name, f| builder.register(name, f))
    }

    fn add_activity(mut self, name: String, handler: Arc<dyn ActivityHandler>) -> Self {
        if name.starts_with(syscall::PREFIX) {
            self.mistake(format!(
                "activity name '{name}' uses reserved prefix '{}'",
                syscall::PREFIX
            ));
        } else {
            self.add(Registration { name, version: UNVERSIONED }, handler, DUPLICATE);
        }
        self
    }
}
