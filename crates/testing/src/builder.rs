//! The builder of a test environment.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use duroxide_core::runtime::registry::{IntoState, Register, Registries};
use duroxide_core::runtime::{ActivityRegistry, OrchestrationRegistry, RuntimeOptions};
use duroxide_core::typed::{Activity, Callable, CallableFn};

use crate::blueprint::{self, Blueprint};
use crate::env::TestEnv;
use crate::gate::Plan;
use crate::mock::{Answers, Mock};

/// Collects the code of a test environment. A mock takes the place of the activity that is
/// registered under its name.
///
/// # Examples
///
/// ```
/// # extern crate duroxide_core as duroxide;
/// # use duroxide_core::{ActivityContext, OrchestrationContext};
/// # use duroxide_macros::{activity, orchestration};
/// # use duroxide_testing::TestEnv;
/// # #[activity]
/// # async fn charge(_ctx: ActivityContext, cents: u64) -> Result<String, String> {
/// #     Ok(format!("{cents} cents charged"))
/// # }
/// #
/// # #[orchestration]
/// # async fn buy(ctx: OrchestrationContext, cents: u64) -> Result<String, String> {
/// #     ctx.schedule_timer(std::time::Duration::from_secs(3 * 24 * 3600)).await;
/// #     Ok(ctx.call(charge, cents).await?)
/// # }
/// #
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let env = TestEnv::builder()
///     .register(buy)
///     .mock_sequence(charge, [Err("no money".to_owned()), Ok("paid".to_owned())])
///     .build();
/// let first = env.start(buy, "order-17", 1200).await?;
/// assert!(env.result(&first).await.is_err());
/// let second = env.start(buy, "order-18", 1200).await?;
/// assert_eq!(env.result(&second).await?, "paid");
/// # Ok(())
/// # }
/// ```
#[must_use = "a builder does nothing until it is built"]
pub struct TestEnvBuilder {
    registries: Registries,
    mocks: BTreeMap<String, Mock>,
    options: RuntimeOptions,
}

impl fmt::Debug for TestEnvBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mocks: Vec<&String> = self.mocks.keys().collect();
        f.debug_struct("TestEnvBuilder").field("mocks", &mocks).finish_non_exhaustive()
    }
}

impl Default for TestEnvBuilder {
    fn default() -> Self {
        let (registries, mocks) = (Registries::default(), BTreeMap::new());
        Self { registries, mocks, options: blueprint::options() }
    }
}

impl TestEnvBuilder {
    /// Registers an orchestration or a real activity by its function.
    pub fn register<F, M>(mut self, function: F) -> Self
    where
        F: Register<M>,
    {
        self.registries = function.register_in(self.registries);
        self
    }

    /// Registers the real activities of a state: a value or an `Arc` of a type that has an `impl`
    /// block with `#[activity]`.
    pub fn register_state(mut self, state: impl IntoState) -> Self {
        self.registries.activities = self.registries.activities.register_state(state);
        self
    }

    /// Adds orchestrations that are registered by name.
    pub fn orchestrations(mut self, registry: OrchestrationRegistry) -> Self {
        self.registries.orchestrations = self.registries.orchestrations.merge(registry);
        self
    }

    /// Adds real activities that are registered by name or with their state.
    pub fn activities(mut self, registry: ActivityRegistry) -> Self {
        self.registries.activities = self.registries.activities.merge(registry);
        self
    }

    /// Answers the calls of an activity with this function.
    pub fn mock<F, M>(
        self,
        activity: F,
        answer: impl Fn(
            <F::Handle as Callable>::Input,
        )
            -> Result<<F::Handle as Callable>::Output, <F::Handle as Callable>::Error>
        + Send
        + Sync
        + 'static,
    ) -> Self
    where
        F: CallableFn<M, Handle: Activity>,
    {
        self.with_mock(activity, Mock::typed::<F::Handle>(answer))
    }

    /// Like [`mock`](Self::mock), and each call takes this long by the clock of the test.
    pub fn mock_taking<F, M>(
        self,
        activity: F,
        takes: Duration,
        answer: impl Fn(
            <F::Handle as Callable>::Input,
        )
            -> Result<<F::Handle as Callable>::Output, <F::Handle as Callable>::Error>
        + Send
        + Sync
        + 'static,
    ) -> Self
    where
        F: CallableFn<M, Handle: Activity>,
    {
        self.with_mock(activity, Mock { takes, ..Mock::typed::<F::Handle>(answer) })
    }

    /// Answers the calls of an activity with these, one after the other. A call for which none is
    /// left fails.
    pub fn mock_sequence<F, M>(
        self,
        activity: F,
        answers: impl IntoIterator<
            Item = Result<<F::Handle as Callable>::Output, <F::Handle as Callable>::Error>,
        >,
    ) -> Self
    where
        F: CallableFn<M, Handle: Activity>,
    {
        self.with_mock(activity, Mock::listed::<F::Handle>(answers))
    }

    /// Never answers the calls of an activity: they end when they are cancelled. The clock skips
    /// meanwhile.
    pub fn mock_pending<F, M>(self, activity: F) -> Self
    where
        F: CallableFn<M, Handle: Activity>,
    {
        self.with_mock(activity, Mock::new(Answers::Never))
    }

    /// Answers the calls of the activity of this name. Input and result are as they are stored.
    pub fn mock_named(
        mut self,
        activity: impl Into<String>,
        answer: impl Fn(&str) -> Result<String, String> + Send + Sync + 'static,
    ) -> Self {
        self.mocks.insert(activity.into(), Mock::new(Answers::Computed(Arc::new(answer))));
        self
    }

    /// The form of [`mock_sequence`](Self::mock_sequence) for an activity of this name.
    pub fn mock_sequence_named(
        mut self,
        activity: impl Into<String>,
        answers: impl IntoIterator<Item = Result<String, String>>,
    ) -> Self {
        let answers = Answers::Listed(answers.into_iter().collect());
        self.mocks.insert(activity.into(), Mock::new(answers));
        self
    }

    fn with_mock<F, M>(mut self, activity: F, mock: Mock) -> Self
    where
        F: CallableFn<M, Handle: Activity>,
    {
        // Only its type counts.
        drop(activity);
        self.mocks.insert(F::Handle::NAME.to_owned(), mock);
        self
    }

    /// Whether each turn is replayed cold and compared; it is, unless this says otherwise.
    pub fn replay_every_turn(mut self, replays: bool) -> Self {
        self.options.replay_every_turn = replays;
        self
    }

    /// Changes the options of the node.
    pub fn options(mut self, change: impl FnOnce(RuntimeOptions) -> RuntimeOptions) -> Self {
        self.options = change(self.options);
        self
    }

    /// Builds the environment. Its node starts with the first call that needs it.
    ///
    /// # Panics
    /// When a registration is a mistake, such as a name that is registered twice.
    pub fn build(self) -> TestEnv {
        self.blueprint().open(Plan::default())
    }

    /// # Panics
    /// When a registration is a mistake.
    pub(crate) fn blueprint(self) -> Blueprint {
        let orchestrations = self.registries.orchestrations.try_build();
        let activities = self.registries.activities.try_build();
        Blueprint {
            orchestrations: orchestrations.unwrap_or_else(|mistake| panic!("{mistake}")),
            activities: activities.unwrap_or_else(|mistake| panic!("{mistake}")),
            mocks: self.mocks,
            options: self.options,
        }
    }
}
