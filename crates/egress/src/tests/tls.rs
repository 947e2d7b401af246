//! Tests of TLS errors: unknown authority, wrong name, expired certificate, no TLS at all.

use std::path::Path;

use rcgen::date_time_ymd;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::{
    Client, Error, SetupError,
    testing::{
        self,
        tls::{authority, client, file, leaf, serve},
    },
};

fn small() -> String {
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned()
}

async fn get(client: &Client, host: &str, port: u16) -> Result<String, Error> {
    testing::get(client, &format!("https://{host}:{port}/")).await
}

#[tokio::test]
async fn a_private_authority_is_trusted_only_if_configured() {
    let authority = authority();
    let server = serve(&authority, leaf("pictures.example"), small()).await;
    let unknown = get(&client(None).unwrap(), "pictures.example", server.port()).await;
    assert_eq!(
        unknown,
        Err(Error::Tls(
            "its certificate is not from a trusted authority"
        ))
    );
    let ca = file(&authority.pem());
    let known = get(
        &client(Some(ca.path())).unwrap(),
        "pictures.example",
        server.port(),
    )
    .await;
    assert_eq!(known.unwrap(), "ok");
}

#[tokio::test]
async fn a_certificate_for_another_name_or_time_is_refused() {
    let authority = authority();
    let ca = file(&authority.pem());
    let client = client(Some(ca.path())).unwrap();
    let server = serve(&authority, leaf("pictures.example"), small()).await;
    let other = get(&client, "other.example", server.port()).await;
    assert_eq!(
        other,
        Err(Error::Tls("its certificate is for another name"))
    );
    let mut params = leaf("pictures.example");
    params.not_before = date_time_ymd(2001, 1, 1);
    params.not_after = date_time_ymd(2002, 1, 1);
    let server = serve(&authority, params, small()).await;
    let expired = get(&client, "pictures.example", server.port()).await;
    assert_eq!(expired, Err(Error::Tls("its certificate has expired")));
    let mut params = leaf("pictures.example");
    params.not_before = date_time_ymd(3001, 1, 1);
    params.not_after = date_time_ymd(3002, 1, 1);
    let server = serve(&authority, params, small()).await;
    let early = get(&client, "pictures.example", server.port()).await;
    assert_eq!(early, Err(Error::Tls("its certificate is not valid yet")));
}

#[tokio::test]
async fn a_certificate_of_an_authority_or_for_clients_is_refused_with_the_reason() {
    let authority = authority();
    let ca = file(&authority.pem());
    let client = client(Some(ca.path())).unwrap();
    let mut of_authority = leaf("pictures.example");
    of_authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let mut for_clients = leaf("pictures.example");
    for_clients.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    for (params, reason) in [
        (
            of_authority,
            "its certificate is that of an authority (`CA:TRUE`), not of a server (`CA:FALSE`)",
        ),
        (
            for_clients,
            "its certificate is not for servers: `extendedKeyUsage` lacks `serverAuth`",
        ),
    ] {
        let server = serve(&authority, params, small()).await;
        let refused = get(&client, "pictures.example", server.port()).await;
        assert_eq!(refused, Err(Error::Tls(reason)));
    }
}

#[tokio::test]
async fn a_server_without_tls_is_a_tls_fault() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
            let _ = stream.read_to_end(&mut Vec::new()).await;
        }
    });
    let fault = get(&client(None).unwrap(), "plain.example", port)
        .await
        .unwrap_err();
    assert!(matches!(fault, Error::Tls(_)), "{fault}");
}

#[test]
fn an_unusable_file_of_authorities_is_named() {
    let missing = client(Some(Path::new("/nonexistent/ca.pem")))
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
        let error = client(Some(ca.path())).err().unwrap();
        assert!(
            matches!(error, SetupError::CaFile { .. }),
            "{content:?}: {error}"
        );
    }
}
