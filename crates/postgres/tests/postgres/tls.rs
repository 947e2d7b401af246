//! Connections are encrypted and servers verified as `sslmode` says.

use crate::support::{get, options, put, refusal};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use std::fs;
use tintype_postgres::PostgresEngine;
use tintype_postgres::testing::{Database, Server, server};
use tintype_storage::engine::commit_and_wait;

/// The number of encrypted and of plain connections of an engine.
fn connections(database: &Database<'_>, url: &str) -> (usize, usize) {
    let engine = PostgresEngine::open(options(url)).expect("an engine");
    commit_and_wait(&engine, vec![put("a", "1")]).expect("a commit");
    assert_eq!(get(&engine, "a").as_deref(), Some("1"));
    let count = format!(
        "SELECT s.ssl FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) \
         WHERE a.datname = '{}' AND a.application_name = 'tintype'",
        database.name
    );
    let found = database.server.query("postgres", &count);
    drop(engine);
    let encrypted = found.iter().filter(|it| *it == "t").count();
    (encrypted, found.len() - encrypted)
}

#[test]
fn each_sslmode_encrypts_as_documented() {
    let Some(server) = server() else { return };
    let database = server.database();
    let url = server.url("postgres", &database.name);
    for (mode, is_encrypted) in [("disable", false), ("prefer", true), ("require", true)] {
        let (encrypted, plain) = connections(&database, &format!("{url}?sslmode={mode}"));
        assert_eq!(
            (encrypted > 0, plain > 0),
            (is_encrypted, !is_encrypted),
            "{mode}"
        );
    }
}

#[test]
fn verify_full_requires_a_trusted_certificate_that_names_the_host() {
    let Some(server) = server() else { return };
    let database = server.database();
    let by_address = server.url("postgres", &database.name);
    let by_name = by_address.replace("127.0.0.1", "localhost");
    let roots = format!("sslrootcert={}", server.certificate().display());
    let trusted = format!("{by_name}?sslmode=verify-full&{roots}");
    let (encrypted, plain) = connections(&database, &trusted);
    assert!(encrypted > 0 && plain == 0);
    let unknown = refusal(&format!("{by_name}?sslmode=verify-full"));
    assert!(unknown.contains("certificate"), "{unknown}");
    let misnamed = refusal(&format!("{by_address}?sslmode=verify-full&{roots}"));
    assert!(misnamed.contains("certificate"), "{misnamed}");
    let no_file = refusal(&format!(
        "{by_name}?sslmode=verify-full&sslrootcert=/missing.pem"
    ));
    assert!(no_file.contains("sslrootcert `/missing.pem`"), "{no_file}");
}

/// As `openssl req -x509` makes it: the certificate of an authority, which is the server's own.
#[test]
fn verify_full_accepts_the_self_signed_certificate_that_sslrootcert_names() {
    let Some(server) = Server::start() else {
        return;
    };
    let data = server.socket().join("data");
    let key = fs::read_to_string(data.join("server.key")).expect("the key");
    let key = KeyPair::from_pem(&key).expect("a key");
    let mut parameters = CertificateParams::new(vec!["localhost".to_owned()]).expect("parameters");
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = parameters.self_signed(&key).expect("a certificate");
    let file = data.join("authority.crt");
    fs::write(&file, certificate.pem()).expect("written");
    let present = "ALTER SYSTEM SET ssl_cert_file = 'authority.crt'";
    server.execute("postgres", present);
    server.crash();
    let database = server.database();
    let by_address = server.url("postgres", &database.name);
    let by_name = by_address.replace("127.0.0.1", "localhost");
    let roots = format!("sslmode=verify-full&sslrootcert={}", file.display());
    let (encrypted, plain) = connections(&database, &format!("{by_name}?{roots}"));
    assert!(encrypted > 0 && plain == 0);
    let misnamed = refusal(&format!("{by_address}?{roots}"));
    assert!(misnamed.contains("subjectAltName"), "{misnamed}");
    let unlisted = server.certificate();
    let roots = format!("sslmode=verify-full&sslrootcert={}", unlisted.display());
    let unlisted = refusal(&format!("{by_name}?{roots}"));
    assert!(unlisted.contains("certificate"), "{unlisted}");
    assert!(!unlisted.contains("is it running"), "{unlisted}");
}
