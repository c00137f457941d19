//! The stores that engines are compared on.

use serde::Serialize;

use crate::floor;

/// A kind of store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Store {
    /// A file.
    Sqlite,
    /// A server that the driver starts.
    Postgres,
}

/// The peer without a suffix in its name.
const DBOS: &str = "dbos";

impl Store {
    /// All of them, in the order in which they are measured.
    pub(crate) const ALL: &[Self] = &[Self::Sqlite, Self::Postgres];

    /// Name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }

    /// Name in tables and messages.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }

    /// The engine that the others are compared with.
    pub(crate) fn ours(self) -> &'static str {
        match self {
            Self::Sqlite => "ours",
            Self::Postgres => "ours-pg",
        }
    }

    /// The floor of the store.
    pub(crate) fn floor(self) -> &'static str {
        match self {
            Self::Sqlite => floor::SQLITE,
            Self::Postgres => floor::POSTGRES,
        }
    }

    /// The engines that are compared by default, ours first.
    pub(crate) fn engines(self) -> &'static [&'static str] {
        match self {
            Self::Sqlite => &["ours", "durare", "duroxide-0.1.32", "duroxide-0.1.32-10ms"],
            Self::Postgres => &["ours-pg", DBOS, "duroxide-0.1.32-pg", "ours-pg-2-nodes"],
        }
    }

    /// The store of an engine.
    pub(crate) fn of(engine: &str) -> Self {
        let on_postgres = engine == DBOS || engine.split('-').any(|part| part == "pg");
        if on_postgres { Self::Postgres } else { Self::Sqlite }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_is_found_on_its_store() {
        for store in Store::ALL {
            for engine in store.engines().iter().chain([&store.ours(), &store.floor()]) {
                assert_eq!(Store::of(engine), *store, "{engine}");
            }
        }
    }
}
