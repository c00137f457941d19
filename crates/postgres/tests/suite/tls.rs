//! Encrypted connections and trusted certificates.

use duroxide_core::providers::Provider;
use duroxide_pg::{PostgresError, PostgresProvider};
use duroxide_pg_server::{Server, Setup};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::support::*;

/// A server that accepts only encrypted connections, with a certificate for `name`, and the file
/// with the certificate of its issuer.
struct Encrypted {
    server: Server,
    folder: tempfile::TempDir,
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

impl Encrypted {
    fn start(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let signer = authority("the right one");
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &signer).unwrap();
        std::fs::write(folder.path().join("root.pem"), signer.pem()).unwrap();
        std::fs::write(folder.path().join("other.pem"), authority("another").pem()).unwrap();
        let setup = Setup {
            settings: ["ssl=on", "ssl_cert_file=server.pem", "ssl_key_file=server.key"]
                .map(str::to_owned)
                .to_vec(),
            files: vec![
                ("server.pem".to_owned(), certificate.pem()),
                ("server.key".to_owned(), key.serialize_pem()),
            ],
            hba: Some("hostssl all all 127.0.0.1/32 password\n".to_owned()),
            ..Setup::default()
        };
        Self { server: Server::start(&setup).unwrap(), folder }
    }

    async fn open(
        &self,
        mode: &str,
        root: Option<&str>,
    ) -> Result<PostgresProvider, PostgresError> {
        let mut url = format!("{}?sslmode={mode}", self.server.url());
        if let Some(root) = root {
            url = format!("{url}&sslrootcert={}", self.folder.path().join(root).display());
        }
        PostgresProvider::new(&url).await
    }
}

#[tokio::test]
async fn each_mode_checks_what_it_promises() {
    let right = Encrypted::start("127.0.0.1");
    for (mode, root, opens) in [
        ("disable", None, false),
        ("prefer", None, true),
        ("require", None, true),
        ("require", Some("root.pem"), true),
        ("require", Some("other.pem"), false),
        ("verify-ca", Some("root.pem"), true),
        ("verify-ca", Some("other.pem"), false),
        ("verify-full", Some("root.pem"), true),
        ("verify-full", Some("other.pem"), false),
    ] {
        let opened = right.open(mode, root).await;
        assert_eq!(opened.is_ok(), opens, "{mode} {root:?}: {:?}", opened.err());
    }
    // Everything works over it.
    let node = right.open("verify-full", Some("root.pem")).await.unwrap();
    create(&node, "a").await;
    assert_eq!(node.read("a").await.unwrap().len(), 1);
}

#[tokio::test]
async fn only_verify_full_checks_the_host_name() {
    let elsewhere = Encrypted::start("db.example");
    elsewhere.open("verify-ca", Some("root.pem")).await.unwrap();
    let error = elsewhere.open("verify-full", Some("root.pem")).await.unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
}

#[tokio::test]
async fn a_missing_root_certificate_is_named() {
    let url = "postgres://a@127.0.0.1:1/b?sslmode=verify-full&sslrootcert=/nowhere.pem";
    let error = PostgresProvider::new(url).await.unwrap_err();
    assert!(error.to_string().contains("/nowhere.pem"), "{error}");
}

/// Opening these connected in clear text while this crate searched the URL in its own way.
#[tokio::test]
async fn nothing_goes_in_clear_text_if_the_url_asks_for_encryption() {
    // A server without TLS.
    let url = duroxide_pg_server::shared_url().unwrap();
    let (_, place) = url.split_once('@').unwrap();
    for url in [
        format!("postgres://u:p?w@{place}?sslmode=require"),
        format!("{url}?ssl%6Dode=require"),
        format!("{url}?sslrootcert=system"),
    ] {
        let error = PostgresProvider::new(&url).await.unwrap_err().to_string();
        assert!(error.contains("server does not support TLS"), "{error}");
    }
}

#[tokio::test]
async fn the_certificates_of_the_machine_are_checked_with_the_name() {
    let unknown = Encrypted::start("127.0.0.1");
    for mode in ["sslmode=require&", "sslmode=verify-ca&", ""] {
        let url = format!("{}?{mode}sslrootcert=system", unknown.server.url());
        let error = PostgresProvider::new(&url).await.unwrap_err();
        assert!(!error.to_string().contains("does not support"), "{error}");
    }
}
