//! The guides. Every example in them compiles as a doc test.

#[doc = include_str!("../docs/orchestrations.md")]
pub mod orchestrations {}

#[doc = include_str!("../docs/activities.md")]
pub mod activities {}

#[doc = include_str!("../docs/events.md")]
pub mod events {}

#[doc = include_str!("../docs/timers.md")]
pub mod timers {}

#[doc = include_str!("../docs/versions.md")]
pub mod versions {}

#[doc = include_str!("../docs/provider-guide.md")]
pub mod provider_guide {}

#[cfg(feature = "postgres")]
#[doc = include_str!("../docs/postgres.md")]
pub mod postgres {}

#[cfg(feature = "provider-test")]
#[doc = include_str!("../docs/provider-testing.md")]
pub mod provider_testing {}
