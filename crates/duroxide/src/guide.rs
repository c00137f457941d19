//! The guides. Every example in them compiles as a doc test.

// The first definition of a link counts: those below replace the definitions at the end of the
// guides, which are paths in the repository.

#[doc = "[Versions]: crate::guide::versions\n[Errors]: crate::guide::errors\n\n"]
#[cfg_attr(feature = "testing", doc = "[Testing]: crate::guide::testing\n\n")]
#[doc = include_str!("../docs/orchestrations.md")]
pub mod orchestrations {}

#[doc = "[Operations]: crate::guide::operations\n\n"]
#[doc = include_str!("../docs/activities.md")]
pub mod activities {}

#[cfg(feature = "macros")]
#[doc = include_str!("../docs/errors.md")]
pub mod errors {}

#[doc = include_str!("../docs/events.md")]
pub mod events {}

#[doc = "[retries]: crate::guide::activities#retries\n\n"]
#[doc = include_str!("../docs/timers.md")]
pub mod timers {}

#[doc = "[Upgrades]: crate::guide::upgrades\n[Operations]: crate::guide::operations\n\n"]
#[doc = include_str!("../docs/versions.md")]
pub mod versions {}

#[doc = "[Versions]: crate::guide::versions\n[Operations]: crate::guide::operations\n\n"]
#[doc = include_str!("../docs/upgrades.md")]
pub mod upgrades {}

#[doc = include_str!("../docs/operations.md")]
pub mod operations {}

#[doc = "[operations]: crate::guide::operations\n\n"]
#[doc = include_str!("../docs/observability.md")]
pub mod observability {}

#[doc = include_str!("../docs/queries.md")]
pub mod queries {}

#[cfg(feature = "testing")]
#[doc = "[Upgrades]: crate::guide::upgrades\n\n"]
#[doc = include_str!("../docs/testing.md")]
pub mod testing {}

#[cfg_attr(
    feature = "provider-test",
    doc = "[Testing a provider]: crate::guide::provider_testing\n\n"
)]
#[doc = include_str!("../docs/provider-guide.md")]
pub mod provider_guide {}

#[cfg(feature = "sqlite")]
#[doc = include_str!("../docs/sqlite.md")]
pub mod sqlite {}

#[cfg(feature = "postgres")]
#[doc = include_str!("../docs/postgres.md")]
pub mod postgres {}

#[cfg(feature = "provider-test")]
#[doc = "[the contract]: crate::guide::provider_guide\n\n"]
#[doc = include_str!("../docs/provider-testing.md")]
pub mod provider_testing {}
