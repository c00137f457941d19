//! The builder of an activity registry. An activity has one version.

use std::future::Future;
use std::sync::Arc;

use serde::{Serialize, de::DeserializeOwned};

use super::builder::Registration;
use super::mistakes::RegistrationMistake;
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
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::ActivityContext;
    /// use duroxide::runtime::registry::ActivityRegistry;
    ///
    /// let activities = ActivityRegistry::builder()
    ///     .register("Ship", |ctx: ActivityContext, order: String| async move {
    ///         ctx.trace_info("shipping");
    ///         Ok(format!("shipped: {order}"))
    ///     })
    ///     .build();
    /// assert!(activities.has("Ship"));
    /// ```
    pub fn register<F, Fut>(self, name: impl Into<String>, f: F) -> Self
    where
        F: Fn(ActivityContext, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        self.add_activity(name.into(), Arc::new(FnActivity(f)))
    }

    /// Registers an activity whose code is a value.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use std::sync::Arc;
    ///
    /// use duroxide::ActivityContext;
    /// use duroxide::runtime::FnActivity;
    /// use duroxide::runtime::registry::ActivityRegistry;
    ///
    /// async fn ship(_ctx: ActivityContext, order: String) -> Result<String, String> {
    ///     Ok(format!("shipped: {order}"))
    /// }
    ///
    /// let handler = Arc::new(FnActivity(ship));
    /// let activities = ActivityRegistry::builder().register_handler("Ship", handler).build();
    /// assert!(activities.has("Ship"));
    /// ```
    pub fn register_handler(
        self,
        name: impl Into<String>,
        handler: Arc<dyn ActivityHandler>,
    ) -> Self {
        self.add_activity(name.into(), handler)
    }

    /// Registers an activity whose input is decoded and whose output is encoded.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::ActivityContext;
    /// use duroxide::runtime::registry::ActivityRegistry;
    ///
    /// async fn price(_ctx: ActivityContext, quantity: u32) -> Result<u32, String> {
    ///     quantity.checked_mul(4).ok_or_else(|| "too many".to_owned())
    /// }
    ///
    /// let activities = ActivityRegistry::builder().register_typed("Price", price).build();
    /// assert!(activities.has("Price"));
    /// ```
    pub fn register_typed<In, Out, F, Fut>(self, name: impl Into<String>, f: F) -> Self
    where
        In: DeserializeOwned + Send + 'static,
        Out: Serialize + Send + 'static,
        F: Fn(ActivityContext, In) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Out, String>> + Send + 'static,
    {
        let name = name.into();
        let own_name = name.clone();
        let handler = FnActivity(move |ctx, input: String| {
            let what = || format!("the input of activity '{own_name}'");
            let running = codec::decode_as(what, &input).map(|input| f(ctx, input));
            async move { codec::encode(&running?.await?) }
        });
        self.add_activity(name, Arc::new(handler))
    }

    /// Registers an activity that blocks its thread: it computes for long, sleeps, or calls code
    /// that is not async. It runs on one of tokio's threads for blocking work, so it delays no
    /// other task.
    ///
    /// A thread cannot be aborted: if a cancelled activity does not return within its grace
    /// period, the runtime frees its slot, but the thread keeps running. Check
    /// [`ActivityContext::is_cancelled`] regularly.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::ActivityContext;
    /// use duroxide::runtime::registry::ActivityRegistry;
    ///
    /// fn checksum(ctx: ActivityContext, data: String) -> Result<String, String> {
    ///     let mut sum = 0_u64;
    ///     for chunk in data.as_bytes().chunks(4096) {
    ///         if ctx.is_cancelled() {
    ///             return Err("cancelled".to_owned());
    ///         }
    ///         sum += chunk.iter().map(|byte| u64::from(*byte)).sum::<u64>();
    ///     }
    ///     Ok(sum.to_string())
    /// }
    ///
    /// let activities =
    ///     ActivityRegistry::builder().register_blocking("Checksum", checksum).build();
    /// assert!(activities.has("Checksum"));
    /// ```
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

    /// Registers every pair of a name and an activity.
    pub fn register_all<F, Fut>(self, handlers: Vec<(&str, F)>) -> Self
    where
        F: Fn(ActivityContext, String) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        self.register_all_handlers(handlers, |builder, name, f| builder.register(name, f))
    }

    fn add_activity(mut self, name: String, handler: Arc<dyn ActivityHandler>) -> Self {
        if name.starts_with(syscall::PREFIX) {
            let prefix = syscall::PREFIX;
            self.add_mistake(RegistrationMistake::ReservedPrefix { name, prefix });
        } else {
            self.add(Registration { name, version: UNVERSIONED }, handler, DUPLICATE);
        }
        self
    }
}
