//! The command line.

use std::ffi::OsString;

/// How to call it.
pub(crate) const USAGE: &str = "\
usage: duroxide-pg COMMAND [OPTION]...

commands:
  schema    print the SQL that creates a new schema
  functions print the SQL that installs this build's functions beside those of other builds
  migrate   create or migrate a schema
  verify    say whether a schema is up to date, without changing it
  help      show this text

options:
  --schema <name>   the schema (default duroxide)
  --url <url>       the database, for migrate and verify; or DATABASE_URL in the environment
";

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Schema,
    Functions,
    Migrate { url: String },
    Verify { url: String },
    Help,
}

/// Everything from the command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Args {
    pub(crate) command: Command,
    pub(crate) schema: String,
}

impl Args {
    /// Reads the arguments; the error says which one is wrong.
    pub(crate) fn parse(given: impl Iterator<Item = OsString>) -> Result<Self, String> {
        let mut given = given.map(text);
        let name = given.next().transpose()?.unwrap_or_else(|| "help".to_owned());
        let mut schema = "duroxide".to_owned();
        let mut url = None;
        while let Some(word) = given.next().transpose()? {
            let mut value = || given.next().ok_or_else(|| format!("{word} needs a value"))?;
            match word.as_str() {
                "--schema" => schema = value()?,
                "--url" => url = Some(value()?),
                "--help" | "-h" => return Ok(Self { command: Command::Help, schema }),
                other => return Err(format!("'{other}' is not understood")),
            }
        }
        let url = || {
            let named = url.or_else(|| std::env::var("DATABASE_URL").ok());
            named.ok_or_else(|| format!("{name} needs --url"))
        };
        let command = match name.as_str() {
            "schema" => Command::Schema,
            "functions" => Command::Functions,
            "migrate" => Command::Migrate { url: url()? },
            "verify" => Command::Verify { url: url()? },
            "help" | "--help" | "-h" => Command::Help,
            other => return Err(format!("'{other}' is not understood")),
        };
        Ok(Self { command, schema })
    }
}

fn text(word: OsString) -> Result<String, String> {
    word.into_string().map_err(|word| format!("'{}' is not UTF-8", word.display()))
}
