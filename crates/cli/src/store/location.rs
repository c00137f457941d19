//! The store that the command line names.

use std::fmt;

use crate::failure::{Failure, Result};
use crate::redact::redact;

/// The variable that names the store if the command line does not.
pub(crate) const VARIABLE: &str = "DUROXIDE_STORE";

/// A place that may hold a store.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Location {
    /// A file, by a URL that the provider parses.
    Sqlite { url: String },
    /// A schema of a database.
    Postgres { url: String, schema: Option<String> },
}

impl fmt::Debug for Location {
    /// Without the password of a URL.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite { url } => f.debug_struct("Sqlite").field("url", &redact(url)).finish(),
            Self::Postgres { url, schema } => f
                .debug_struct("Postgres")
                .field("url", &redact(url))
                .field("schema", schema)
                .finish(),
        }
    }
}

impl Location {
    /// The store of the command line, or of the environment.
    pub(crate) fn find(named: Option<&str>, schema: Option<&str>) -> Result<Self> {
        let of_environment = || std::env::var(VARIABLE).ok().filter(|text| !text.is_empty());
        match named.map(str::to_owned).or_else(of_environment) {
            Some(text) => Self::parse(&text, schema),
            None => Err(Failure::usage(format!(
                "no store is named: use --store {EXAMPLES}, or set {VARIABLE}"
            ))),
        }
    }

    fn parse(text: &str, schema: Option<&str>) -> Result<Self> {
        if is_postgres(text) {
            let (url, schema) = (text.to_owned(), schema.map(str::to_owned));
            return Ok(Self::Postgres { url, schema });
        }
        let Some(path) = text.strip_prefix("sqlite:") else {
            // The text is not repeated: where a password stands in it is not known.
            return Err(Failure::usage(format!(
                "--store or {VARIABLE} names no store: use {EXAMPLES}"
            )));
        };
        if schema.is_some() {
            return Err(Failure::usage("--schema is for PostgreSQL: a file has no schemas"));
        }
        if path.contains(":memory:") || path.contains("mode=memory") {
            let why = "a database in memory belongs to the program that made it";
            return Err(Failure::usage(format!("{why}: name a file")));
        }
        Ok(Self::Sqlite { url: text.to_owned() })
    }
}

const EXAMPLES: &str = "sqlite:FILE or postgres://USER@HOST/DATABASE";

fn is_postgres(text: &str) -> bool {
    let is_list = text.split_whitespace().any(|part| part.starts_with("host="));
    text.starts_with("postgres://") || text.starts_with("postgresql://") || is_list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    #[test]
    fn a_store_is_a_file_or_a_database() {
        let sqlite = Location::parse("sqlite:a.db", None).unwrap();
        assert_eq!(sqlite, Location::Sqlite { url: "sqlite:a.db".to_owned() });
        for url in ["postgres://h/d", "postgresql://h/d", "host=h dbname=d"] {
            let schema = Some("s".to_owned());
            let expected = Location::Postgres { url: url.to_owned(), schema };
            assert_eq!(Location::parse(url, Some("s")).unwrap(), expected);
        }
    }

    #[test]
    fn anything_else_is_a_wrong_usage() {
        for (text, schema) in [
            ("orders.db", None),
            ("mysql://u:secret@h/d", None),
            ("mysql://u:'se secret@h/d", None),
            ("postgres//u:secret@h/d", None),
            ("u:secret@h/d", None),
            ("host = h password = secret", None),
            ("sqlite::memory:", None),
            ("sqlite:a.db", Some("s")),
        ] {
            let failure = Location::parse(text, schema).unwrap_err();
            assert_eq!(failure.exit(), Exit::Usage, "{text}");
            assert!(!failure.to_string().contains("secret"), "{failure}");
        }
    }

    #[test]
    fn its_debug_form_has_no_password() {
        let location = Location::parse("postgres://u:secret@h/d", None).unwrap();
        assert!(!format!("{location:?}").contains("secret"));
    }
}
