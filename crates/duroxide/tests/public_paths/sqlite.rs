//! The bundled SQLite provider. Its error type is this project's own.

use std::error::Error;
use std::sync::Arc;

use duroxide::providers::sqlite::{SqliteOptions, SqliteProvider};
use duroxide::providers::{Provider, ProviderAdmin};

use crate::{is, is_send};

async fn provider() -> Result<(), Box<dyn Error + Send + Sync>> {
    is::<SqliteProvider>(SqliteProvider::new("sqlite:data.db?mode=rwc", None).await?);
    let options = SqliteOptions::default();
    is::<SqliteProvider>(SqliteProvider::new("sqlite::memory:", Some(options)).await?);
    is::<SqliteProvider>(SqliteProvider::new_in_memory_with_options(None).await?);
    let provider: SqliteProvider = SqliteProvider::new_in_memory().await?;
    let () = provider.checkpoint().await?;
    is::<String>(provider.debug_dump().await);
    is::<&dyn ProviderAdmin>(&provider);
    is::<Arc<dyn Provider>>(Arc::new(provider));
    Ok(())
}

fn plain<T: std::fmt::Debug + Clone + Default>() {}

#[test]
fn signatures_compile() {
    plain::<SqliteOptions>();
    is::<fn() -> _>(|| is_send(provider()));
}
