//! Kills at random moments while the service accepts, runs and delivers jobs: with a backend and a receiver that answer immediately,
//! each kill hits another step. The test itself remembers the acknowledged jobs and the deliveries.
//!
//! `TINTYPE_KILLS` sets the number of kills; `TINTYPE_KILL_SEED` sets the random seed.

use crate::client::{Answer, Client, Connection, Cut};
use crate::kill::kill_at_start;
use crate::peer::Peer;
use crate::test_directory::{Service, TestDirectory, until};
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Mutex;
use std::time::Duration;

/// A short run; set `TINTYPE_KILLS` for a long one.
const KILLS: u64 = 20;
const CALLERS: usize = 4;
/// More than a caller can create in one round.
const MAX_CALLS: usize = 100_000;
/// Limit of acknowledged jobs without a delivery. Without it, a backlog would grow whenever calls are faster than generations.
const MOST_AHEAD: usize = 2_000;
/// Polls whether the service has caught up.
const MAX_LOOKS: usize = 100_000;
/// Rounds between two consistency checks of the state after a kill.
const VERIFY_EVERY: u64 = 10;
pub const BALANCE: u64 = 900_000;

/// The callers' own records, like those of a real caller that must neither lose a job nor pay for it twice.
#[derive(Default)]
pub struct Memory {
    /// Job ids by idempotency key.
    pub acknowledged: BTreeMap<String, String>,
    /// Idempotency keys of calls without an answer.
    pub in_doubt: BTreeSet<String>,
    next: usize,
}

impl Memory {
    /// The idempotency key of the next call: one without an answer, else a new one.
    pub fn take(&mut self) -> String {
        self.in_doubt.pop_first().unwrap_or_else(|| {
            self.next += 1;
            format!("load-{}", self.next)
        })
    }

    pub fn note(&mut self, name: String, id: String) {
        let known = self.acknowledged.entry(name).or_insert_with(|| id.clone());
        assert_eq!(*known, id, "one key, two jobs");
    }
}

pub fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

pub fn configure(place: &TestDirectory, peer: &Peer) {
    let address = &peer.address;
    let text = format!(
        "[backends.peer]\nkind = \"openai\"\nbase_url = \"http://{address}/v1\"\nconcurrency = 8\n\
         [tiers.fast]\nbackends = [{{ name = \"peer\" }}]\n\
         [egress]\nallow = [\"127.0.0.0/8\"]\n\
         [webhooks]\nretry_delays_seconds = [1, 1, 1, 1, 1, 1]\n\
         [jobs]\nmax_runs = 100\n\
         [first_run]\nbalance = \"{BALANCE}.00\"\n"
    );
    fs::write(place.path("config.toml"), text).expect("a configuration");
}

/// Registers the peer's receiver for the first account.
pub fn register(place: &TestDirectory, service: &Service, peer: &Peer) {
    register_url(place, service, &format!("http://{}/hook", peer.address));
}

pub fn register_url(place: &TestDirectory, service: &Service, url: &str) {
    let operator = Client::new(&service.address(), &place.token());
    let accounts = operator.get("/admin/v1/accounts").json();
    let account = accounts["data"][0]["account_id"].as_str().expect("an id");
    let path = format!("/admin/v1/accounts/{account}/webhooks");
    let answer = operator.call("POST", &path, Some(&json!({"url": url})));
    assert_eq!(answer.status, 201, "{}", answer.json());
}

fn create(
    client: &Client,
    peer: &Peer,
    connection: &mut Connection,
    name: &str,
) -> Result<Answer, Cut> {
    match name.ends_with(['3', '6', '9']) {
        true => client.create_from(connection, name, &peer.input()),
        false => client.create_small(connection, name),
    }
}

pub fn create_until_cut(client: &Client, peer: &Peer, memory: &Mutex<Memory>) {
    let Ok(mut connection) = Connection::open(&client.address) else {
        return;
    };
    for _ in 0..MAX_CALLS {
        if create_next(client, peer, &mut connection, memory).is_ok() {
            continue;
        }
        // A refusal may have closed the connection. After the service has exited, a new connection fails too.
        match Connection::open(&client.address) {
            Ok(another) => connection = another,
            Err(_) => return,
        }
    }
}

fn create_next(
    client: &Client,
    peer: &Peer,
    connection: &mut Connection,
    memory: &Mutex<Memory>,
) -> Result<(), Cut> {
    catch_up(client, peer, connection, memory)?;
    let name = memory.lock().expect("memory").take();
    match create(client, peer, connection, &name) {
        // The database or the object store is unreachable, or the service is about to exit.
        Ok(answer) if [502, 503].contains(&answer.status) => {
            memory.lock().expect("memory").in_doubt.insert(name);
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(answer) => memory.lock().expect("memory").note(name, answer.accepted()),
        Err(cut) => {
            memory.lock().expect("memory").in_doubt.insert(name);
            return Err(cut);
        }
    }
    Ok(())
}

/// Waits while the service is behind, until it exits.
fn catch_up(
    client: &Client,
    peer: &Peer,
    connection: &mut Connection,
    memory: &Mutex<Memory>,
) -> Result<(), Cut> {
    for _ in 0..MAX_LOOKS {
        if acknowledged(memory) <= peer.delivered_jobs() + MOST_AHEAD {
            return Ok(());
        }
        client.look(connection)?;
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("the service does not catch up");
}

pub fn acknowledged(memory: &Mutex<Memory>) -> usize {
    memory.lock().expect("memory").acknowledged.len()
}

/// One life of the process: callers call until a count is reached, then the process is killed.
pub fn load_and_kill(
    service: &mut Service,
    client: &Client,
    peer: &Peer,
    memory: &Mutex<Memory>,
    rng: &mut SmallRng,
) {
    let (kind, more) = (rng.random_range(0..3), rng.random_range(1..=40));
    let counted = || match kind {
        0 => acknowledged(memory),
        1 => peer.generation_requests(),
        _ => peer.delivered().values().sum(),
    };
    let before = counted();
    std::thread::scope(|scope| {
        for _ in 0..rng.random_range(1..=CALLERS) {
            scope.spawn(|| create_until_cut(client, peer, memory));
        }
        until("enough has happened", || {
            (counted() >= before + more).then_some(())
        });
        service.kill();
    });
}

/// Checks the newest acknowledged jobs right after the start; older ones were checked in earlier rounds.
fn look(client: &Client, memory: &Mutex<Memory>) {
    let newest: Vec<String> = {
        let memory = memory.lock().expect("memory");
        let mut ids: Vec<&String> = memory.acknowledged.values().collect();
        ids.sort_unstable();
        ids.iter().rev().take(50).map(|it| (*it).clone()).collect()
    };
    newest.iter().for_each(|id| drop(client.job(id)));
}

#[test]
fn hostile_089_kills_under_load_lose_no_job_no_cent_and_no_webhook() {
    let (kills, seed) = (
        number("TINTYPE_KILLS").unwrap_or(KILLS),
        number("TINTYPE_KILL_SEED").unwrap_or(1),
    );
    let (peer, place, memory) = (
        Peer::start(),
        TestDirectory::new(),
        Mutex::new(Memory::default()),
    );
    configure(&place, &peer);
    let (mut rng, mut key) = (SmallRng::seed_from_u64(seed), None);
    for round in 0..kills {
        if round % 3 == 2 {
            kill_at_start(&place);
        }
        let mut service = place.serve();
        if key.is_none() {
            key = service.printed_key();
            register(&place, &service, &peer);
        }
        let client = service.client(key.as_deref().expect("a key"));
        look(&client, &memory);
        load_and_kill(&mut service, &client, &peer, &memory, &mut rng);
        if round % VERIFY_EVERY == VERIFY_EVERY - 1 {
            let verified = place.run(&["verify"]);
            assert_eq!(
                verified.code,
                Some(0),
                "after kill {round}, seed {seed}: {verified:?}"
            );
        }
    }
    // Printed if the job's end is wrong.
    println!("seed {seed}");
    let jobs = end_exactly(&place, &peer, key.as_deref().expect("a key"), memory);
    let images = place.objects("results").len();
    assert_eq!(images, jobs, "one image for each job, and no other");
    let twice = peer.delivered().values().filter(|it| **it > 1).count();
    println!(
        "{kills} kills from seed {seed}: {jobs} jobs acknowledged, all done and paid once, all delivered, {twice} of them more than once"
    );
}

/// The last life: every acknowledged job ends, is delivered and is charged once, and `verify` finds no fault. Returns the number of
/// jobs.
pub fn end_exactly(place: &TestDirectory, peer: &Peer, key: &str, memory: Mutex<Memory>) -> usize {
    let service = place.serve();
    let client = service.client(key);
    settle_doubts(&client, peer, &memory);
    let jobs = memory.into_inner().expect("memory").acknowledged;
    all_done(&client, &jobs);
    all_delivered(peer, &jobs);
    let (balance, reserved) = client.money();
    let charged = BALANCE * 1_000 - 39 * jobs.len() as u64;
    let balance: f64 = balance.parse().expect("a number");
    assert_eq!(
        ((balance * 1_000.0).round() as u64, reserved.as_str()),
        (charged, "0.00")
    );
    service.stop();
    let verified = place.run(&["verify"]);
    let counted = format!("0 live jobs, {} ended jobs", jobs.len());
    assert!(
        verified.code == Some(0) && verified.out.contains(&counted),
        "{counted}: {verified:?}"
    );
    jobs.len()
}

/// Repeats the calls without an answer, and checks that answered calls return the same job again.
pub fn settle_doubts(client: &Client, peer: &Peer, memory: &Mutex<Memory>) {
    let mut memory = memory.lock().expect("memory");
    let mut connection = Connection::open(&client.address).expect("a connection");
    let known: Vec<String> = memory.acknowledged.keys().cloned().collect();
    let doubts = std::mem::take(&mut memory.in_doubt);
    for name in doubts.into_iter().chain(known) {
        let replayed = memory.acknowledged.contains_key(&name);
        let answer = create(client, peer, &mut connection, &name).expect("an answer");
        if replayed {
            assert_eq!(answer.header("Idempotent-Replayed"), Some("true"), "{name}");
        }
        let id = answer.accepted();
        memory.note(name, id);
    }
}

pub fn all_done(client: &Client, jobs: &BTreeMap<String, String>) {
    for id in jobs.values() {
        let ended = until("a job ends", || {
            let job = client.job(id);
            (job["status"] == "done" || job["status"] == "failed").then_some(job)
        });
        assert_eq!(ended["status"], "done", "{ended}");
    }
}

pub fn all_delivered(peer: &Peer, jobs: &BTreeMap<String, String>) {
    until("every job is delivered", || {
        let delivered = peer.delivered();
        jobs.values()
            .all(|id| delivered.contains_key(id))
            .then_some(())
    });
    let known: BTreeSet<&String> = jobs.values().collect();
    let delivered = peer.delivered();
    let unknown: Vec<&String> = delivered.keys().filter(|id| !known.contains(id)).collect();
    assert!(
        unknown.is_empty(),
        "deliveries of unacknowledged jobs: {unknown:?}"
    );
}
