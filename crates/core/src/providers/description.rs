//! What a store says about itself.

/// A store as a whole: where it is, how large, and which version its tables have.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreDescription {
    /// The kind of store: `sqlite` or `postgres`.
    pub kind: String,
    /// The file, or the server and the database. Holds no password.
    pub location: String,
    /// The schema that holds the tables, if the store has several.
    pub schema: Option<String>,
    /// The version of the tables.
    pub schema_version: i64,
    /// The newest version of the tables that this build knows.
    pub schema_version_known: i64,
    /// The version of the database software.
    pub engine_version: String,
    /// What the tables and indexes take.
    pub size_bytes: u64,
    /// What of this is free for new rows, if the store knows.
    pub free_bytes: Option<u64>,
}

impl StoreDescription {
    /// A store of this kind at this place.
    pub fn new(kind: impl Into<String>, location: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            location: location.into(),
            schema: None,
            schema_version: 0,
            schema_version_known: 0,
            engine_version: String::new(),
            size_bytes: 0,
            free_bytes: None,
        }
    }
}
