//! The encryption of connections.

use crate::url::TlsMode;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore,
    SignatureScheme,
};
use std::path::Path;
use std::sync::Arc;
use tokio_postgres_rustls::MakeRustlsConnect;

/// The TLS connector of a mode.
///
/// # Errors
/// What is wrong with the root certificates, and what to do.
pub fn connector(mode: &TlsMode) -> Result<MakeRustlsConnect, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let config = match mode {
        TlsMode::VerifyFull(None) => builder.with_root_certificates(system_roots()?),
        TlsMode::VerifyFull(Some(file)) => {
            let verifier = IssuedOrListed::of_file(file, provider)?;
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier))
        }
        TlsMode::Disable | TlsMode::Prefer | TlsMode::Require => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider))),
    };
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

/// What to do if the encryption of a connection fails.
pub fn advice(mode: &TlsMode) -> &'static str {
    match mode {
        TlsMode::VerifyFull(_) => {
            "sslmode=verify-full needs a server with TLS, whose certificate names the host of the URL as a subjectAltName, and is \
             in the file of sslrootcert or issued by one that is (without sslrootcert: by one that this machine trusts)"
        }
        TlsMode::Require => {
            "sslmode=require needs a server with TLS 1.2 or newer: set `ssl = on` in postgresql.conf"
        }
        TlsMode::Disable | TlsMode::Prefer => {
            "Tintype needs TLS 1.2 or newer; sslmode=disable connects without encryption"
        }
    }
}

fn system_roots() -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(
            "the system has no root certificates; install ca-certificates, or name a file with sslrootcert".into(),
        );
    }
    Ok(roots)
}

/// Accepts certificates that a listed one has issued, and the listed ones themselves, as PostgreSQL's own programs do. `openssl
/// req -x509` makes self-signed certificates of an authority (`CA:TRUE`), which the chain verifier refuses as a server's.
#[derive(Debug)]
struct IssuedOrListed {
    issued: Arc<WebPkiServerVerifier>,
    listed: Vec<CertificateDer<'static>>,
}

impl IssuedOrListed {
    fn of_file(file: &Path, provider: Arc<CryptoProvider>) -> Result<Self, String> {
        let wrong = |reason: String| format!("sslrootcert `{}`: {reason}", file.display());
        let listed = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
        let listed: Vec<_> = listed.map_err(|error| wrong(error.to_string()))?;
        if listed.is_empty() {
            return Err(wrong("it holds no certificate".into()));
        }
        Self::new(listed, provider).map_err(wrong)
    }

    fn new(
        listed: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        for certificate in &listed {
            roots
                .add(certificate.clone())
                .map_err(|error| error.to_string())?;
        }
        let issued = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let issued = issued.build().map_err(|error| error.to_string())?;
        Ok(Self { issued, listed })
    }
}

/// The verifier reports this after it has checked the validity period.
fn is_authority(cause: &OtherError) -> bool {
    let cause = cause.0.downcast_ref::<webpki::Error>();
    matches!(cause, Some(webpki::Error::CaUsedAsEndEntity))
}

impl ServerCertVerifier for IssuedOrListed {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let issued = self.issued.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match issued {
            Err(rustls::Error::InvalidCertificate(CertificateError::Other(cause)))
                if is_authority(&cause) && self.listed.contains(end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            outcome => outcome,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.issued.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.issued.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.issued.supported_verify_schemes()
    }
}

/// Accepts any certificate, like `sslmode=require` of PostgreSQL's own programs: protects against eavesdroppers, not against
/// active attackers.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
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
        verify_tls12_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};

    /// A self-signed certificate of an authority that names `localhost`.
    fn self_signed(last_year: i32) -> CertificateDer<'static> {
        let mut parameters =
            CertificateParams::new(vec!["localhost".to_owned()]).expect("parameters");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.not_before = date_time_ymd(2020, 1, 1);
        parameters.not_after = date_time_ymd(last_year, 1, 1);
        let key = KeyPair::generate().expect("a key");
        parameters.self_signed(&key).expect("a certificate").into()
    }

    fn verify(
        presented: &CertificateDer<'static>,
        listed: &CertificateDer<'static>,
        name: &'static str,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let provider = Arc::new(ring::default_provider());
        let verifier = IssuedOrListed::new(vec![listed.clone()], provider).expect("a verifier");
        let name = ServerName::try_from(name).expect("a name");
        verifier.verify_server_cert(presented, &[], &name, &[], UnixTime::now())
    }

    #[test]
    fn a_listed_certificate_of_an_authority_is_accepted_for_its_name_and_time_alone() {
        let (valid, expired) = (self_signed(2999), self_signed(2021));
        assert!(verify(&valid, &valid, "localhost").is_ok());
        let refused = [
            verify(&valid, &valid, "elsewhere"),
            verify(&valid, &self_signed(2999), "localhost"),
            verify(&expired, &expired, "localhost"),
        ];
        for outcome in refused {
            let error = outcome.err();
            let is_certificate = matches!(error, Some(rustls::Error::InvalidCertificate(_)));
            assert!(is_certificate, "{error:?}");
        }
    }
}
