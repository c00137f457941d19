//! Which patches the running executions still need.

use std::collections::BTreeMap;
use std::fmt;

use super::report::CheckReport;
use crate::engine::Agreement;
use crate::model::PatchState;

/// How many running executions of one orchestration and version use a patch.
///
/// Those that have not reached its call yet are not counted: they will run the new code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PatchUse {
    /// They run the new code.
    pub new_code: u64,
    /// They need the old code.
    pub old_code: u64,
    /// The code calls `deprecate_patch` for it.
    pub deprecated: u64,
    /// Their history contains it, and the code has not called for it.
    pub uncalled: u64,
}

/// The patches of each orchestration and version, by their ids.
pub(super) type Patches = BTreeMap<(String, String), BTreeMap<String, PatchUse>>;

/// Counts the patches of an execution. Of a finished one only the ids are listed, so that an id
/// that no running execution has reached is known.
pub(super) fn count(patches: &mut Patches, code: &(String, String), agreement: &Agreement) {
    if agreement.patches.is_empty() {
        return;
    }
    let of_code = patches.entry(code.clone()).or_default();
    for (id, state) in &agreement.patches {
        let uses = of_code.entry(id.clone()).or_default();
        if agreement.is_finished {
            continue;
        }
        match state {
            PatchState::New => uses.new_code += 1,
            PatchState::Old => uses.old_code += 1,
            PatchState::Deprecated => uses.deprecated += 1,
            PatchState::Uncalled => uses.uncalled += 1,
        }
    }
}

impl CheckReport {
    /// Whether no running execution of an orchestration, in any version, needs the old code of a
    /// patch. `false` also if one of them could not be replayed. An id that no execution has called
    /// for is unused.
    ///
    /// Then replace `patched` by `deprecate_patch` and delete the old code, if all nodes have the
    /// code that was checked: an older node goes on without the patch.
    pub fn old_code_is_unused(&self, orchestration: &str, id: &str) -> bool {
        let is_of = |name: &str| name == orchestration || name.is_empty();
        let mut summary = self.summary.iter().filter(|((name, _), _)| is_of(name));
        let mut patches = self.patches.iter().filter(|((name, _), _)| name == orchestration);
        summary.all(|(_, counts)| counts.are_all_fine())
            && patches.all(|(_, ids)| ids.get(id).is_none_or(|uses| uses.old_code == 0))
    }

    pub(super) fn write_patches(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((name, version), ids) in &self.patches {
            for (id, uses) in ids {
                write!(f, "\n  patch '{id}' of {name} {version}: {uses}")?;
                let has_old_code = uses.deprecated + uses.uncalled == 0;
                if has_old_code && self.old_code_is_unused(name, id) {
                    f.write_str("; the old code can be deleted")?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for PatchUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.old_code, "run the old code"),
            (self.new_code, "run the new code"),
            (self.deprecated, "call deprecate_patch"),
            (self.uncalled, "recorded it and do not call for it"),
        ];
        let mut counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let Some((count, what)) = counts.next() else {
            return f.write_str("no running execution has it");
        };
        write!(f, "{count} {what}")?;
        counts.try_for_each(|(count, what)| write!(f, ", {count} {what}"))
    }
}
