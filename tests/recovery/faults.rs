//! The real binary with a failing disk: a fault is injected at a chosen system call on its records or its images. The service keeps
//! working, or exits within seconds with a message that says what to do; no caller gets a false answer; and the restart is clean.
//!
//! The store's own matrix (`storage/tests/crashes`) injects each fault at every single call. Here a few calls of each kind test the
//! service around the store; `TINTYPE_FAULTS` sets how many.

use crate::client::{Client, Connection};
use crate::peer::Peer;
use crate::preload::Preload;
use crate::test_directory::{BINARY, Service, TestDirectory, until};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

/// Calls tried per kind; `TINTYPE_FAULTS` can request all of them.
const TRIED: usize = 5;
const JOBS: usize = 6;
/// From the fault to the exit: the watchdog's 5 s, the last message, and a margin for a busy machine.
const LONGEST_SECONDS: u64 = 30;

pub fn tried() -> usize {
    let wanted = std::env::var("TINTYPE_FAULTS").ok();
    wanted.map_or(TRIED, |it| it.parse().expect("a number"))
}

/// The library that injects the faults.
pub fn intruder() -> &'static Path {
    static BUILT: OnceLock<Preload> = OnceLock::new();
    let built = BUILT.get_or_init(|| Preload::build("storage/tests/crashes/intruder.c"));
    &built.path
}

/// A fault: its kind, the directory, and the number of the call.
#[derive(Clone, Copy, Debug)]
struct InjectedFault<'a> {
    name: &'a str,
    below: &'a str,
    at: usize,
    lasting: bool,
}

fn place(peer: &Peer) -> TestDirectory {
    let place = TestDirectory::with(&[
        ("SERVER__SHUTDOWN_GRACE_SECONDS", "5"),
        ("JOBS__MAX_RUNS", "50"),
    ]);
    let address = &peer.address;
    let text = format!(
        "[backends.peer]\nkind = \"openai\"\nbase_url = \"http://{address}/v1\"\n\
         [tiers.fast]\nbackends = [{{ name = \"peer\" }}]\n"
    );
    fs::write(place.path("config.toml"), text).expect("a configuration");
    place
}

/// Starts the service with an injected fault.
fn start_with_fault(place: &TestDirectory, fault: InjectedFault<'_>) -> Service {
    let mut command = place.command(BINARY);
    command
        .env("LD_PRELOAD", intruder())
        .env("INTRUDER_DIRECTORY", place.data().join(fault.below))
        .env("INTRUDER_AT", fault.at.to_string())
        .env("INTRUDER_DEED", fault.name)
        .env("INTRUDER_LOG", place.path("calls"));
    if fault.lasting {
        command.env("INTRUDER_LASTING", "1");
    }
    place.begin_to_serve(command)
}

fn calls(place: &TestDirectory) -> Vec<String> {
    let log = fs::read_to_string(place.path("calls")).unwrap_or_default();
    log.lines().map(str::to_owned).collect()
}

/// Creates jobs until one is refused.
fn ask(client: &Client, accepted: &mut BTreeMap<String, String>) {
    let Ok(mut connection) = Connection::open(&client.address) else {
        return;
    };
    for _ in 0..JOBS {
        let name = format!("name-{}", accepted.len());
        match client.create_small(&mut connection, &name) {
            Ok(answer) if answer.status == 202 => drop(accepted.insert(name, answer.accepted())),
            Ok(answer) => {
                assert!([502, 503].contains(&answer.status), "{}", answer.json());
                return;
            }
            Err(_) => return,
        }
    }
}

/// A first start without a fault, which creates the key and the store.
fn prepared(place: &TestDirectory) -> String {
    let service = place.serve();
    let key = service.printed_key().expect("a key");
    service.stop();
    key
}

/// One run with a fault; `None` if the run makes fewer calls.
fn run(peer: &Peer, fault: InjectedFault<'_>) -> Option<String> {
    let place = place(peer);
    let key = prepared(&place);
    let mut accepted = BTreeMap::new();
    let mut service = start_with_fault(&place, fault);
    let begun = Instant::now();
    let ready = until("it is ready, has ended or hangs", || {
        let over = begun.elapsed().as_secs() > LONGEST_SECONDS;
        (over || service.status().is_some() || service.try_ready()).then_some(!over)
    });
    assert!(ready, "{fault:?}: it neither starts nor ends");
    if service.status().is_none() {
        let client = service.client(&key);
        ask(&client, &mut accepted);
        // Background work can meet the fault too.
        until("the jobs end, or the service does", || {
            let still = || accepted.values().any(|id| client.live(id).unwrap_or(false));
            (service.status().is_some() || !still()).then_some(())
        });
        if service.status().is_none() {
            service.terminate();
        }
    }
    let ending = Instant::now();
    let code = service.code();
    assert!(
        ending.elapsed().as_secs() < LONGEST_SECONDS,
        "{fault:?}: it took too long to end"
    );
    let log = service.end();
    let done = calls(&place).into_iter().find(|it| it.ends_with(" DEED"));
    check_end(fault, code, &log);
    check_restart(&place, &key, &accepted, fault);
    done.map(|call| format!("{} at {} ({call}): exit {code:?}", fault.name, fault.at))
}

/// Checks that the service exited cleanly, or with one line that names the problem and the remedy.
fn check_end(fault: InjectedFault<'_>, code: Option<i32>, log: &str) {
    let said: Vec<&str> = log
        .lines()
        .filter(|line| line.starts_with("tintype: "))
        .collect();
    match code {
        Some(0) => {}
        // The rest of a short read or write follows.
        Some(1) if fault.name != "short" => {
            assert_eq!(said.len(), 1, "{fault:?}: {log}");
            let advised = said[0].contains("; ");
            assert!(
                advised || fault.below != "store",
                "{fault:?}: nothing says what to do: {said:?}"
            );
        }
        other => panic!("{fault:?}: it ended with {other:?}: {log}"),
    }
    assert!(
        !log.contains("panicked at") || fault.name == "EIO",
        "{fault:?}: {log}"
    );
}

/// Checks that a start without the fault finds all records and resumes.
fn check_restart(
    place: &TestDirectory,
    key: &str,
    accepted: &BTreeMap<String, String>,
    fault: InjectedFault<'_>,
) {
    let service = place.serve();
    let client = service.client(key);
    let mut connection = Connection::open(&client.address).expect("a connection");
    for (name, id) in accepted {
        let again = client
            .create_small(&mut connection, name)
            .expect("an answer");
        assert_eq!(
            again.header("Idempotent-Replayed"),
            Some("true"),
            "{fault:?}: {name}"
        );
        assert_eq!(again.accepted(), *id, "{fault:?}");
        until("every job ends", || (!client.live(id)?).then_some(()));
    }
    client.create_small_now("after-all").accepted();
    service.stop();
    let verified = place.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{fault:?}: {verified:?}");
}

/// Injects a fault at calls spread evenly over a run.
fn spread(name: &'static str, below: &'static str, lasting: bool) {
    let peer = Peer::start();
    let fault = |at| InjectedFault {
        name,
        below,
        at,
        lasting,
    };
    // A run without a fault counts the calls.
    let place = place(&peer);
    let key = prepared(&place);
    let mut service = start_with_fault(&place, fault(0));
    service.wait_until_ready();
    let (client, mut accepted) = (service.client(&key), BTreeMap::new());
    ask(&client, &mut accepted);
    until("the jobs end", || {
        (!accepted.values().any(|id| client.live(id) != Some(false))).then_some(())
    });
    service.terminate();
    assert_eq!(service.code(), Some(0));
    let all = calls(&place).len();
    assert!(all > 2, "{name} applies to {all} calls");
    let tried = tried().min(all);
    let mut reached = 0;
    for step in 0..tried {
        let at = 1 + step * all / tried;
        let outcome = run(&peer, fault(at));
        reached += usize::from(outcome.is_some());
        println!(
            "{}",
            outcome.unwrap_or_else(|| format!("{name} at {at}: not reached"))
        );
    }
    assert!(reached > 0, "no run reached its fault");
}

#[test]
fn hostile_074_records_that_cannot_be_written() {
    spread("EIO", "store", false);
}

#[test]
fn hostile_073_a_disk_of_records_that_is_full() {
    spread("ENOSPC", "store", true);
}

#[test]
fn hostile_076_no_descriptor_for_records() {
    spread("EMFILE", "store", false);
}

#[test]
fn hostile_076_records_written_in_halves() {
    spread("short", "store", false);
}

#[test]
fn hostile_077_a_sync_of_records_that_hangs() {
    spread("hang", "store", false);
}

#[test]
fn hostile_074_images_that_cannot_be_written() {
    spread("EIO", "objects", false);
}

/// A full disk for images differs from one for records: jobs fail and are refunded, the service stays up and reports the problem, and
/// it recovers once there is room.
#[test]
fn hostile_078_a_full_disk_for_images_fails_jobs_and_not_the_service() {
    let peer = Peer::start();
    let place = place(&peer);
    let key = prepared(&place);
    let full = InjectedFault {
        name: "ENOSPC",
        below: "objects",
        at: 1,
        lasting: true,
    };
    let mut service = start_with_fault(&place, full);
    service.wait_until_ready();
    let client = service.client(&key);
    let before = client.money();
    let job = client.create_small_now("no-room").accepted();
    let failed = until("the job ends", || {
        Some(client.job(&job)).filter(|it| it["finished_at"].is_string())
    });
    assert_eq!(failed["status"], "failed", "{failed}");
    let error = failed["error"].as_str().expect("a reason");
    assert!(error.contains("could not be stored"), "{error}");
    assert_eq!(
        client.money(),
        before,
        "nothing is paid, nothing stays held"
    );
    let ready = client.get("/readyz");
    let body = ready.json();
    assert_eq!(ready.status, 503, "{body}");
    assert!(
        body["detail"]
            .as_str()
            .is_some_and(|it| it.contains("is full")),
        "{body}"
    );
    assert_eq!(client.get("/healthz").status, 200);
    assert!(
        service.status().is_none(),
        "the records are well, so the service stays"
    );
    service.terminate();
    assert_eq!(service.code(), Some(0), "{}", service.end());
    assert!(
        service.end().contains("No space left on device"),
        "{}",
        service.end()
    );
    let service = place.serve();
    let client = service.client(&key);
    assert_eq!(client.get("/readyz").status, 200);
    let job = client.create_small_now("room").accepted();
    client.job_when(&job, "done");
}

/// An image store that hangs fails only the job that waits for it, not other jobs and not the graceful shutdown.
#[test]
fn hostile_077_a_hanging_sync_of_an_image_fails_only_its_job() {
    let peer = Peer::start();
    let mut place = place(&peer);
    let key = prepared(&place);
    place.set("JOBS__TIMEOUT_SECONDS", "10");
    let hang = InjectedFault {
        name: "hang",
        below: "objects",
        at: 1,
        lasting: false,
    };
    let mut service = start_with_fault(&place, hang);
    service.wait_until_ready();
    let client = service.client(&key);
    let before = client.money();
    // The first of them to sync its image hangs.
    let jobs = ["one", "two"].map(|it| client.create_small_now(it).accepted());
    let mut ended = jobs.map(|it| client.job_when_ended(&it));
    ended.sort_by_key(|it| it["status"] == "done");
    let [failed, done] = ended;
    assert_eq!(
        failed["error"], "no image was generated within 10 s",
        "{failed}"
    );
    assert_eq!(done["status"], "done", "{done}");
    assert_eq!(client.money().1, before.1, "nothing stays held");
    service.terminate();
    let ending = Instant::now();
    assert_eq!(service.code(), Some(0), "{}", service.end());
    assert!(ending.elapsed().as_secs() < LONGEST_SECONDS);
    let verified = place.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}
