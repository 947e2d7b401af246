//! Kills at random moments while jobs are accepted, made and told: with a back end and a receiver that answer at once, each
//! kill hits another step. What was acknowledged, and what receivers were told, is kept outside of the service.
//!
//! `TINTYPE_KILLS` says how often; `TINTYPE_KILL_SEED` where chance begins.

use crate::client::{Answer, Client, Connection, Cut};
use crate::peer::Peer;
use crate::place::{Place, Service, until};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Mutex;
use std::time::Duration;

/// A short run; a thousand are asked for by hand.
const KILLS: u64 = 20;
const CALLERS: usize = 4;
/// Far more than a caller can create in one round.
const MAX_CALLS: usize = 100_000;
/// Jobs that were acknowledged and whose end nobody has told yet, at the most: were calls faster than pictures for long, the
/// backlog would be all that grows.
const MOST_AHEAD: usize = 2_000;
/// Looks at whether the service has caught up.
const MAX_LOOKS: usize = 100_000;
/// Each so many rounds the audit looks at what a kill has left.
const VERIFY_EVERY: u64 = 10;
pub const BALANCE: u64 = 900_000;

/// What callers remember.
#[derive(Default)]
pub struct Memory {
    pub acknowledged: BTreeMap<String, String>,
    in_doubt: BTreeSet<String>,
    next: usize,
}

impl Memory {
    fn take(&mut self) -> String {
        self.in_doubt.pop_first().unwrap_or_else(|| {
            self.next += 1;
            format!("load-{}", self.next)
        })
    }

    fn note(&mut self, name: String, id: String) {
        let known = self.acknowledged.entry(name).or_insert_with(|| id.clone());
        assert_eq!(*known, id, "one key, two jobs");
    }
}

pub fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

/// A small generator that repeats itself from a seed (splitmix64).
pub struct Chance(pub u64);

impl Chance {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % bound as u64) as usize
    }
}

pub fn configure(place: &Place, peer: &Peer) {
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

/// Registers the receiver with the first account.
pub fn register(place: &Place, service: &Service, peer: &Peer) {
    let operator = Client::new(&service.address(), &place.token());
    let accounts = operator.get("/admin/v1/accounts").json();
    let account = accounts["data"][0]["account_id"]
        .as_str()
        .expect("an account");
    let url = format!("http://{}/hook", peer.address);
    let path = format!("/admin/v1/accounts/{account}/webhooks");
    let answer = operator.call("POST", &path, Some(&json!({"url": url})));
    assert_eq!(answer.status, 201, "{}", answer.json());
}

/// Every third job has an input image.
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
        // A refusal may have ended the connection. Once the service has ended, there is no other one.
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
        // The database is away, or the service is about to end.
        Ok(answer) if answer.status == 503 => {
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

/// Waits while the service is behind, for as long as it is there.
fn catch_up(
    client: &Client,
    peer: &Peer,
    connection: &mut Connection,
    memory: &Mutex<Memory>,
) -> Result<(), Cut> {
    for _ in 0..MAX_LOOKS {
        if acknowledged(memory) <= peer.told_jobs() + MOST_AHEAD {
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

/// One life: callers call until something has happened so often, and then it is killed.
pub fn load_and_kill(
    service: &mut Service,
    client: &Client,
    peer: &Peer,
    memory: &Mutex<Memory>,
    chance: &mut Chance,
) {
    let (kind, more) = (chance.below(3), 1 + chance.below(40));
    let counted = || match kind {
        0 => acknowledged(memory),
        1 => peer.orders(),
        _ => peer.told().values().sum(),
    };
    let before = counted();
    std::thread::scope(|scope| {
        for _ in 0..1 + chance.below(CALLERS) {
            scope.spawn(|| create_until_cut(client, peer, memory));
        }
        until("enough has happened", || {
            (counted() >= before + more).then_some(())
        });
        service.kill();
    });
}

/// The newest of what was acknowledged is there right after the start; the older was looked at before.
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
    let (peer, place, memory) = (Peer::start(), Place::new(), Mutex::new(Memory::default()));
    configure(&place, &peer);
    let (mut chance, mut key) = (Chance(seed), None);
    for round in 0..kills {
        let mut service = place.serve();
        if key.is_none() {
            key = service.printed_key();
            register(&place, &service, &peer);
        }
        let client = service.client(key.as_deref().expect("a key"));
        look(&client, &memory);
        load_and_kill(&mut service, &client, &peer, &memory, &mut chance);
        if round % VERIFY_EVERY == VERIFY_EVERY - 1 {
            let verified = place.run(&["verify"]);
            assert_eq!(
                verified.code,
                Some(0),
                "after kill {round}, seed {seed}: {verified:?}"
            );
        }
    }
    // Shown where the end is not as it should be.
    println!("seed {seed}");
    let jobs = end_exactly(&place, &peer, key.as_deref().expect("a key"), memory);
    let twice = peer.told().values().filter(|it| **it > 1).count();
    println!(
        "{kills} kills from seed {seed}: {jobs} jobs acknowledged, all done and paid once, all told, {twice} of them more than once"
    );
}

/// The last life: every job that was acknowledged ends, is told and is paid once, and the audit finds nothing. Returns how many
/// there are.
pub fn end_exactly(place: &Place, peer: &Peer, key: &str, memory: Mutex<Memory>) -> usize {
    let service = place.serve();
    let client = service.client(key);
    settle_doubts(&client, peer, &memory);
    let jobs = memory.into_inner().expect("memory").acknowledged;
    all_done(&client, &jobs);
    all_told(peer, &jobs);
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

/// Calls whose fate is unknown are made again; those that were answered give the same job again.
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

pub fn all_told(peer: &Peer, jobs: &BTreeMap<String, String>) {
    until("every end is told", || {
        let told = peer.told();
        jobs.values().all(|id| told.contains_key(id)).then_some(())
    });
    let known: BTreeSet<&String> = jobs.values().collect();
    let told = peer.told();
    let unknown: Vec<&String> = told.keys().filter(|id| !known.contains(id)).collect();
    assert!(
        unknown.is_empty(),
        "told of jobs that nobody was answered: {unknown:?}"
    );
}
