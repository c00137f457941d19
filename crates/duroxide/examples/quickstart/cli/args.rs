//! The command line.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The usage text.
pub(crate) const USAGE: &str = "\
usage: cargo run --example quickstart -- [COMMAND] [OPTION]...

commands:
  run       continue the open order, or start a new one (the default)
  approve   approve the order that waits for it
  reject    reject the order that waits for approval
  status    list all orders
  reset     forget everything
  help      show this text

options:
  --store <place>        database file, also as sqlite:<file>; or postgres://user@host/database
                         (with cargo run --features postgres)
  --to <place>           where a new order is shipped to; no carrier ships to Atlantis
  --answer <answer>      approve (the default), reject, or none: wait for another terminal
  --pace-ms <number>     how long a step takes (default 1000)
  --patience-ms <number> how long a new order waits for approval (default 60000)
";

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    Run,
    Answer(Answer),
    Status,
    Reset,
    Help,
}

/// Whether an order may be shipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Approve,
    Reject,
}

impl Answer {
    /// As it is sent to the order.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
        }
    }
}

/// Everything from the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Args {
    pub(crate) command: Command,
    pub(crate) store: StorePlace,
    pub(crate) place: String,
    /// Sent by the program itself after a moment; `None` leaves it to another terminal.
    pub(crate) answer: Option<Answer>,
    pub(crate) pace: Duration,
    pub(crate) patience: Duration,
}

impl Args {
    /// Reads the arguments; the error says which one is wrong.
    pub(crate) fn parse(mut given: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut args = Self {
            command: Command::Run,
            store: StorePlace::File(std::env::temp_dir().join("duroxide-quickstart.db")),
            place: "Lisbon".to_owned(),
            answer: Some(Answer::Approve),
            pace: Duration::from_secs(1),
            patience: Duration::from_secs(60),
        };
        while let Some(word) = given.next() {
            match word.as_str() {
                "run" => args.command = Command::Run,
                "approve" => args.command = Command::Answer(Answer::Approve),
                "reject" => args.command = Command::Answer(Answer::Reject),
                "status" => args.command = Command::Status,
                "reset" => args.command = Command::Reset,
                "help" | "--help" | "-h" => args.command = Command::Help,
                "--store" => args.store = store(&value(&word, &mut given)?)?,
                "--to" => args.place = value(&word, &mut given)?,
                "--answer" => args.answer = answer(&value(&word, &mut given)?)?,
                "--pace-ms" => args.pace = millis(&word, &value(&word, &mut given)?)?,
                "--patience-ms" => args.patience = millis(&word, &value(&word, &mut given)?)?,
                other => return Err(format!("'{other}' is not understood")),
            }
        }
        Ok(args)
    }

    /// Where the activities record their effects.
    pub(crate) fn effects(&self) -> PathBuf {
        let mut name = match &self.store {
            StorePlace::File(path) => path.clone().into_os_string(),
            // Nodes of one machine see each other's effects; those of others have their own.
            StorePlace::Server(_) => std::env::temp_dir().join("duroxide-quickstart-pg").into(),
        };
        name.push(".effects");
        name.into()
    }
}

/// Where the orders are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StorePlace {
    File(PathBuf),
    /// The URL of a PostgreSQL database.
    Server(String),
}

impl fmt::Display for StorePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            // The part before the host may hold a password.
            Self::Server(url) => {
                write!(f, "postgres://{}", url.rsplit(['@', '/']).nth(1).unwrap_or("…"))
            }
        }
    }
}

fn value(option: &str, given: &mut impl Iterator<Item = String>) -> Result<String, String> {
    given.next().ok_or_else(|| format!("{option} needs a value"))
}

fn store(text: &str) -> Result<StorePlace, String> {
    if text.starts_with("postgres://") || text.starts_with("postgresql://") {
        return Ok(StorePlace::Server(text.to_owned()));
    }
    let path = text.strip_prefix("sqlite:").unwrap_or(text);
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() || path == ":memory:" || path.contains('?') {
        return Err(format!("--store '{text}' must name a file: only a file survives a kill"));
    }
    Ok(StorePlace::File(path.into()))
}

fn answer(text: &str) -> Result<Option<Answer>, String> {
    match text {
        "approve" => Ok(Some(Answer::Approve)),
        "reject" => Ok(Some(Answer::Reject)),
        "none" => Ok(None),
        other => Err(format!("--answer '{other}' is none of approve, reject, none")),
    }
}

fn millis(option: &str, text: &str) -> Result<Duration, String> {
    text.parse()
        .map(Duration::from_millis)
        .map_err(|_| format!("{option} '{text}' must be a number of milliseconds"))
}
