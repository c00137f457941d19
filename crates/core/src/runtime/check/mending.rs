//! Checks what mending an instance would replay.

use super::checker::Checker;
use super::verdict::CheckedExecution;
use crate::client::MendPlan;

impl Checker {
    /// Replays the events that a plan keeps against the code, as a node would before it goes on.
    /// The children of the plan are checked by their own plans.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// # use duroxide::{Client, ClientError};
    /// use duroxide::client::MendOptions;
    /// use duroxide::runtime::check::Checker;
    ///
    /// # async fn example(client: &Client, checker: &Checker) -> Result<(), ClientError> {
    /// let options = MendOptions::default();
    /// let plan = client.plan_retry("order-7", &options).await?;
    /// let checked = checker.check_plan(&plan);
    /// match checked.verdict.is_fine() {
    ///     true => drop(client.retry_instance("order-7", &options).await?),
    ///     false => println!("{checked}"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn check_plan(&self, plan: &MendPlan) -> CheckedExecution {
        self.check_history(plan.history().clone())
    }
}
