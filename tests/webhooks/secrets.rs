//! Webhook secrets appear only in answers to the operator: not in the log at trace level, and not in the bytes of the store.

use crate::helpers::server;
use crate::receiver::{Receiver, Reply};
use crate::support::Server;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::engine::{Direction, KeyRange};
use tracing_subscriber::fmt::MakeWriter;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Performs every call on a webhook; returns its secrets, the replaced one first.
fn life_of_a_webhook(server: &Server) -> Vec<String> {
    let receiver = Receiver::deciding(|number, _| match number {
        0 => Reply::Status(500),
        1 => Reply::Raw(b"nonsense".to_vec()),
        _ => Reply::Status(200),
    });
    let customer = server.customer("1.00");
    let webhook = server.webhook(&customer, &receiver.url("/"));
    let job = server.create(&customer);
    server.delivery_after(&job, 1);
    let path = format!("/webhooks/{}", webhook.id);
    let rotated = server.admin("POST", &format!("{path}/rotate-secret"));
    let rotated = rotated.expect(200).json()["secret"].clone();
    server.admin("GET", &path).expect(200);
    server.admin("POST", &format!("{path}/test")).expect(202);
    receiver.once(2);
    server.pass(Duration::from_secs(300));
    let delivery = server.delivery_in(&job, "delivered");
    server.redeliver(&delivery);
    server.delivery_once(&job, |it| {
        it["status"] == "delivered" && it["attempts"].as_array().unwrap().len() == 3
    });
    vec![webhook.secret, rotated.as_str().unwrap().to_owned()]
}

/// The secret as text, without its prefix, as bytes, and as hex.
fn forms(secret: &str) -> Vec<Vec<u8>> {
    let encoded = secret.strip_prefix("whsec_").unwrap();
    let bytes = STANDARD.decode(encoded).unwrap();
    vec![
        encoded.trim_end_matches('=').as_bytes().to_vec(),
        hex::encode(&bytes).into_bytes(),
        bytes,
    ]
}

fn holds(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|it| it == wanted)
}

#[test]
fn no_log_line_contains_a_secret_even_at_trace_level() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    // Global, because the service runs on its own threads. Lines of other tests do no harm.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let secrets = life_of_a_webhook(&server());
    let log = log.0.lock();
    assert!(holds(&log, b"TRACE"), "the log is at its most talkative");
    for secret in &secrets {
        for form in forms(secret) {
            assert!(!holds(&log, &form), "a secret is in the log");
        }
    }
    assert!(!holds(&log, b"whsec_"));
}

#[test]
fn the_store_contains_no_readable_secret() {
    let server = server();
    let secrets = life_of_a_webhook(&server);
    let all = KeyRange::prefix(&[]);
    let engine = server.inside().store.engine();
    let pairs = engine
        .scan(&all, Direction::Rising, 100_000)
        .wait()
        .unwrap();
    assert!(
        pairs.iter().any(|(key, _)| key[0] == b'w'),
        "the webhook is there"
    );
    for (key, value) in &pairs {
        for secret in &secrets {
            for form in forms(secret) {
                assert!(!holds(key, &form) && !holds(value, &form), "{key:?}");
            }
        }
        assert!(!holds(value, b"whsec_"), "{key:?}");
    }
}

#[test]
fn no_record_of_a_secret_is_of_use_without_the_key() {
    let server = Server::with(crate::helpers::options().on_disk());
    let secrets = life_of_a_webhook(&server);
    let options = server.stop();
    let restarted = Server::with(options.clone());
    let is_node = restarted.inside().system.node().is_some();
    let first = restarted.admin("GET", "/accounts").expect(200).json();
    let account = first["data"][0]["account_id"].as_str().unwrap().to_owned();
    let path = format!("/accounts/{account}/webhooks");
    let shown = restarted.admin("GET", &path).expect(200).json();
    assert_eq!(shown["data"][0]["secret"], secrets[1].as_str());
    restarted.stop();
    let options = match is_node {
        // Nodes keep the key in the store, sealed with the cluster secret.
        true => options.set("cluster.secret", "another-secret-than-that-of-the-nodes"),
        false => {
            let key = options.data_dir().join("secrets-key");
            assert_eq!(std::fs::read(&key).unwrap().len(), 32);
            std::fs::remove_file(&key).unwrap();
            options
        }
    };
    // The service does not start, because another key could not decrypt the store's secrets.
    let without = std::panic::catch_unwind(AssertUnwindSafe(|| Server::with(options)));
    assert!(without.is_err(), "it has started without the key");
}
