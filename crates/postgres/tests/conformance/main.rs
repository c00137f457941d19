//! The whole conformance suite on a throw-away server. Leases end by a moved clock.

mod factory;

use crate::factory::SchemaFactory;

// A fetch of one node does not know what other nodes of its process hold.
duroxide_conformance::provider_conformance_tests!(SchemaFactory::new(), without = [lease_holders]);
