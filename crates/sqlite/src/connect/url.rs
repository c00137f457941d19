//! The location of a database, parsed from a URL or a path.

use std::path::PathBuf;

use crate::SqliteError;
use crate::connect::options::{Migrations, Settings};

/// The location of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Location {
    /// In memory, private to one provider.
    Memory,
    /// In a file.
    File {
        /// The file.
        path: PathBuf,
        /// How the provider opens it.
        mode: OpenMode,
    },
}

/// How the provider opens a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenMode {
    /// For reading; it must exist.
    ReadOnly,
    /// For reading and writing; it must exist.
    ReadWrite,
    /// For reading and writing; the provider creates it if it is missing.
    Create,
}

impl Location {
    /// The same database, opened with no more rights than the settings allow.
    pub(crate) fn restricted(self, settings: &Settings) -> Self {
        let Self::File { path, mode } = self else { return self };
        let mode = match (mode, settings.migrations) {
            (OpenMode::ReadOnly, _) => OpenMode::ReadOnly,
            _writes if settings.read_only => OpenMode::ReadOnly,
            (OpenMode::Create, Migrations::Run) => OpenMode::Create,
            (OpenMode::Create | OpenMode::ReadWrite, _) => OpenMode::ReadWrite,
        };
        Self::File { path, mode }
    }
}

const MEMORY: &str = ":memory:";

/// Parses `sqlite:path`, `sqlite://path`, a path or `:memory:`, each with an optional `?mode=`.
pub(crate) fn parse(url: &str) -> Result<Location, SqliteError> {
    let invalid = |reason: String| SqliteError::InvalidUrl { url: printable(url), reason };
    let (rest, is_url) = match url.strip_prefix("sqlite:") {
        Some(rest) => (rest.strip_prefix("//").unwrap_or(rest), true),
        None => (url, false),
    };
    if !is_url && let Some(scheme) = scheme_of(url) {
        return Err(invalid(format!("scheme '{scheme}' is not 'sqlite'")));
    }
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut mode = OpenMode::Create;
    let mut memory = path == MEMORY;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=').unwrap_or((pair, "")) {
            ("mode", "ro") => mode = OpenMode::ReadOnly,
            ("mode", "rw") => mode = OpenMode::ReadWrite,
            ("mode", "rwc") => mode = OpenMode::Create,
            ("mode", "memory") => memory = true,
            ("mode", other) => {
                return Err(invalid(format!("mode '{other}' is none of ro, rw, rwc, memory")));
            }
            // A database in memory has one connection, so both values mean the same.
            ("cache", "shared" | "private") => {}
            ("cache", other) => {
                return Err(invalid(format!("cache '{other}' is neither shared nor private")));
            }
            (key, _) => {
                return Err(invalid(format!("unknown parameter '{key}': use mode or cache")));
            }
        }
    }
    if memory {
        return Ok(Location::Memory);
    }
    let path = if is_url { percent_decode(path).map_err(invalid)? } else { path.to_owned() };
    if path.is_empty() {
        return Err(invalid(format!("it names no file: use sqlite:path or {MEMORY}")));
    }
    if path.contains('\0') {
        return Err(invalid("a path cannot contain a zero byte".to_owned()));
    }
    Ok(Location::File { path: PathBuf::from(path), mode })
}

/// The scheme of a URL. What stands before `://` and cannot be one may be a secret, and is hidden.
fn scheme_of(url: &str) -> Option<&str> {
    let (scheme, _) = url.split_once("://")?;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    Some(if scheme.chars().all(fits) { scheme } else { "…" })
}

/// A URL without what may be secret: everything of another scheme, and the parameters.
pub(crate) fn printable(url: &str) -> String {
    if let Some(scheme) = scheme_of(url).filter(|scheme| *scheme != "sqlite") {
        return format!("{scheme}://…");
    }
    match url.split_once('?') {
        Some((path, _)) => format!("{path}?…"),
        None => url.to_owned(),
    }
}

fn percent_decode(text: &str) -> Result<String, String> {
    if !text.contains('%') {
        return Ok(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let Some(value) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) else {
            return Err("a '%' must be followed by two hexadecimal digits".to_owned());
        };
        bytes.push(value);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).map_err(|_| "the decoded path is not UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, mode: OpenMode) -> Location {
        Location::File { path: PathBuf::from(path), mode }
    }

    #[test]
    fn every_accepted_form_names_its_file() {
        for (url, path) in [
            ("sqlite:a.db", "a.db"),
            ("sqlite://a.db", "a.db"),
            ("sqlite:///tmp/a.db", "/tmp/a.db"),
            ("sqlite:/tmp/a.db", "/tmp/a.db"),
            ("/tmp/a b.db", "/tmp/a b.db"),
            ("a%20b.db", "a%20b.db"),
            ("sqlite:a%20b.db", "a b.db"),
        ] {
            assert_eq!(parse(url).unwrap(), file(path, OpenMode::Create), "{url}");
        }
    }

    #[test]
    fn the_mode_decides_how_a_file_is_opened() {
        assert_eq!(parse("sqlite:a.db?mode=ro").unwrap(), file("a.db", OpenMode::ReadOnly));
        assert_eq!(parse("a.db?mode=rw").unwrap(), file("a.db", OpenMode::ReadWrite));
        assert_eq!(parse("a.db?mode=rwc&cache=shared").unwrap(), file("a.db", OpenMode::Create));
    }

    #[test]
    fn settings_only_take_rights_away() {
        let verify = Settings { migrations: Migrations::Verify, ..Settings::default() };
        let read_only = Settings { read_only: true, ..Settings::default() };
        let mode_of = |url: &str, settings: &Settings| parse(url).unwrap().restricted(settings);
        assert_eq!(mode_of("a.db", &Settings::default()), file("a.db", OpenMode::Create));
        assert_eq!(mode_of("a.db", &verify), file("a.db", OpenMode::ReadWrite));
        assert_eq!(mode_of("a.db?mode=ro", &verify), file("a.db", OpenMode::ReadOnly));
        assert_eq!(mode_of("a.db", &read_only), file("a.db", OpenMode::ReadOnly));
        assert_eq!(mode_of(":memory:", &read_only), Location::Memory);
    }

    #[test]
    fn memory_has_four_spellings() {
        for url in
            [":memory:", "sqlite::memory:", "sqlite::memory:?cache=shared", "sqlite:x?mode=memory"]
        {
            assert_eq!(parse(url).unwrap(), Location::Memory, "{url}");
        }
    }

    #[test]
    fn the_error_of_an_invalid_url_gives_the_reason() {
        for (url, reason) in [
            ("", "names no file"),
            ("sqlite:", "names no file"),
            ("postgres://host/db", "scheme 'postgres'"),
            ("me:secret@host/db, mysql://host", "scheme '…'"),
            ("a.db?mode=fast", "mode 'fast'"),
            ("a.db?cache=big", "cache 'big'"),
            ("a.db?vfs=unix", "unknown parameter 'vfs'"),
            ("sqlite:a%2", "hexadecimal"),
            ("a\0b", "zero byte"),
        ] {
            let error = parse(url).unwrap_err().to_string();
            assert!(error.contains(reason), "{url}: {error}");
        }
    }

    #[test]
    fn an_error_repeats_no_secret() {
        for url in [
            "postgres://u:secret@h/d",
            "sqlite:postgres://u:secret@h/d?sslmode=require",
            "a.db?key=secret",
            "sqlite:a.db?password=secret&mode=fast",
        ] {
            let error = parse(url).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("secret"), "{url}: {error}");
        }
    }
}
