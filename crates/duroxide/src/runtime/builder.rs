//! The builder of a runtime.

use std::sync::Arc;

use super::check::StartupRefusal;
use super::registry::{IntoState, Register, Registries, RegistryError};
use super::{ActivityRegistry, OrchestrationRegistry, Runtime, RuntimeOptions};
use crate::providers::Provider;

/// Entry point of the builder: `DuroxideRuntime::builder()`.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use duroxide::providers::sqlite::SqliteProvider;
/// use duroxide::runtime::registry::{ActivityRegistry, OrchestrationRegistry};
/// use duroxide::runtime::{DuroxideRuntime, RuntimeOptions};
/// use duroxide::{ActivityContext, Client, OrchestrationContext};
///
/// async fn greet(ctx: OrchestrationContext, name: String) -> Result<String, String> {
///     ctx.schedule_activity("Greeting", name).await
/// }
///
/// async fn greeting(_ctx: ActivityContext, name: String) -> Result<String, String> {
///     Ok(format!("Hello, {name}!"))
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let store = Arc::new(SqliteProvider::new_in_memory().await?);
/// let runtime = DuroxideRuntime::builder()
///     .with_provider(store.clone())
///     .with_activities(ActivityRegistry::builder().register("Greeting", greeting).build())
///     .with_orchestrations(OrchestrationRegistry::builder().register("Greet", greet).build())
///     .with_options(RuntimeOptions::default().with_max_attempts(5))
///     .build()
///     .await?;
///
/// let client = Client::new(store);
/// client.start_orchestration("hello", "Greet", "World").await?;
/// let timeout = Duration::from_secs(30);
/// let outcome = client.wait_for_orchestration_typed::<String>("hello", timeout).await?;
/// assert_eq!(outcome.as_deref(), Ok("Hello, World!"));
///
/// runtime.shutdown(None).await;
/// # Ok(())
/// # })
/// # }
/// ```
#[derive(Debug)]
pub struct DuroxideRuntime;

impl DuroxideRuntime {
    /// Returns a builder with default options and empty registries.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::default()
    }
}

/// Builds and starts a [`Runtime`]. [`DuroxideRuntime`] shows a complete program.
#[derive(Default)]
#[must_use = "a builder does nothing until it is built"]
pub struct RuntimeBuilder {
    provider: Option<Arc<dyn Provider>>,
    activities: ActivityRegistry,
    orchestrations: OrchestrationRegistry,
    registered: Registries,
    options: RuntimeOptions,
}

/// The reason why a runtime cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeBuildError {
    /// The builder has no store.
    #[error("a runtime needs a store: call with_provider first")]
    NoProvider,
    /// The options contradict each other, or no work could be done with them.
    #[error("{0}")]
    Options(String),
    /// The activities have mistakes in their registrations.
    #[error("the activity registry has mistakes: {0}")]
    Activities(#[source] RegistryError),
    /// The orchestrations have mistakes in their registrations.
    #[error("the orchestration registry has mistakes: {0}")]
    Orchestrations(#[source] RegistryError),
    /// The start-up check refuses: this code would break running executions.
    #[error(transparent)]
    StartupCheck(#[from] StartupRefusal),
}

impl RuntimeBuilder {
    /// Sets the store. It is required.
    pub fn with_provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.provider = Some(provider);
        self
    }

    /// Sets the activities that this node runs.
    pub fn with_activities(mut self, activities: ActivityRegistry) -> Self {
        self.activities = activities;
        self
    }

    /// Sets the orchestrations that this node runs.
    pub fn with_orchestrations(mut self, orchestrations: OrchestrationRegistry) -> Self {
        self.orchestrations = orchestrations;
        self
    }

    /// Registers an activity or an orchestration by its function, which has `#[activity]` or
    /// `#[orchestration]`. It adds to the registries that are set.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use duroxide::prelude::*;
    ///
    /// #[activity]
    /// async fn charge(_ctx: ActivityContext, order: u64) -> Result<String, String> {
    ///     Ok(format!("order {order} is paid"))
    /// }
    ///
    /// #[orchestration]
    /// async fn buy(ctx: OrchestrationContext, order: u64) -> Result<String, String> {
    ///     Ok(ctx.call(charge, order).await?)
    /// }
    ///
    /// let store = Arc::new(SqliteProvider::new_in_memory().await?);
    /// // A forgotten registration is an error here, not after the first order.
    /// let builder = DuroxideRuntime::builder().with_provider(store.clone()).register(buy);
    /// let error = builder.build().await.unwrap_err().to_string();
    /// assert!(error.contains("orchestration 'buy' calls activity 'charge'"), "{error}");
    ///
    /// let builder = DuroxideRuntime::builder().with_provider(store).register(buy);
    /// let runtime = builder.register(charge).build().await?;
    /// # runtime.shutdown(Some(0)).await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn register<F: Register<M>, M>(mut self, function: F) -> Self {
        self.registered = function.register_in(self.registered);
        self
    }

    /// Registers the activities of a state, such as a database pool: a value or an `Arc` of a type
    /// that has an `impl` block with `#[activity]`.
    pub fn register_state(mut self, state: impl IntoState) -> Self {
        self.registered.activities = self.registered.activities.register_state(state);
        self
    }

    /// Sets the options.
    pub fn with_options(mut self, options: RuntimeOptions) -> Self {
        self.options = options;
        self
    }

    /// Starts the runtime.
    ///
    /// # Errors
    /// When the store is missing, when the options contradict each other, when a registry was
    /// built with mistakes, or when the start-up check refuses.
    ///
    /// # Examples
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// use duroxide::runtime::{DuroxideRuntime, RuntimeBuildError};
    ///
    /// let error = DuroxideRuntime::builder().build().await.unwrap_err();
    /// assert_eq!(error, RuntimeBuildError::NoProvider);
    /// # });
    /// ```
    pub async fn build(self) -> Result<Arc<Runtime>, RuntimeBuildError> {
        let provider = self.provider.ok_or(RuntimeBuildError::NoProvider)?;
        self.options.check().map_err(RuntimeBuildError::Options)?;
        let activities = self.activities.extended(self.registered.activities);
        let orchestrations = self.orchestrations.extended(self.registered.orchestrations);
        activities.validate().map_err(RuntimeBuildError::Activities)?;
        orchestrations.validate().map_err(RuntimeBuildError::Orchestrations)?;
        let options = self.options;
        Ok(Runtime::try_start_with_options(provider, activities, orchestrations, options).await?)
    }
}

impl std::fmt::Debug for RuntimeBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RuntimeBuilder").field("options", &self.options).finish_non_exhaustive()
    }
}
