//! The graceful shutdown while callers keep calling on keep-alive connections.

use crate::client::{Client, Connection, Cut};
use crate::test_directory::{TestDirectory, until};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const CALLERS: usize = 24;
/// More than a caller can make.
const MAX_CALLS: usize = 100_000;
/// Answers before the shutdown.
const ENOUGH: usize = 120;

#[derive(Default)]
struct Observations {
    accepted: Mutex<Vec<(String, String)>>,
    unanswered: Mutex<Vec<String>>,
    count: AtomicUsize,
}

fn call_until_refused(client: &Client, caller: usize, seen: &Observations) {
    for call in 0..MAX_CALLS {
        let Ok(mut connection) = Connection::open(&client.address) else {
            return;
        };
        for step in 0..MAX_CALLS {
            let name = format!("{caller}-{call}-{step}");
            match client.create_small(&mut connection, &name) {
                Ok(answer) => {
                    let id = answer.accepted();
                    seen.accepted.lock().expect("seen").push((name, id));
                    seen.count.fetch_add(1, Ordering::SeqCst);
                    if answer.header("connection").is_some_and(|it| it == "close") {
                        break;
                    }
                }
                Err(Cut::Unanswered) => {
                    seen.unanswered.lock().expect("seen").push(name);
                    break;
                }
                Err(Cut::Midway(what)) => panic!("half an answer: {what}"),
            }
        }
    }
}

#[test]
fn hostile_018_every_call_is_answered_or_has_no_effect() {
    let place = TestDirectory::with(&[
        ("SERVER__SHUTDOWN_GRACE_SECONDS", "120"),
        ("FIRST_RUN__BALANCE", "\"10000.00\""),
    ]);
    let mut service = place.serve();
    let key = service.printed_key().expect("a key");
    let client = service.client(&key);
    let seen = Observations::default();
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            let (client, seen) = (&client, &seen);
            scope.spawn(move || call_until_refused(client, caller, seen));
        }
        until("calls are under way", || {
            (seen.count.load(Ordering::SeqCst) >= ENOUGH).then_some(())
        });
        service.terminate();
    });
    assert_eq!(service.code(), Some(0), "{}", service.end());
    assert!(!service.end().contains("ERROR"), "{}", service.end());

    let mut service = place.serve();
    let client = service.client(&key);
    let mut connection = Connection::open(&client.address).expect("a connection");
    let mut replayed = |name: &str| {
        let answer = client
            .create_small(&mut connection, name)
            .expect("an answer");
        (
            answer.header("Idempotent-Replayed").is_some(),
            answer.accepted(),
        )
    };
    for (name, id) in seen.accepted.into_inner().expect("seen") {
        assert_eq!(replayed(&name), (true, id), "{name} was answered");
    }
    for name in seen.unanswered.into_inner().expect("seen") {
        assert!(
            !replayed(&name).0,
            "{name} was not answered, but there is a job"
        );
    }
    service.kill();
    let verified = place.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}
