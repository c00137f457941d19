//! The PostgreSQL server of the engines and the schema of each run.

use std::path::Path;

/// Environment variable with the URL of the server; the driver sets it to a throw-away server.
pub const URL_VARIABLE: &str = "DUROXIDE_PG_URL";

/// Durability of a commit on the server that the driver starts.
pub const DURABILITY: &str = "PostgreSQL, fsync and synchronous_commit on";

/// The URL of the server.
///
/// # Errors
/// When the environment variable is not set.
pub fn url() -> Result<String, String> {
    std::env::var(URL_VARIABLE)
        .map_err(|_unset| format!("{URL_VARIABLE} names no server; `--store postgres` starts one"))
}

/// The schema that belongs to a folder: the same folder is the same store.
pub fn schema(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let name = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
    format!("bench_{}", name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_a_plain_name_for_its_folder() {
        assert_eq!(schema(Path::new("/tmp/.tmpAb-1")), "bench_tmpab1");
        assert_eq!(schema(Path::new("/tmp/.tmpAb-1/")), "bench_tmpab1");
    }
}
