//! Opens a file.

use duroxide::providers::sqlite::{Migrations, SqliteError, SqliteProvider};

use super::access::Access;
use super::refusal::{Refusal, with_causes};

/// Opens an existing file; only to migrate is a missing one created.
pub(super) async fn open(url: &str, access: Access) -> Result<SqliteProvider, Refusal> {
    let migrations = match access {
        Access::Read | Access::Write => Migrations::Verify,
        Access::Migrate => Migrations::Run,
    };
    let builder = SqliteProvider::builder(url)
        .with_readers(1)
        .with_upkeep(false)
        .with_migrations(migrations)
        .with_read_only(access == Access::Read);
    builder.open().await.map_err(explain)
}

fn explain(error: SqliteError) -> Refusal {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other texts say what to do")]
    match &error {
        SqliteError::CannotOpen { path, .. } if matches!(path.try_exists(), Ok(false)) => {
            Refusal::Missing { place: path.display().to_string(), is_file_missing: true }
        }
        SqliteError::OlderSchema { path, found: 0, .. } => {
            let place = format!("file '{}'", path.display());
            Refusal::Missing { place, is_file_missing: false }
        }
        SqliteError::OlderSchema { path, found, known } => Refusal::Older {
            place: format!("store '{}'", path.display()),
            found: *found,
            known: *known,
        },
        _ => Refusal::Other(with_causes(&error)),
    }
}
