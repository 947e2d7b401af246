//! TLS for outgoing requests: rustls with the system's certificate authorities and those of an operator's file.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};

/// Why a client cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("cannot use the certificate authorities in {}: {reason}", path.display())]
    CaFile { path: PathBuf, reason: String },
    /// The compiled-in cryptography does not support TLS.
    #[error("TLS cannot be set up: {0}")]
    Provider(#[source] rustls::Error),
}

/// A client configuration for HTTP/1.1.
///
/// A machine without system authorities is not an error: plain HTTP still works, and so do servers that `extra_ca` vouches for.
///
/// # Errors
/// The extra file cannot be read, is not PEM, or contains no usable certificate.
pub fn client_config(extra_ca: Option<&Path>) -> Result<ClientConfig, SetupError> {
    let mut roots = RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(native.certs);
    if roots.is_empty() {
        tracing::warn!(
            errors = ?native.errors,
            "no system certificate authorities found: no https URL can be fetched or called until some are installed"
        );
    }
    if let Some(path) = extra_ca {
        roots.extend(read_authorities(path)?.roots);
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(SetupError::Provider)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Reads the certificate authorities in a PEM file.
///
/// # Errors
/// The file cannot be read, is not PEM, or contains no usable certificate.
pub fn read_authorities(path: &Path) -> Result<RootCertStore, SetupError> {
    let unusable = |reason: String| SetupError::CaFile {
        path: path.to_owned(),
        reason,
    };
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(error.to_string()))?;
    if certificates.is_empty() {
        return Err(unusable("it contains no certificate".to_owned()));
    }
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots
            .add(certificate)
            .map_err(|error| unusable(error.to_string()))?;
    }
    Ok(roots)
}
