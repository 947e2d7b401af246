//! A full disk, simulated by a limit on file sizes.

use crate::client::{Client, Connection};
use crate::test_directory::{BINARY, TestDirectory};
use serde_json::json;
use std::sync::Mutex;

const CALLERS: usize = 4;
const MIB: u64 = 1 << 20;
const MAX_CALLS: usize = 20_000;
/// Runs the binary with a file size limit of 2 MiB (the WAL grows by 1 MiB), with errors instead of a signal at the limit.
const LIMITED: &str = "ulimit -f 4096; trap '' XFSZ; exec \"$0\" \"$@\"";

fn create_until_refused(client: &Client, caller: usize, accepted: &Mutex<Vec<(String, String)>>) {
    let mut connection = Connection::open(&client.address).expect("a connection");
    for call in 0..MAX_CALLS {
        let name = format!("{caller}-{call}");
        match client.create_small(&mut connection, &name) {
            Ok(answer) if answer.status == 202 => {
                let id = answer.accepted();
                accepted.lock().expect("accepted").push((name, id));
            }
            Ok(answer) => {
                assert_eq!(answer.status, 503, "{}", answer.json());
                assert!(answer.header("Retry-After").is_some());
                return;
            }
            Err(_) => return,
        }
    }
    panic!("the disk never filled");
}

#[test]
fn hostile_073_a_failing_write_ends_the_process_and_the_restart_recovers() {
    let mut place = TestDirectory::with(&[
        ("FIRST_RUN__BALANCE", "\"10000.00\""),
        ("SERVER__SHUTDOWN_GRACE_SECONDS", "0"),
        ("BACKENDS__BUILTIN__CONCURRENCY", "1"),
    ]);
    let mut command = place.command("sh");
    command.args(["-c", LIMITED, BINARY]);
    let mut service = place.begin_to_serve(command);
    service.wait_until_ready();
    let key = service.printed_key().expect("a key");
    let client = service.client(&key);
    let accepted = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            let (client, accepted) = (&client, &accepted);
            scope.spawn(move || create_until_refused(client, caller, accepted));
        }
    });
    assert_eq!(service.code(), Some(1));
    let log = service.end();
    let last_words: Vec<&str> = log
        .lines()
        .filter(|line| line.starts_with("tintype: "))
        .collect();
    assert_eq!(last_words.len(), 1, "{log}");
    assert!(
        last_words[0].starts_with("tintype: stopped: storage failed: "),
        "{last_words:?}"
    );

    let accepted = accepted.into_inner().expect("accepted");
    assert!(!accepted.is_empty());
    place.set("JOBS__MAX_RUNS", "100");
    let service = place.serve();
    let client = service.client(&key);
    let mut connection = Connection::open(&client.address).expect("a connection");
    for (name, id) in &accepted {
        let again = client
            .create_small(&mut connection, name)
            .expect("an answer");
        assert_eq!(again.header("Idempotent-Replayed"), Some("true"), "{name}");
        assert_eq!(again.accepted(), *id);
        client.job(id);
    }
    service.stop();
    let verified = place.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

/// The store behind the WAL reaches the same limit shortly after a run has started.
#[test]
fn a_storage_failure_without_any_call_ends_the_process_too() {
    let place = TestDirectory::with(&[
        ("JOBS__MAX_RUNS", "100"),
        ("SERVER__SHUTDOWN_GRACE_SECONDS", "0"),
        ("BACKENDS__BUILTIN__CONCURRENCY", "1"),
        ("FIRST_RUN__BALANCE", "\"1000.00\""),
    ]);
    let service = place.serve();
    let key = service.printed_key().expect("a key");
    let client = service.client(&key);
    let id = client.create_slow("4K");
    // Together they exceed 1 MiB in the store; they wait behind the first job.
    let body = json!({"prompt": "x".repeat(4_900), "aspect_ratio": "1:1", "resolution": "4K"});
    for _ in 0..260 {
        client
            .call("POST", "/api/v1/text-generations", Some(&body))
            .accepted();
    }
    service.stop();
    let size = std::fs::metadata(place.data().join("store/db"))
        .expect("the log")
        .len();
    assert!(size > MIB, "the store has {size} bytes");
    // The WAL grows by 1 MiB, so the limit leaves room for the WAL and none for the store.
    let limited = format!("ulimit -f {}; trap '' XFSZ; exec \"$0\" \"$@\"", MIB / 512);
    let mut command = place.command("sh");
    command.args(["-c", &limited, BINARY]);
    let mut service = place.begin_to_serve(command);
    let code = service.code();
    let log = service.end();
    assert_eq!(code, Some(1), "{log}");
    assert!(
        log.lines().any(|line| line.starts_with("tintype: ")),
        "{log}"
    );

    let service = place.serve();
    service.client(&key).job_when(&id, "done");
}
