//! Changes of the code in place: an execution keeps the branch that it began with.

use std::collections::{BTreeMap, BTreeSet};

use super::orchestration::OrchestrationContext;
use crate::model::EventKind;
use crate::model::patch::{PatchMarker, PatchState};

/// The patches of one execution.
#[derive(Debug, Default)]
pub(crate) struct Patches {
    /// Ids that history contains.
    recorded: BTreeSet<String>,
    /// What each id that the code called for has decided.
    decided: BTreeMap<String, Decision>,
    /// Markers that are not recorded yet, in the order of the calls.
    pub(crate) unrecorded: Vec<EventKind>,
}

/// What the first call for an id has decided.
#[derive(Debug, Clone, Copy)]
struct Decision {
    adopted: bool,
    /// The call was `deprecate_patch`.
    deprecated: bool,
}

impl Patches {
    /// Notes a marker of the recorded history.
    pub(crate) fn note_recorded(&mut self, id: &str) {
        if !self.recorded.contains(id) {
            self.recorded.insert(id.to_owned());
        }
    }

    /// The first call decides for the whole execution: the code has adopted the patch if history
    /// says so, or if the call happens in a new turn. A call that replays a turn of code without
    /// the patch finds no marker, and no later call may find one.
    fn decide(&mut self, id: &str, deprecated: bool, replaying: bool) -> bool {
        if let Some(decided) = self.decided.get(id) {
            return decided.adopted;
        }
        let recorded = self.recorded.contains(id);
        if !recorded && !replaying {
            self.unrecorded.push(PatchMarker { id, deprecated }.to_kind());
        }
        let adopted = recorded || !replaying;
        self.decided.insert(id.to_owned(), Decision { adopted, deprecated });
        adopted
    }

    /// The state of each id that the code called for or that history contains.
    pub(crate) fn states(&self) -> BTreeMap<String, PatchState> {
        let uncalled = self.uncalled().map(|id| (id.clone(), PatchState::Uncalled));
        let called = self.decided.iter().map(|(id, decision)| {
            let state = match (decision.deprecated, decision.adopted) {
                (true, _) => PatchState::Deprecated,
                (false, true) => PatchState::New,
                (false, false) => PatchState::Old,
            };
            (id.clone(), state)
        });
        uncalled.chain(called).collect()
    }

    /// Recorded ids that the code has not called for.
    pub(crate) fn uncalled(&self) -> impl Iterator<Item = &String> {
        self.recorded.iter().filter(|id| !self.decided.contains_key(*id))
    }

    pub(crate) fn bytes(&self) -> usize {
        let ids = self.recorded.iter().chain(self.decided.keys());
        ids.map(|id| id.len() + size_of::<String>()).sum()
    }
}

impl OrchestrationContext {
    /// Changes the code in place: returns `true` if this execution runs the new code, `false` if it
    /// must keep the old one because it ran without the change when it passed this call.
    ///
    /// The first call with an id decides for the execution, and every later call, in loops and in
    /// other branches too, returns the same. New executions return `true`, those that
    /// `continue_as_new` starts included. The decision is recorded in history. One id stands for
    /// one change: give the next change another id, and never reuse one.
    ///
    /// When no running execution needs the old code any more, replace the call by
    /// [`deprecate_patch`](Self::deprecate_patch) and delete the old code.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn place_order(ctx: OrchestrationContext, order: String) -> Result<String, String> {
    ///     if ctx.patched("check-stock") {
    ///         ctx.schedule_activity("CheckStock", order.clone()).await?;
    ///     }
    ///     ctx.schedule_activity("Charge", order).await
    /// }
    /// ```
    pub fn patched(&self, id: impl AsRef<str>) -> bool {
        self.decide_patch(id.as_ref(), false)
    }

    /// Takes the place of [`patched`](Self::patched) once the old code is deleted. It still records
    /// the patch, because nodes that call `patched` may replay this execution during the rollout.
    /// When no such node runs any more, delete this call as well.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn place_order(ctx: OrchestrationContext, order: String) -> Result<String, String> {
    ///     ctx.deprecate_patch("check-stock");
    ///     ctx.schedule_activity("CheckStock", order.clone()).await?;
    ///     ctx.schedule_activity("Charge", order).await
    /// }
    /// ```
    pub fn deprecate_patch(&self, id: impl AsRef<str>) {
        self.decide_patch(id.as_ref(), true);
    }

    fn decide_patch(&self, id: &str, deprecated: bool) -> bool {
        let mut state = self.shared.state();
        let replaying = state.replaying;
        state.patches.decide(id, deprecated, replaying)
    }
}
