//! The store under test, by its URL.

use std::sync::Arc;

use duroxide::providers::Provider;
use duroxide::providers::sqlite::SqliteProvider;

/// Opens the store, and makes its tables if they are missing.
pub(crate) async fn open(url: &str) -> Result<Arc<dyn Provider>, String> {
    match SqliteProvider::new(url, None).await {
        Ok(store) => Ok(Arc::new(store)),
        Err(error) => Err(format!("{url}: {error}")),
    }
}
