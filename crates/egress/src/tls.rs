//! TLS for outgoing requests: rustls with the system's certificate authorities, and one file of the operator's own.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};

/// Why requests cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The file of certificate authorities is unusable.
    #[error("cannot use the certificate authorities in {}: {reason}", path.display())]
    CaFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The cryptography that was compiled in lacks what TLS needs.
    #[error("TLS cannot be set up: {0}")]
    Provider(#[source] rustls::Error),
}

/// A client configuration that speaks HTTP/1.1 only.
///
/// A machine without system authorities is no error: plain HTTP still works there, and with `extra_ca` what it vouches for.
///
/// # Errors
/// The extra file cannot be read, is not PEM, or holds no certificate that can be an authority.
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
        add_file(&mut roots, path)?;
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(SetupError::Provider)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn add_file(roots: &mut RootCertStore, path: &Path) -> Result<(), SetupError> {
    let unusable = |reason: String| SetupError::CaFile {
        path: path.to_owned(),
        reason,
    };
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(error.to_string()))?;
    if certificates.is_empty() {
        return Err(unusable("it holds no certificate".to_owned()));
    }
    for certificate in certificates {
        roots
            .add(certificate)
            .map_err(|error| unusable(error.to_string()))?;
    }
    Ok(())
}
