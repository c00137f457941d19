//! What the store says about itself.

use duroxide_core::providers::{ProviderError, StoreDescription};
use rusqlite::Connection;

use crate::SqliteProvider;
use crate::connect::connection::path_of;
use crate::error::JobError;
use crate::schema::migrations;
use crate::schema::number::from_db;

impl SqliteProvider {
    /// Where the store is, how large it is, and which version its tables have.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn describe(&self) -> Result<StoreDescription, ProviderError> {
        let place = path_of(self.location()).display().to_string();
        self.read_with("describe", move |conn| {
            let mut store = StoreDescription::new("sqlite", place.clone());
            describe(conn, &mut store)?;
            Ok(store)
        })
        .await
    }
}

fn describe(conn: &Connection, store: &mut StoreDescription) -> Result<(), JobError> {
    let number = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0)).map(from_db);
    let page = number("PRAGMA page_size")?;
    store.schema_version = migrations::recorded(conn)?;
    store.schema_version_known = migrations::newest();
    store.engine_version = rusqlite::version().to_owned();
    store.size_bytes = page.saturating_mul(number("PRAGMA page_count")?);
    store.free_bytes = Some(page.saturating_mul(number("PRAGMA freelist_count")?));
    Ok(())
}
