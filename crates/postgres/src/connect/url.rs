//! Connection URLs and how the connection is encrypted.

use std::path::PathBuf;

use crate::PostgresError;

/// How much a connection is protected, as in `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SslMode {
    /// Never encrypted.
    Disable,
    /// Encrypted if the server can, without asking who it is.
    #[default]
    Prefer,
    /// Always encrypted. Asks who the server is only if a root certificate is given.
    Require,
    /// Encrypted, and a trusted authority has signed the server's certificate.
    VerifyCa,
    /// As before, and made out to the host that we connect to.
    VerifyFull,
}

impl SslMode {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "disable" => Self::Disable,
            // `allow` encrypts only if it has to; we may as well at once.
            "allow" | "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => return None,
        })
    }
}

/// What is said about encryption in a URL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TlsSettings {
    pub(crate) mode: SslMode,
    /// Certificates that we trust; `None` means those of the machine.
    pub(crate) root: Option<PathBuf>,
    /// Our own certificate and its key.
    pub(crate) client: Option<(PathBuf, PathBuf)>,
}

/// A parsed URL.
#[derive(Debug, Clone)]
pub(crate) struct Location {
    pub(crate) config: tokio_postgres::Config,
    pub(crate) tls: TlsSettings,
}

/// Reads a URL (`postgres://user:password@host:port/database?sslmode=…`) or a list of `key=value`.
pub(crate) fn parse(url: &str) -> Result<Location, PostgresError> {
    let invalid = |reason: String| PostgresError::InvalidUrl { reason };
    let mut said = Said::default();
    let rest = if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        from_url(url, &mut said)
    } else if url.contains('=') {
        from_pairs(url, &mut said)
    } else {
        return Err(invalid("it begins neither with postgres:// nor holds key=value".to_owned()));
    };
    let config: tokio_postgres::Config = rest
        .parse()
        .map_err(|error: tokio_postgres::Error| invalid(crate::error::describe(&error)))?;
    if config.get_hosts().is_empty() {
        return Err(invalid("it names no host".to_owned()));
    }
    let tls = said.settings().map_err(invalid)?;
    Ok(Location { config, tls })
}

/// What the driver does not know itself.
#[derive(Default)]
struct Said {
    mode: Option<String>,
    root: Option<String>,
    certificate: Option<String>,
    key: Option<String>,
}

impl Said {
    /// Takes a parameter if it is about encryption; false if it is for the driver.
    fn take(&mut self, key: &str, value: &str) -> bool {
        let place = match key {
            "sslmode" => &mut self.mode,
            "sslrootcert" => &mut self.root,
            "sslcert" => &mut self.certificate,
            "sslkey" => &mut self.key,
            _ => return false,
        };
        *place = Some(value.to_owned());
        true
    }

    fn settings(self) -> Result<TlsSettings, String> {
        let mode = match &self.mode {
            None => SslMode::default(),
            Some(text) => {
                SslMode::parse(text).ok_or_else(|| format!("sslmode '{text}' is unknown"))?
            }
        };
        let client = match (self.certificate, self.key) {
            (Some(certificate), Some(key)) => Some((certificate.into(), key.into())),
            (None, None) => None,
            (Some(_), None) => return Err("sslcert needs sslkey".to_owned()),
            (None, Some(_)) => return Err("sslkey needs sslcert".to_owned()),
        };
        // `system` is what libpq calls the certificates of the machine.
        let root = self.root.filter(|root| root != "system").map(PathBuf::from);
        Ok(TlsSettings { mode, root, client })
    }
}

fn from_url(url: &str, said: &mut Said) -> String {
    let Some((base, query)) = url.split_once('?') else { return url.to_owned() };
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            !said.take(key, &decode(value))
        })
        .collect();
    if kept.is_empty() { base.to_owned() } else { format!("{base}?{}", kept.join("&")) }
}

fn from_pairs(text: &str, said: &mut Said) -> String {
    let kept: Vec<&str> = text
        .split_whitespace()
        .filter(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            !said.take(key, value.trim_matches('\''))
        })
        .collect();
    kept.join(" ")
}

/// Undoes `%41` and the like.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| first == b'%');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_url_says_about_encryption_is_taken_out_of_it() {
        let url =
            "postgres://u:p@h:1/d?sslmode=verify-full&sslrootcert=%2Fca.pem&application_name=a";
        let location = parse(url).unwrap();
        assert_eq!(location.tls.mode, SslMode::VerifyFull);
        assert_eq!(location.tls.root, Some(PathBuf::from("/ca.pem")));
        assert_eq!(location.config.get_application_name(), Some("a"));
        assert_eq!(location.config.get_dbname(), Some("d"));
    }

    #[test]
    fn a_list_of_pairs_is_a_url_too() {
        let location = parse("host=h user=u sslmode=disable").unwrap();
        assert_eq!(location.tls.mode, SslMode::Disable);
        assert_eq!(location.config.get_user(), Some("u"));
    }

    #[test]
    fn nonsense_is_refused_without_repeating_a_password() {
        for url in [
            "mysql://u:secret@h/d",
            "postgres://u:secret@h/d?sslmode=maybe",
            "postgres://u:secret@h/d?sslcert=a",
            "postgres://u:secret@h/d?unheard=of",
            "user=u",
        ] {
            let error = parse(url).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
