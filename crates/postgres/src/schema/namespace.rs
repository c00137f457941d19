//! The schema that the tables live in: one for each tenant, quoted safely.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::PostgresError;
use crate::schema::functions;

/// The longest name that the server keeps; it truncates a longer one silently.
const NAME_BYTES_MAX: usize = 63;

// What the SQL texts write for the quoted schema, the version of the functions, and the seed of the
// advisory locks.
const SCHEMA: &str = "{schema}";
const VERSION: &str = "{v}";
const SEED: &str = "{seed}";
const BODY: &str = "$body$";

/// A schema and the statements of this crate in it.
#[derive(Debug)]
pub(crate) struct Schema {
    name: String,
    quoted: String,
    /// The finished texts by their static templates or functions.
    texts: Mutex<HashMap<&'static str, Arc<str>>>,
}

impl Schema {
    /// Accepts a name as it is, whatever it contains, if the server does.
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
            let quoted = quoted(name);
            return Ok(Self { name: name.to_owned(), quoted, texts: Mutex::default() });
        };
        Err(PostgresError::InvalidSchema { name: name.to_owned(), reason: reason.to_owned() })
    }

    /// The name as given.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The name as an identifier.
    pub(crate) fn quoted(&self) -> &str {
        &self.quoted
    }

    /// A statement in this schema.
    pub(crate) fn sql(&self, template: &'static str) -> Arc<str> {
        self.text(template, || self.fill_in(template))
    }

    /// The call of a function, its arguments in the order of the declaration.
    pub(crate) fn call(&self, function: &'static str) -> Arc<str> {
        self.text(function, || self.call_with(function, |place| format!("${place}")))
    }

    /// The call of a function with nulls.
    pub(crate) fn call_without_arguments(&self, function: &'static str) -> String {
        self.call_with(function, |_place| "NULL".to_owned())
    }

    fn call_with(&self, function: &str, argument: impl Fn(usize) -> String) -> String {
        let parameters = functions::find(function).map_or(0, |it| it.parameters.len());
        let arguments: Vec<String> = (1..=parameters).map(argument).collect();
        let arguments = arguments.join(", ");
        self.fill_in(&format!("SELECT * FROM {SCHEMA}.{function}{VERSION}({arguments})"))
    }

    fn text(&self, key: &'static str, make: impl FnOnce() -> String) -> Arc<str> {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(texts.entry(key).or_insert_with(|| make().into()))
    }

    // The name comes last: it may itself contain what looks like a placeholder.
    fn fill_in(&self, template: &str) -> String {
        let version = format!("_{}", functions::version());
        template.replace(VERSION, &version).replace(SCHEMA, &self.quoted)
    }

    /// The text of a migration or a function in this schema.
    pub(crate) fn definition(&self, template: &str) -> String {
        // Function bodies contain the name, so that their quotes must not occur in it.
        let mut quote = BODY.to_owned();
        while self.quoted.contains(&quote) {
            quote.insert(1, 'x');
        }
        let template = template.replace(BODY, &quote).replace(SEED, &self.key().to_string());
        self.fill_in(&template)
    }

    /// A number for locks that concern this schema only.
    pub(crate) fn key(&self) -> i64 {
        fnv1a(self.name.bytes()).cast_signed()
    }
}

/// A name as an identifier.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A hash that every build computes alike, whatever compiled it.
pub(crate) fn fnv1a(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
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
        let text = schema.definition("AS $body$ SELECT {schema}.t $body$");
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
