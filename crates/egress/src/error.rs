//! Errors of requests. Their texts are safe to show to the caller who named the URL.

use std::io;

use rustls::{CertificateError, Error as TlsError};

/// A failed request. The texts are clauses without a capital or a full stop, and contain no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The host has no permitted address. Nothing was sent.
    ///
    /// A name without addresses and a name with refused addresses cause the same error: the difference would reveal which names
    /// exist inside the operator's network. The operator's log has it at level `debug`.
    #[error("its host does not resolve to a public address")]
    NotPublic,
    /// The lookup took too long. Nothing was sent, and the next lookup may succeed.
    #[error("its host name could not be looked up in time")]
    LookupTimedOut,
    #[error("its host could not be reached: {0}")]
    Unreachable(&'static str),
    /// The connection (with its lookup), the handshake or the response took too long.
    #[error("its host did not respond in time")]
    TimedOut,
    #[error("a secure connection to its host could not be made: {0}")]
    Tls(&'static str),
    /// The connection ended early, or the response is not valid HTTP.
    #[error("its host closed the connection early or did not send valid HTTP")]
    Broken,
    /// A valid URL that HTTP cannot express.
    #[error("it cannot be written as an HTTP request")]
    Unsendable,
}

pub(super) fn handshake_reason(error: &io::Error) -> &'static str {
    let tls = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<TlsError>());
    match tls {
        Some(TlsError::InvalidCertificate(certificate)) => match certificate {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "its certificate has expired"
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "its certificate is not valid yet"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "its certificate is for another name"
            }
            CertificateError::UnknownIssuer => "its certificate is not from a trusted authority",
            CertificateError::Revoked => "its certificate has been revoked",
            CertificateError::BadEncoding => "its certificate is damaged",
            CertificateError::BadSignature => "its certificate has a wrong signature",
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
                "its certificate is not for servers: `extendedKeyUsage` lacks `serverAuth`"
            }
            // The verifier's own error, which has no variant here. `openssl req -x509` creates such certificates by default.
            CertificateError::Other(other) if other.to_string() == "CaUsedAsEndEntity" => {
                "its certificate is that of an authority (`CA:TRUE`), not of a server (`CA:FALSE`)"
            }
            _ => "its certificate is not valid",
        },
        Some(_) => "the TLS handshake failed",
        None if error.kind() == io::ErrorKind::InvalidInput => {
            "its name cannot be in a certificate"
        }
        None => "the connection ended during the handshake",
    }
}
