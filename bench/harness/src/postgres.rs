//! Which PostgreSQL server the engines use, and what keeps their runs apart.

use std::path::Path;

/// Environment variable that names the server; the driver sets it to a throw-away one.
pub const URL_VARIABLE: &str = "DUROXIDE_PG_URL";

/// What an answered commit survives on the server of the driver.
pub const DURABILITY: &str = "PostgreSQL, fsync and synchronous_commit on";

/// The server.
///
/// # Errors
/// When the environment names none.
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
