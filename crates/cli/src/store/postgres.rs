//! Opens a schema of a server.

use duroxide::providers::postgres::{Migrations, PostgresError, PostgresProvider};

use super::access::Access;
use super::refusal::{Refusal, with_causes};

/// Connections of a command: one for its calls, and one for what runs beside them.
const CONNECTIONS: usize = 2;

/// Opens an existing schema; only to migrate is a missing one created.
pub(super) async fn open(
    url: &str,
    schema: Option<&str>,
    access: Access,
) -> Result<PostgresProvider, Refusal> {
    let migrations = match access {
        Access::Read | Access::Write => Migrations::Verify,
        Access::Migrate => Migrations::Run,
    };
    let mut builder = PostgresProvider::builder(url)
        .with_connections(CONNECTIONS)
        .with_writers(1)
        .with_upkeep(false)
        .with_migrations(migrations)
        .with_read_only(access == Access::Read);
    if let Some(schema) = schema {
        builder = builder.with_schema(schema);
    }
    builder.open().await.map_err(explain)
}

fn explain(error: PostgresError) -> Refusal {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other texts say what to do")]
    match &error {
        PostgresError::OlderSchema { schema, found: 0, .. } => {
            Refusal::Missing { place: format!("schema '{schema}'"), is_file_missing: false }
        }
        PostgresError::OlderSchema { schema, found, known } => {
            Refusal::Older { place: format!("schema '{schema}'"), found: *found, known: *known }
        }
        PostgresError::MissingFunctions { schema, version } => Refusal::FunctionsMissing {
            place: format!("schema '{schema}'"),
            version: version.clone(),
        },
        PostgresError::CannotConnect { reason, .. } => Refusal::Other(format!(
            "cannot connect to the database: {reason}: check that the server runs, and the address \
             in --store"
        )),
        PostgresError::Storage { reason, .. } if reason.contains("permission denied") => {
            Refusal::Other(format!("{reason}: the role needs rights on the schema and its tables"))
        }
        _ => Refusal::Other(with_causes(&error)),
    }
}
