//! Encrypted connections, by rustls.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::PostgresError;
use crate::connect::url::{Root, SslMode, TlsSettings};

/// What makes encrypted connections.
pub(crate) fn connector(settings: &TlsSettings) -> Result<MakeRustlsConnect, PostgresError> {
    // The choice is the program's, if it has made one.
    let crypto = CryptoProvider::get_default()
        .map_or_else(|| Arc::new(ring::default_provider()), Arc::clone);
    let refuse = |error: rustls::Error| PostgresError::Tls { reason: error.to_string() };
    let verifier = verifier(settings, &crypto)?;
    let builder = ClientConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()
        .map_err(refuse)?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let config = match &settings.client {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
            builder.with_client_auth_cert(certificates(certificate)?, key).map_err(refuse)?
        }
    };
    Ok(MakeRustlsConnect::new(config))
}

/// What the driver has to know: whether to ask for encryption, and whether to insist.
pub(crate) fn driver_mode(mode: SslMode) -> tokio_postgres::config::SslMode {
    use tokio_postgres::config::SslMode as Driver;
    match mode {
        SslMode::Disable => Driver::Disable,
        SslMode::Prefer => Driver::Prefer,
        SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => Driver::Require,
    }
}

fn verifier(
    settings: &TlsSettings,
    crypto: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, PostgresError> {
    let asks = match settings.mode {
        SslMode::Disable | SslMode::Prefer => None,
        SslMode::Require | SslMode::VerifyCa if settings.root == Root::System => {
            Some(Ask::SignatureAndName)
        }
        // As libpq does it: a root certificate makes no sense unless it is used.
        SslMode::Require => matches!(settings.root, Root::File(_)).then_some(Ask::Signature),
        SslMode::VerifyCa => Some(Ask::Signature),
        SslMode::VerifyFull => Some(Ask::SignatureAndName),
    };
    let Some(asks) = asks else {
        return Ok(Arc::new(TakesAnyone { crypto: Arc::clone(crypto) }));
    };
    let strict = WebPkiServerVerifier::builder_with_provider(
        Arc::new(roots(&settings.root)?),
        Arc::clone(crypto),
    )
    .build()
    .map_err(|error| PostgresError::Tls { reason: error.to_string() })?;
    Ok(match asks {
        Ask::SignatureAndName => strict,
        Ask::Signature => Arc::new(TakesAnyName { strict }),
    })
}

enum Ask {
    Signature,
    SignatureAndName,
}

fn roots(root: &Root) -> Result<RootCertStore, PostgresError> {
    let mut roots = RootCertStore::empty();
    let trusted = match root {
        Root::File(file) => certificates(file)?,
        Root::System | Root::Unsaid => rustls_native_certs::load_native_certs().certs,
    };
    let (added, _ignored) = roots.add_parsable_certificates(trusted);
    if added == 0 {
        let reason = "there is no root certificate to trust; name one by sslrootcert".to_owned();
        return Err(PostgresError::Tls { reason });
    }
    Ok(roots)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, PostgresError> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    read.map_err(|error| unreadable(file, &error))
}

fn unreadable(file: &Path, error: &rustls_pki_types::pem::Error) -> PostgresError {
    PostgresError::Tls { reason: format!("'{}' cannot be read: {error:?}", file.display()) }
}

/// Asks for a trusted signature and not for the name, which is what `verify-ca` means.
#[derive(Debug)]
struct TakesAnyName {
    strict: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for TakesAnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.strict.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verified {
            // The name is looked at last, so that everything else was good.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.strict.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.strict.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.strict.supported_verify_schemes()
    }
}

/// Encrypts without asking who the server is, which is what `prefer` and `require` mean.
#[derive(Debug)]
struct TakesAnyone {
    crypto: Arc<CryptoProvider>,
}

impl ServerCertVerifier for TakesAnyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.crypto.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.crypto.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.crypto.signature_verification_algorithms.supported_schemes()
    }
}
