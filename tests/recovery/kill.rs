//! The process is killed repeatedly while callers create jobs. The test itself remembers every 202.

use crate::client::{Client, Connection, Cut};
use crate::kill_load::{Memory, acknowledged};
use crate::test_directory::{Service, TestDirectory, until};
use std::collections::BTreeMap;
use std::sync::Mutex;

const ROUNDS: usize = 12;
const CALLERS: usize = 4;
/// More than a caller can create in one round.
const MAX_CALLS: usize = 100_000;
/// Jobs to run at the end; the others are canceled, because each run takes a second here.
const MADE: usize = 4;

fn create_until_cut(client: &Client, memory: &Mutex<Memory>) {
    let Ok(mut connection) = Connection::open(&client.address) else {
        return;
    };
    for _ in 0..MAX_CALLS {
        let name = memory.lock().expect("memory").take();
        match client.create_small(&mut connection, &name) {
            Ok(answer) => memory.lock().expect("memory").note(name, answer.accepted()),
            Err(Cut::Unanswered | Cut::Midway(_)) => {
                memory.lock().expect("memory").in_doubt.insert(name);
                return;
            }
        }
    }
}

/// Starts the service and kills it while it opens the store or recovers jobs.
fn kill_at_start(place: &TestDirectory) {
    let mut service = place.begin_to_serve(place.command(crate::test_directory::BINARY));
    let files = format!("/proc/{}/fd", service.pid());
    let log = place.data().join("store/db");
    until("the store is being opened", || {
        let open = std::fs::read_dir(&files).ok()?.flatten();
        open.filter_map(|file| std::fs::read_link(file.path()).ok())
            .find(|file| *file == log)
    });
    service.kill();
}

#[test]
fn hostile_089_acknowledged_jobs_survive_every_kill() {
    let place = TestDirectory::with(&[
        ("FIRST_RUN__BALANCE", "\"10000.00\""),
        ("JOBS__MAX_RUNS", "100"),
        ("BACKENDS__BUILTIN__CONCURRENCY", "1"),
    ]);
    let memory = Mutex::new(Memory::default());
    let mut key = None;
    for round in 0..ROUNDS {
        if round % 3 == 2 {
            kill_at_start(&place);
        }
        let mut service = place.serve();
        key = key.or(service.printed_key());
        let client = service.client(key.as_deref().expect("a key"));
        let before = acknowledged(&memory);
        std::thread::scope(|scope| {
            for _ in 0..CALLERS {
                scope.spawn(|| create_until_cut(&client, &memory));
            }
            until("enough jobs are accepted", || {
                (acknowledged(&memory) >= before + 5 + 11 * (round % 4)).then_some(())
            });
            service.kill();
        });
    }
    let service = place.serve();
    let client = service.client(key.as_deref().expect("a key"));
    settle_doubts(&client, &memory);
    let jobs = memory.into_inner().expect("memory").acknowledged;
    let done = drain(&client, &jobs);
    assert!(done >= MADE, "{done} done");
    check_money(&client, done);
    service.stop();
    check_books(&place, jobs.len());
}

/// Repeats the calls without an answer, and checks that answered calls return the same job again.
fn settle_doubts(client: &Client, memory: &Mutex<Memory>) {
    let mut memory = memory.lock().expect("memory");
    let mut connection = Connection::open(&client.address).expect("a connection");
    let known: Vec<String> = memory.acknowledged.keys().cloned().collect();
    let doubts = std::mem::take(&mut memory.in_doubt);
    for name in doubts.into_iter().chain(known) {
        let replayed = memory.acknowledged.contains_key(&name);
        let answer = client
            .create_small(&mut connection, &name)
            .expect("an answer");
        if replayed {
            assert_eq!(answer.header("Idempotent-Replayed"), Some("true"), "{name}");
        }
        let id = answer.accepted();
        memory.note(name, id);
    }
}

/// Ends all jobs, some with an image; returns the number of images.
fn drain(client: &Client, jobs: &BTreeMap<String, String>) -> usize {
    // The oldest jobs are next in the queue.
    let mut ids: Vec<&String> = jobs.values().collect();
    ids.sort();
    let waiting = ids.iter().filter(|id| client.job(id)["status"] != "done");
    for id in waiting.skip(MADE).collect::<Vec<_>>() {
        let status = client
            .call("DELETE", &format!("/api/v1/jobs/{id}"), None)
            .status;
        assert!([200, 409].contains(&status), "cancel: {status}");
    }
    let done = |id: &&&String| {
        let status = until("a job ends", || {
            let status = client.job(id)["status"].clone();
            (status == "done" || status == "failed").then_some(status)
        });
        status == "done"
    };
    ids.iter().filter(done).count()
}

fn check_money(client: &Client, done: usize) {
    let spent = 39 * done;
    let (balance, reserved) = client.money();
    let balance: f64 = balance.parse().expect("a number");
    assert_eq!((balance * 1_000.0).round() as usize, 10_000_000 - spent);
    assert_eq!(reserved, "0.00");
}

/// Checks that `verify` finds no fault and no job besides the acknowledged ones.
fn check_books(place: &TestDirectory, jobs: usize) {
    let verified = place.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    assert!(verified.out.contains("all invariants hold"), "{verified:?}");
    let counted = format!("0 live jobs, {jobs} ended jobs");
    assert!(verified.out.contains(&counted), "{counted}: {verified:?}");
}

/// Kills the service repeatedly as soon as it answers, with a job in the queue.
#[test]
fn hostile_090_kills_in_a_row_lose_nothing() {
    let place = TestDirectory::with(&[("JOBS__MAX_RUNS", "100")]);
    let mut service = place.serve();
    let key = service.printed_key().expect("a key");
    let id = service.client(&key).create_slow("4K");
    service.kill();
    for _ in 0..8 {
        kill_at_start(&place);
        let mut service: Service = place.serve();
        let job = service.client(&key).job(&id);
        assert!(
            job["status"] == "queued" || job["status"] == "processing",
            "{job}"
        );
        service.kill();
    }
    let verified = place.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    assert!(verified.out.contains("1 live job,"), "{verified:?}");
}
