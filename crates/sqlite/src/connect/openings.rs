//! The ways to open a database without chosen settings.

use crate::connect::options::SqliteOptions;
use crate::connect::url;
use crate::{SqliteError, SqliteProvider};

impl SqliteProvider {
    /// Opens a database: `sqlite:path`, `sqlite://path`, a bare path or `:memory:`.
    ///
    /// A missing file is created unless the URL ends in `?mode=rw` or `?mode=ro`; one made by
    /// duroxide 0.1.x is migrated in place.
    ///
    /// # Errors
    /// When the file cannot be used; the error says what to do.
    pub async fn new(
        database_url: &str,
        options: Option<SqliteOptions>,
    ) -> Result<Self, SqliteError> {
        let SqliteOptions {} = options.unwrap_or_default();
        Self::builder(database_url).open().await
    }

    /// A database in memory, private to this provider.
    ///
    /// # Errors
    /// When the storage thread cannot be started.
    pub async fn new_in_memory() -> Result<Self, SqliteError> {
        Self::new_in_memory_with_options(None).await
    }

    /// A database in memory, private to this provider.
    ///
    /// # Errors
    /// When the storage thread cannot be started.
    pub async fn new_in_memory_with_options(
        options: Option<SqliteOptions>,
    ) -> Result<Self, SqliteError> {
        Self::new(":memory:", options).await
    }

    /// Whether a URL can be understood. Nothing is opened, so that the file need not exist.
    ///
    /// # Errors
    /// When it names no database; the error says why.
    pub fn check_url(database_url: &str) -> Result<(), SqliteError> {
        url::parse(database_url).map(drop)
    }
}
