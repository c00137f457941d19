//! Connection URLs and how the connection is encrypted.
//!
//! The driver parses the text and decides whether a connection is encrypted. It knows fewer words
//! than `psql`, so that this module first removes the parameters about certificates and replaces
//! the modes that the driver does not know by those that it does.

use std::path::PathBuf;

use tokio_postgres::config::SslMode as DriverMode;

use crate::PostgresError;
use crate::connect::parameters::{self, Parameter};

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

/// What is said about encryption in a URL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TlsSettings {
    pub(crate) mode: SslMode,
    pub(crate) root: Root,
    /// Our own certificate and its key.
    pub(crate) client: Option<(PathBuf, PathBuf)>,
}

/// The authorities that we trust.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Root {
    /// Those of the machine, where something is checked.
    #[default]
    Unsaid,
    /// `sslrootcert=system`: those of the machine. Any of them signs for anyone, so that only a
    /// check of the host name means something.
    System,
    File(PathBuf),
}

impl TlsSettings {
    /// Refuses a mode that is too weak for what else was asked.
    pub(crate) fn check(&self) -> Result<(), PostgresError> {
        let weak = matches!(self.mode, SslMode::Disable | SslMode::Prefer);
        if weak && self.root == Root::System {
            let reason = "sslrootcert=system needs sslmode=verify-full".to_owned();
            return Err(PostgresError::InvalidUrl { reason });
        }
        Ok(())
    }
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
    let for_driver = parameters::rewrite(url, |parameter| said.take(parameter)).map_err(invalid)?;
    let config: tokio_postgres::Config = for_driver
        .parse()
        .map_err(|error: tokio_postgres::Error| invalid(crate::error::describe(&error)))?;
    check_hosts(&config).map_err(|reason| invalid(reason.to_owned()))?;
    let tls = said.settings(config.get_ssl_mode()).map_err(invalid)?;
    Ok(Location { config, tls })
}

fn check_hosts(config: &tokio_postgres::Config) -> Result<(), &'static str> {
    use tokio_postgres::config::Host;
    let (hosts, addresses) = (config.get_hosts().len(), config.get_hostaddrs().len());
    let count = hosts.max(addresses);
    let has_at = |host: &Host| matches!(host, Host::Tcp(name) if name.contains('@'));
    if count == 0 {
        Err("it names no host")
    } else if hosts > 0 && addresses > 0 && hosts != addresses {
        Err("it has as many values of hostaddr as hosts, or none")
    } else if config.get_ports().len() > 1 && config.get_ports().len() != count {
        Err("it has as many ports as hosts, or one, or none")
    } else if config.get_hosts().iter().any(has_at) {
        // Part of a password, which must not appear as the name of a host.
        Err("a host contains '@': write '@' in a password as %40")
    } else {
        Ok(())
    }
}

/// What the driver does not know itself.
#[derive(Default)]
struct Said {
    /// How much of the certificate is checked, by the last `sslmode`.
    checks: Checks,
    has_mode: bool,
    root: Option<String>,
    certificate: Option<String>,
    key: Option<String>,
}

#[derive(Default, Clone, Copy)]
enum Checks {
    #[default]
    Nothing,
    Signature,
    SignatureAndName,
}

impl Said {
    /// What the driver gets instead of a parameter.
    fn take(&mut self, (key, value): (&str, &str)) -> Parameter {
        let place = match key {
            "sslmode" => return self.take_mode(value),
            "sslrootcert" => &mut self.root,
            "sslcert" => &mut self.certificate,
            "sslkey" => &mut self.key,
            _ => return Parameter::Kept,
        };
        *place = Some(value.to_owned());
        Parameter::Removed
    }

    fn take_mode(&mut self, value: &str) -> Parameter {
        self.has_mode = true;
        let (checks, parameter) = match value {
            // `allow` encrypts only if it has to; we may as well at once.
            "allow" => (Checks::Nothing, Parameter::Replaced("sslmode=prefer")),
            "verify-ca" => (Checks::Signature, Parameter::Replaced("sslmode=require")),
            "verify-full" => (Checks::SignatureAndName, Parameter::Replaced("sslmode=require")),
            _ => (Checks::Nothing, Parameter::Kept),
        };
        self.checks = checks;
        parameter
    }

    fn settings(self, mode: DriverMode) -> Result<TlsSettings, String> {
        let client = match (self.certificate, self.key) {
            (Some(certificate), Some(key)) => Some((certificate.into(), key.into())),
            (None, None) => None,
            (Some(_), None) => return Err("sslcert needs sslkey".to_owned()),
            (None, Some(_)) => return Err("sslkey needs sslcert".to_owned()),
        };
        let root = match self.root.as_deref() {
            None => Root::Unsaid,
            Some("system") => Root::System,
            Some(file) => Root::File(file.into()),
        };
        let mode = match (mode, self.checks) {
            // As libpq does it.
            (_, _) if root == Root::System && !self.has_mode => SslMode::VerifyFull,
            (DriverMode::Disable, _) => SslMode::Disable,
            (DriverMode::Prefer, _) => SslMode::Prefer,
            (_, Checks::Nothing) => SslMode::Require,
            (_, Checks::Signature) => SslMode::VerifyCa,
            (_, Checks::SignatureAndName) => SslMode::VerifyFull,
        };
        Ok(TlsSettings { mode, root, client })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(url: &str) -> SslMode {
        let location = parse(url).unwrap();
        location.tls.check().unwrap();
        location.tls.mode
    }

    #[test]
    fn what_a_url_says_about_certificates_is_taken_out_of_it() {
        let url =
            "postgres://u:p@h:1/d?sslmode=verify-full&sslrootcert=%2Fca.pem&application_name=a";
        let location = parse(url).unwrap();
        assert_eq!(location.tls.mode, SslMode::VerifyFull);
        assert_eq!(location.tls.root, Root::File(PathBuf::from("/ca.pem")));
        assert_eq!(location.config.get_application_name(), Some("a"));
        assert_eq!(location.config.get_dbname(), Some("d"));
    }

    #[test]
    fn a_list_of_pairs_is_a_url_too() {
        let location = parse("host=h user=u sslmode=disable").unwrap();
        assert_eq!(location.tls.mode, SslMode::Disable);
        assert_eq!(location.config.get_user(), Some("u"));
        let text =
            r"host = h password = 'it\'s a = b' sslmode='verify-full' sslrootcert='/a b.pem'";
        let location = parse(text).unwrap();
        assert_eq!(location.tls.mode, SslMode::VerifyFull);
        assert_eq!(location.tls.root, Root::File(PathBuf::from("/a b.pem")));
        assert_eq!(location.config.get_password(), Some(b"it's a = b".as_slice()));
    }

    #[test]
    fn the_mode_is_found_wherever_the_driver_finds_it() {
        for (url, expected) in [
            ("postgres://u:p@h/d", SslMode::Prefer),
            ("postgres://u:p?w@h/d?sslmode=require", SslMode::Require),
            ("postgres://u:p?w@h?sslmode=verify-ca", SslMode::VerifyCa),
            ("postgres://u:p@h/d?ssl%6Dode=require", SslMode::Require),
            ("postgres://u:p@h/d?%73slmode=verify-full", SslMode::VerifyFull),
            ("postgres://u:p@h/d?sslmode=verif%79-full", SslMode::VerifyFull),
            ("postgres://u:p@h/d?sslmode=disable&sslmode=require", SslMode::Require),
            ("postgres://u:p@h/d?sslmode=verify-full&sslmode=require", SslMode::Require),
            ("postgres://u:p@h/d?sslmode=allow", SslMode::Prefer),
            ("postgres://u:p@h/d?application_name=a@b&sslmode=require", SslMode::Require),
            ("host=h  sslmode = 'require' ", SslMode::Require),
            ("host=h password='x sslmode=disable' sslmode=require", SslMode::Require),
            (r"host=h password=x\ y sslmode=req\uire", SslMode::Require),
            ("postgres://u@h/d?sslrootcert=system", SslMode::VerifyFull),
            ("host=h sslrootcert=system", SslMode::VerifyFull),
        ] {
            assert_eq!(mode(url), expected, "{url}");
        }
    }

    #[test]
    fn the_certificates_of_the_machine_need_a_check_of_the_name() {
        for url in [
            "postgres://u@h/d?sslrootcert=system&sslmode=disable",
            "postgres://u@h/d?sslrootcert=system&sslmode=prefer",
        ] {
            assert!(parse(url).unwrap().tls.check().is_err(), "{url}");
        }
    }

    #[test]
    fn nonsense_is_refused_without_repeating_a_password() {
        for url in [
            "mysql://u:secret@h/d",
            "mysql://u:secret@h/d?sslmode=require",
            " postgres://u:secret@h/d?sslmode=require",
            "POSTGRES://u:secret@h/d?sslmode=require",
            "postgres://u:secret@h/d?sslmode=maybe",
            "postgres://u:secret@h/d?sslmode=",
            "postgres://u:secret@h/d?sslcert=a",
            "postgres://u:secret@h/d?unheard=of",
            "postgres://u:secret@h/d?sslmode",
            "postgres://u:secret@h:port/d",
            "postgres://u:secret",
            "postgres://u:p@secret@h/d",
            "postgres://h:1/d?sslmode=require&application_name=a@secret",
            "postgres://h/d?sslmode=require&password=secret&application_name=a@h",
            "host=h password='secret",
            "host=h = secret sslmode=require",
            "host=h password=x secret",
            "user=u",
        ] {
            let error = parse(url).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("secret"), "{url}: {error}");
        }
    }
}
