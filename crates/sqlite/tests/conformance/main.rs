//! The whole conformance suite, on a file and in memory. Leases end by a moved clock.

mod factory;

mod file {
    use crate::factory::FileFactory;

    duroxide_conformance::provider_conformance_tests!(FileFactory::new());
}

mod memory {
    use crate::factory::MemoryFactory;

    // Nobody but its one connection can reach into a database in memory.
    duroxide_conformance::provider_conformance_tests!(
        MemoryFactory::new(),
        without = [corruption, attempt_counts]
    );
}
