//! What registered orchestrations call, as far as their attributes know it.

use std::collections::BTreeSet;
use std::fmt;

use super::{ActivityRegistry, OrchestrationRegistry};
use crate::providers::TagFilter;
use crate::runtime::RuntimeOptions;
use crate::typed::{Called, CalledKind};

/// A function that a registered orchestration calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Need {
    /// The orchestration that calls it.
    pub(super) caller: &'static str,
    pub(super) called: Called,
}

/// Functions that registered orchestrations call and that this node does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingRegistrations {
    missing: BTreeSet<String>,
}

impl MissingRegistrations {
    /// Succeeds if this node has everything that its orchestrations call here.
    ///
    /// A node need not have an activity that only other nodes run: it is declared so by its
    /// attribute or in the registry, its tag is not among those of this node, or this node runs no
    /// activities at all. A node that runs no turns needs nothing.
    pub(crate) fn check(
        activities: &ActivityRegistry,
        orchestrations: &OrchestrationRegistry,
        options: &RuntimeOptions,
    ) -> Result<(), Self> {
        if options.orchestration_concurrency == 0 {
            return Ok(());
        }
        let is_here = |called: &Called| match called.kind {
            CalledKind::Orchestration => orchestrations.knows(called.name),
            CalledKind::Activity => {
                called.elsewhere || !runs_here(called, options) || activities.knows(called.name)
            }
        };
        let missing: BTreeSet<String> = orchestrations
            .needs()
            .iter()
            .filter(|need| !is_here(&need.called))
            .map(|Need { caller, called: Called { kind, name, .. } }| {
                format!("orchestration '{caller}' calls {kind} '{name}', which is not registered")
            })
            .collect();
        if missing.is_empty() { Ok(()) } else { Err(Self { missing }) }
    }
}

/// Whether this node runs activities with the tag of the called one.
fn runs_here(called: &Called, options: &RuntimeOptions) -> bool {
    if options.worker_concurrency == 0 {
        return false;
    }
    match (&options.worker_tag_filter, called.tag) {
        (TagFilter::Any, _) => true,
        (TagFilter::None, _) => false,
        (TagFilter::DefaultOnly | TagFilter::DefaultAnd(_), None) => true,
        (TagFilter::DefaultOnly, Some(_)) | (TagFilter::Tags(_), None) => false,
        (TagFilter::Tags(tags) | TagFilter::DefaultAnd(tags), Some(tag)) => tags.contains(tag),
    }
}

impl fmt::Display for MissingRegistrations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for missing in &self.missing {
            write!(f, "{missing}; ")?;
        }
        f.write_str("register it, or declare it with `elsewhere` if only other nodes run it")
    }
}

impl std::error::Error for MissingRegistrations {}
