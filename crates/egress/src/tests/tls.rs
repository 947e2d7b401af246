//! TLS faults, told apart: unknown authority, wrong name, expired, no TLS at all.

use std::{io::Write, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use rcgen::{CertificateParams, CertifiedIssuer, KeyPair, date_time_ymd};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

use super::{
    super::{Egress, EgressFault, EgressOptions, EgressSetupError},
    loopback,
    support::{self, FakeResolver},
};

pub(crate) type Authority = CertifiedIssuer<'static, KeyPair>;

pub(crate) fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

pub(crate) fn leaf(name: &str) -> CertificateParams {
    CertificateParams::new(vec![name.to_owned()]).unwrap()
}

/// Serves one answer over TLS to everybody, under a certificate that `authority` has signed.
pub(crate) async fn serve(
    authority: &Authority,
    params: CertificateParams,
    answer: String,
) -> SocketAddr {
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that turns the certificate down ends the handshake.
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let _ = stream.read(&mut [0; 4_096]).await;
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    address
}

pub(crate) fn egress(extra_ca_file: Option<&Path>) -> Result<Egress, EgressSetupError> {
    let options = EgressOptions {
        extra_ca_file: extra_ca_file.map(Path::to_owned),
        connect_timeout: Duration::from_secs(10),
        ..loopback()
    };
    Egress::with_resolver(options, FakeResolver::always("127.0.0.1"))
}

pub(crate) fn file(content: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content.as_bytes()).unwrap();
    file
}

fn small() -> String {
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned()
}

async fn get(egress: &Egress, host: &str, port: u16) -> Result<String, EgressFault> {
    support::get(egress, &format!("https://{host}:{port}/")).await
}

#[actix_web::test]
async fn an_authority_counts_only_where_the_operator_has_named_it() {
    let authority = authority();
    let server = serve(&authority, leaf("pictures.example"), small()).await;
    let unknown = get(&egress(None).unwrap(), "pictures.example", server.port()).await;
    assert_eq!(
        unknown,
        Err(EgressFault::Tls(
            "its certificate is not from a trusted authority"
        ))
    );
    let ca = file(&authority.pem());
    let known = get(
        &egress(Some(ca.path())).unwrap(),
        "pictures.example",
        server.port(),
    )
    .await;
    assert_eq!(known.unwrap(), "ok");
}

#[actix_web::test]
async fn a_certificate_for_another_name_or_time_is_refused() {
    let authority = authority();
    let ca = file(&authority.pem());
    let egress = egress(Some(ca.path())).unwrap();
    let server = serve(&authority, leaf("pictures.example"), small()).await;
    let other = get(&egress, "other.example", server.port()).await;
    assert_eq!(
        other,
        Err(EgressFault::Tls("its certificate is for another name"))
    );
    let mut params = leaf("pictures.example");
    params.not_before = date_time_ymd(2001, 1, 1);
    params.not_after = date_time_ymd(2002, 1, 1);
    let server = serve(&authority, params, small()).await;
    let expired = get(&egress, "pictures.example", server.port()).await;
    assert_eq!(
        expired,
        Err(EgressFault::Tls("its certificate has expired"))
    );
    let mut params = leaf("pictures.example");
    params.not_before = date_time_ymd(3001, 1, 1);
    params.not_after = date_time_ymd(3002, 1, 1);
    let server = serve(&authority, params, small()).await;
    let early = get(&egress, "pictures.example", server.port()).await;
    assert_eq!(
        early,
        Err(EgressFault::Tls("its certificate is not valid yet"))
    );
}

#[actix_web::test]
async fn a_server_without_tls_is_a_tls_fault() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
            let _ = stream.read_to_end(&mut Vec::new()).await;
        }
    });
    let fault = get(&egress(None).unwrap(), "plain.example", port)
        .await
        .unwrap_err();
    assert!(matches!(fault, EgressFault::Tls(_)), "{fault}");
}

#[test]
fn an_unusable_file_of_authorities_is_named() {
    let missing = egress(Some(Path::new("/nonexistent/ca.pem")))
        .err()
        .unwrap()
        .to_string();
    assert!(missing.contains("/nonexistent/ca.pem"), "{missing}");
    for content in [
        "",
        "no PEM",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    ] {
        let ca = file(content);
        let error = egress(Some(ca.path())).err().unwrap();
        assert!(
            matches!(error, EgressSetupError::CaFile { .. }),
            "{content:?}: {error}"
        );
    }
}
