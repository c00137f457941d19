//! What a node of the cluster is: its version of Duroxide and its code.

use duroxide::OrchestrationRegistry;
use duroxide::providers::RegisteredOrchestrations;
use semver::Version;
use serde::{Deserialize, Serialize};

use crate::code;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Deployment {
    /// Duroxide 1.5.0 with `Order` 1.0.0.
    Old,
    /// Duroxide 2.0.0 with `Order` 1.0.0 and 2.0.0, which uses what Duroxide 2.0.0 adds, and an
    /// activity that `Old` does not have.
    New,
    /// `New`, and a step added to `Parcel` without a version.
    Bad,
    /// `New`, and the step added to `Parcel` as a patch.
    Fixed,
}

impl Deployment {
    /// The version of Duroxide.
    pub(crate) fn build(self) -> &'static str {
        match self {
            Self::Old => "1.5.0",
            Self::New | Self::Bad | Self::Fixed => "2.0.0",
        }
    }

    pub(crate) fn orchestrations(self) -> OrchestrationRegistry {
        let common = code::common();
        match self {
            Self::Old => common.register("Parcel", code::parcel),
            Self::New => code::with_order_two(common).register("Parcel", code::parcel),
            Self::Bad => code::with_order_two(common).register("Parcel", code::bad_parcel),
            Self::Fixed => code::with_order_two(common).register("Parcel", code::fixed_parcel),
        }
        .build()
    }

    /// What the registry above has, written down once more: the test does not trust the filter that
    /// the runtime derives from it.
    pub(crate) fn runs(self) -> RegisteredOrchestrations {
        let one = Version::new(1, 0, 0);
        let mut runs: Vec<(&str, Version)> =
            ["Order", "Pack", "Rental", "Meter", "Parcel"].map(|name| (name, one.clone())).into();
        if self != Self::Old {
            runs.push(("Order", Version::new(2, 0, 0)));
        }
        RegisteredOrchestrations::new(runs)
    }

    pub(crate) fn activities(self) -> &'static [&'static str] {
        match self {
            Self::Old => &["Charge", "Box", "Ship", "Round"],
            Self::New | Self::Bad | Self::Fixed => {
                &["Charge", "Box", "Ship", "Round", "Label", "Insure"]
            }
        }
    }
}
