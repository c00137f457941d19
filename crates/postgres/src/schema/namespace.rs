//! The schema that the tables live in: one for each tenant, quoted safely.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::PostgresError;

/// Longest name that the server keeps; it would cut a longer one in silence.
const NAME_BYTES_MAX: usize = 63;

/// Stands for the quoted name in SQL texts.
const PLACEHOLDER: &str = "{schema}";
const SEED_PLACEHOLDER: &str = "{seed}";
const BODY: &str = "$body$";

/// A schema and the statements of this crate in it.
#[derive(Debug)]
pub(crate) struct Schema {
    name: String,
    quoted: String,
    /// Texts are made once: the key is the template, which is static.
    texts: Mutex<HashMap<&'static str, Arc<str>>>,
}

impl Schema {
    /// Takes a name as it is, whatever it contains.
    pub(crate) fn new(name: &str) -> Result<Self, PostgresError> {
        let reason = if name.is_empty() {
            "it is empty"
        } else if name.len() > NAME_BYTES_MAX {
            "it is longer than 63 bytes"
        } else if name.contains('\0') {
            "it contains a zero character"
        } else if name.starts_with("pg_") {
            "names that begin with 'pg_' belong to the server"
        } else {
            let quoted = format!("\"{}\"", name.replace('"', "\"\""));
            return Ok(Self { name: name.to_owned(), quoted, texts: Mutex::default() });
        };
        Err(PostgresError::InvalidSchema { name: name.to_owned(), reason: reason.to_owned() })
    }

    /// The name as it was given.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The name as an identifier.
    pub(crate) fn quoted(&self) -> &str {
        &self.quoted
    }

    /// A statement in this schema.
    pub(crate) fn sql(&self, template: &'static str) -> Arc<str> {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(
            texts
                .entry(template)
                .or_insert_with(|| template.replace(PLACEHOLDER, &self.quoted).into()),
        )
    }

    /// The text of a migration in this schema.
    pub(crate) fn migration(&self, template: &str) -> String {
        // The name stands within function bodies, so that their quotes must not occur in it.
        let mut quote = BODY.to_owned();
        while self.quoted.contains(&quote) {
            quote.insert(1, 'x');
        }
        template
            .replace(BODY, &quote)
            .replace(SEED_PLACEHOLDER, &self.key().to_string())
            .replace(PLACEHOLDER, &self.quoted)
    }

    /// A number for locks that concern this schema only.
    pub(crate) fn key(&self) -> i64 {
        // FNV-1a: every node must come to the same number, whatever it was compiled with.
        let hash = self.name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        hash.cast_signed()
    }

    /// The channel on which nodes tell each other of changes.
    pub(crate) fn channel(&self) -> String {
        format!("duroxide_{:016x}", self.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_quoted_whatever_it_contains() {
        let schema = Schema::new("a\"; DROP TABLE x; --").unwrap();
        assert_eq!(schema.quoted(), "\"a\"\"; DROP TABLE x; --\"");
        assert_eq!(&*schema.sql("{schema}.t"), "\"a\"\"; DROP TABLE x; --\".t");
    }

    #[test]
    fn a_name_cannot_end_the_body_of_a_function() {
        let schema = Schema::new("a$body$b").unwrap();
        let text = schema.migration("AS $body$ SELECT {schema}.t $body$");
        assert_eq!(text, "AS $xbody$ SELECT \"a$body$b\".t $xbody$");
    }

    #[test]
    fn impossible_names_are_refused() {
        for name in ["", "pg_catalog", "a\0b", &"x".repeat(64)] {
            let error = Schema::new(name).unwrap_err();
            assert!(matches!(error, PostgresError::InvalidSchema { .. }), "{error}");
        }
    }
}
