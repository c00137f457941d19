//! The whole conformance suite on a throw-away server. Leases end by a moved clock.

mod factory;

use crate::factory::SchemaFactory;

duroxide_conformance::provider_conformance_tests!(SchemaFactory::new());
