//! URLs of stores. Nothing is opened.

use duroxide::providers::postgres::PostgresProvider;
use duroxide::providers::sqlite::SqliteProvider;

use crate::target::{Target, Verdict, require, word};

pub(super) const SQLITE: Target = Target {
    name: "sqlite_urls",
    seeds: Vec::new,
    read: |input| {
        let url = String::from_utf8_lossy(input);
        // Without another scheme it is a path, which errors name.
        let is_path = url.starts_with("sqlite:") || !url.contains("://");
        check(&url, SqliteProvider::check_url, !is_path)
    },
};

pub(super) const POSTGRES: Target = Target {
    name: "postgres_urls",
    seeds: Vec::new,
    read: |input| check(&String::from_utf8_lossy(input), PostgresProvider::check_url, true),
};

/// The password of the URLs in the corpus.
const SECRET: &str = "s3cr3tW0rd";

fn check<E: std::fmt::Display>(
    url: &str,
    parse: impl Fn(&str) -> Result<(), E>,
    has_secrets: bool,
) -> Verdict {
    match parse(url) {
        Ok(()) => Ok("a store".to_owned()),
        Err(error) => {
            let text = error.to_string();
            let is_repeated = has_secrets && text.contains(SECRET);
            require(!is_repeated, || format!("the password is repeated: {text}"))?;
            Ok(word(&text))
        }
    }
}
