//! Receivers behind TLS: which certificates are trusted.

use crate::helpers::options;
use crate::support::Server;
use rcgen::KeyPair;
use rustls::pki_types::PrivatePkcs8KeyDer;
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use tintype_egress::testing::tls;

/// A certificate authority, and a receiver with a certificate of this authority that answers one request.
struct Receiver {
    authority: String,
    address: SocketAddr,
    heard: JoinHandle<Vec<u8>>,
}

fn receiver(host: &str) -> Receiver {
    let authority = tls::authority();
    let key = KeyPair::generate().unwrap();
    let certificate = tls::leaf(host).signed_by(&key, &authority).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        )
        .unwrap();
    let listener = TcpListener::bind((host, 0)).unwrap();
    Receiver {
        authority: authority.pem(),
        address: listener.local_addr().unwrap(),
        heard: std::thread::spawn(move || answer_one(&listener, config)),
    }
}

/// The bytes received before the answer; empty if the caller disconnected during the handshake.
fn answer_one(listener: &TcpListener, config: rustls::ServerConfig) -> Vec<u8> {
    let (mut stream, _) = listener.accept().unwrap();
    let mut connection = rustls::ServerConnection::new(Arc::new(config)).unwrap();
    let mut tls = rustls::Stream::new(&mut connection, &mut stream);
    let mut heard = Vec::new();
    let mut buffer = [0; 4_096];
    // The body of a delivery ends with its last field and the closing brace.
    while !heard.ends_with(b"\"done\"}") {
        match tls.read(&mut buffer) {
            Ok(read) if read > 0 => heard.extend_from_slice(&buffer[..read]),
            _ => return heard,
        }
    }
    let _ = tls.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
    heard
}

fn first_attempt(server: &Server, address: SocketAddr) -> (Value, Value) {
    let customer = server.customer("1.00");
    server.webhook(&customer, &format!("https://{address}/"));
    let delivery = server.delivery_after(&server.create(&customer), 1);
    (delivery["attempts"][0].clone(), delivery)
}

#[test]
fn hostile_101_a_certificate_of_an_unknown_authority_fails_the_attempt() {
    let receiver = receiver("127.0.0.1");
    let server = Server::with(options());
    let (attempt, delivery) = first_attempt(&server, receiver.address);
    let error = attempt["error"].as_str().unwrap();
    assert!(
        error.contains("its certificate is not from a trusted authority"),
        "{attempt}"
    );
    assert_eq!(attempt["status_code"], Value::Null);
    assert_eq!(delivery["status"], "pending");
    assert_eq!(receiver.heard.join().unwrap(), b"", "nothing was sent");
}

#[test]
fn a_receiver_under_the_operators_own_authority_is_trusted() {
    for host in ["127.0.0.1", "::1"] {
        let receiver = receiver(host);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &receiver.authority).unwrap();
        let path = file.path().to_str().unwrap().to_owned();
        let options = options()
            .set("egress.allow", vec!["127.0.0.0/8", "::1/128"])
            .set("egress.extra_ca_file", path);
        let server = Server::with(options);
        let (attempt, delivery) = first_attempt(&server, receiver.address);
        assert_eq!(attempt["status_code"], 204, "{attempt}");
        assert_eq!(delivery["status"], "delivered");
        let heard = String::from_utf8(receiver.heard.join().unwrap()).unwrap();
        assert!(heard.contains("x-signature: sha256="), "{heard}");
    }
}
