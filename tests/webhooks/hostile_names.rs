//! DNS rebinding: a host that was public at registration and is not at the attempt. Every attempt checks the address.

use crate::receiver::Receiver;
use crate::simulation::{ACCOUNT, BEGIN, furnish};
use crate::support::batches::entry;
use crate::support::poll::until_some;
use crate::support::{Options, Origin, Server};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tintype::objects::{FileSigningKey, ObjectStorage};
use tintype::webhooks::{Sender, Vault};
use tintype_actors::ports::{AttemptOutcome, Transport};
use tintype_egress::{Client, ClientOptions, Resolve};
use tintype_storage::domain::delivery::{Attempt, Delivery, DeliveryId, DeliveryKind};
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::{Encoding, Webhook, WebhookId};
use tintype_storage::store::Store;
use tintype_storage::testing::memory::MemoryEngine;
use tintype_storage::webhook_wire::secret::WebhookSecret;
use uuid::Uuid;

/// Resolves to these addresses in turn.
struct Rebinding {
    answers: [&'static str; 2],
    asked: AtomicUsize,
}

impl Resolve for Rebinding {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let turn = self.asked.fetch_add(1, Ordering::SeqCst);
        let answer = self.answers[turn.min(1)].parse().unwrap();
        async move { Ok(vec![answer]) }.boxed()
    }
}

/// Two attempts at a host with these resolver answers; 127.0.0.1 stands for a public address.
fn attempts(answers: [&'static str; 2], port: u16) -> Vec<Attempt> {
    let directory = tempfile::tempdir().unwrap();
    let engine = Arc::new(MemoryEngine::new());
    let store = Store::new(engine.clone());
    furnish(&*engine, &store, &[]);
    let allow = vec!["127.0.0.1/32".parse().unwrap()];
    let resolver = Arc::new(Rebinding {
        answers,
        asked: AtomicUsize::new(0),
    });
    let options = ClientOptions {
        allow,
        ..ClientOptions::default()
    };
    let vault = Vault::load_or_create(directory.path(), None).unwrap();
    let id = WebhookId(Uuid::from_u128(1));
    let webhook = Webhook {
        url: format!("http://rebinding.example:{port}/"),
        secret: vault.seal(id, &WebhookSecret::from_random([7; 32])),
        encoding: Encoding::Ascii,
        ..crate::simulation::webhook(1)
    };
    let key = FileSigningKey::load_or_create(directory.path()).unwrap();
    let sender = Sender {
        store,
        objects: ObjectStorage::open("", directory.path(), "http://x", key).unwrap(),
        vault,
        egress: Client::with_resolver(options, resolver).unwrap(),
        ungated: Client::new(ClientOptions::default()).unwrap(),
        clock: Arc::new(|| Timestamp::from_millis(BEGIN)),
        timeout: Duration::from_secs(10),
        url_lifetime: Duration::from_secs(86_400),
    };
    let number = Uuid::from_u128(9);
    let now = Timestamp::from_millis(BEGIN);
    let (id, job) = (DeliveryId(number), JobId(number));
    let delivery = Delivery::new(id, &webhook, DeliveryKind::Test, job.0, now);
    assert_eq!(delivery.account, ACCOUNT);
    actix_web::rt::System::new().block_on(async {
        let first = sender.attempt(delivery.clone(), webhook.clone()).await;
        let second = sender.attempt(delivery, webhook).await;
        let made = |outcome| match outcome {
            AttemptOutcome::Made(attempt) => attempt,
            AttemptOutcome::NotSent(reason) => panic!("{reason}"),
        };
        [first, second].map(made).into()
    })
}

fn port(receiver: &Receiver) -> u16 {
    receiver
        .url("")
        .rsplit(':')
        .next()
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn a_name_that_becomes_private_is_no_longer_called() {
    for private in ["127.0.0.2", "10.0.0.1", "::1", "169.254.169.254", "0.0.0.0"] {
        let receiver = Receiver::content();
        let made = attempts(["127.0.0.1", private], port(&receiver));
        assert_eq!(made[0].status_code, Some(200));
        assert_eq!(made[1].status_code, None);
        assert_eq!(
            made[1].error.as_deref(),
            Some("its host does not resolve to a public address")
        );
        assert_eq!(receiver.count(), 1, "{private}");
    }
}

#[test]
fn a_name_that_turns_public_again_is_called_again() {
    let receiver = Receiver::content();
    let made = attempts(["127.0.0.2", "127.0.0.1"], port(&receiver));
    assert!(!made[0].succeeded());
    assert_eq!(made[1].status_code, Some(200));
    assert_eq!(receiver.count(), 1);
}

/// The same with a whole server, whose deliveries are of an ended job and of an ended batch.
#[test]
fn events_of_jobs_and_batches_are_not_sent_to_a_name_that_becomes_private() {
    let trap = Origin::trap_at("127.0.0.2");
    let resolver = Rebinding {
        answers: ["127.0.0.1", "127.0.0.2"],
        asked: AtomicUsize::new(0),
    };
    let options = Options::new()
        .set("egress.allow", vec!["127.0.0.1/32"])
        .resolving(resolver);
    let server = Server::with(options);
    let customer = server.customer("10.00");
    let url = format!("http://rebinding.example:{}/", trap.port());
    server.webhook(&customer, &url);
    server.create(&customer);
    server.submit(&customer, &[entry()]);
    let attempts = until_some("both deliveries were attempted", || {
        let found = server.deliveries("limit=100");
        let attempts: Vec<_> = found.iter().map(|it| it["attempts"][0].clone()).collect();
        (attempts.len() == 2 && attempts.iter().all(|it| it.is_object())).then_some(attempts)
    });
    for attempt in attempts {
        assert_eq!(
            attempt["error"],
            "its host does not resolve to a public address"
        );
    }
    assert_eq!(trap.accepted(), 0);
}
