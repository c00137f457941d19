//! Where a store is.

use tempfile::TempDir;

/// A place for a store, in which nothing has to be.
pub(crate) struct Place {
    pub(crate) url: String,
    pub(crate) schema: Option<String>,
    /// Files that commands write.
    pub(crate) folder: TempDir,
}

impl Place {
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("tour.db").display());
        Self { url, schema: None, folder }
    }

    pub(crate) fn postgres() -> Self {
        let url = duroxide_pg_server::shared_url().unwrap();
        let schema = format!("tour_{}", uuid::Uuid::new_v4().simple());
        Self { url, schema: Some(schema), folder: tempfile::tempdir().unwrap() }
    }
}
