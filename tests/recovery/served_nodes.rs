//! Several real processes that share one PostgreSQL database and one bucket.

use crate::bucket::Bucket;
use crate::client::Client;
use crate::kill_load::{
    Memory, acknowledged, configure, create_until_cut, end_exactly, number, register,
};
use crate::peer::Peer;
use crate::place::{Place, Service, signal, until};
use crate::postgres::place;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tintype_postgres::testing::{Server, server};

/// A short run; more are asked for by hand.
const BLOWS: usize = 3;
const NODES: usize = 3;

/// Places of nodes on one database.
pub fn places(url: &str, bucket: &Bucket, peer: &Peer) -> [Place; NODES] {
    [(); NODES].map(|()| {
        let place = place(url, bucket);
        configure(&place, peer);
        place
    })
}

#[test]
fn a_job_that_one_node_accepts_is_seen_at_all_nodes() {
    let Some(server) = server() else { return };
    let (database, bucket, peer) = (server.database(), Bucket::start(), Peer::start());
    let places = places(&database.url(), &bucket, &peer);
    let nodes = places.each_ref().map(Place::serve);
    let key = nodes[0].printed_key().expect("a key");
    assert!(nodes[1].printed_key().is_none(), "one key for all of them");
    let tokens = places.each_ref().map(Place::token);
    assert!(tokens.iter().all(|it| *it == tokens[0]), "one token");
    register(&places[2], &nodes[2], &peer);
    let clients = nodes.each_ref().map(|it| it.client(&key));
    let jobs: Vec<String> = (0..9)
        .map(|number| {
            let answer = clients[number % NODES].create_small_now(&format!("job-{number}"));
            answer.accepted()
        })
        .collect();
    for job in &jobs {
        for client in &clients {
            let done = || (client.job(job)["status"] == "done").then_some(());
            until("the job is done", done);
        }
        let job_as_told = clients[0].job(job);
        let url = job_as_told["result"]["image_url"].as_str().expect("a URL");
        // By run: a node that was taken for dead can replace no picture of a later run.
        assert!(url.contains(&format!("/results/{job}.1.")), "{url}");
    }
    until("every end is told", || {
        let told = peer.told();
        jobs.iter().all(|job| told.contains_key(job)).then_some(())
    });
    let money = clients.each_ref().map(Client::money);
    assert!(money.iter().all(|it| *it == money[0]), "{money:?}");
    nodes.into_iter().for_each(Service::stop);
    let verified = places[0].run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

/// What befalls a node, or the database under all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blow {
    Kill,
    /// It stands still until it is taken for dead, and then goes on.
    Stop,
    DatabaseCrash,
}

impl Blow {
    fn of(round: usize) -> Self {
        [Self::Stop, Self::Kill, Self::DatabaseCrash][round % 3]
    }

    /// Returns how long it took the others to put the jobs of the node back, where it is one that died.
    fn strike(self, server: &Server, node: &mut Service, witness: &Client) -> Option<Duration> {
        let pid = node.pid();
        let is_listed = || {
            let nodes = witness.get("/admin/v1/nodes").json();
            let nodes = nodes["data"].as_array().expect("nodes");
            nodes.iter().any(|it| it["pid"] == pid)
        };
        // Other nodes know of it from its first beat on.
        until("the node is listed", || is_listed().then_some(()));
        let began = Instant::now();
        match self {
            Self::Kill => node.kill(),
            Self::Stop => signal("STOP", pid),
            Self::DatabaseCrash => {
                server.crash();
                return None;
            }
        }
        until("the node is taken for dead", || {
            (!is_listed()).then_some(())
        });
        let took = began.elapsed();
        if self == Self::Stop {
            signal("CONT", pid);
            assert_eq!(node.code(), Some(1), "it was taken for dead");
        }
        Some(took)
    }
}

#[test]
fn blows_under_load_lose_no_job_no_cent_and_no_webhook() {
    let Some(server) = Server::start() else {
        return;
    };
    let (database, bucket, peer) = (server.database(), Bucket::start(), Peer::start());
    let blows = number("TINTYPE_BLOWS").map_or(BLOWS, |it| it as usize);
    let memory = Mutex::new(Memory::default());
    let places = places(&database.url(), &bucket, &peer);
    let mut nodes = places.each_ref().map(Place::serve);
    let key = nodes[0].printed_key().expect("a key");
    register(&places[0], &nodes[0], &peer);
    let mut takeovers = Vec::new();
    for round in 0..blows {
        let before = acknowledged(&memory);
        let (struck, other) = (round % NODES, (round + 1) % NODES);
        let witness = Client::new(&nodes[other].address(), &places[other].token());
        std::thread::scope(|scope| {
            for node in &nodes {
                let client = node.client(&key);
                let (peer, memory) = (&peer, &memory);
                scope.spawn(move || create_until_cut(&client, peer, memory));
            }
            until("calls are answered", || {
                (acknowledged(&memory) >= before + 30).then_some(())
            });
            takeovers.extend(Blow::of(round).strike(&server, &mut nodes[struck], &witness));
            until("the nodes go on", || {
                (acknowledged(&memory) >= before + 60).then_some(())
            });
            // The callers end with the nodes.
            for node in &mut nodes {
                if node.status().is_none() {
                    node.terminate();
                    assert_eq!(node.code(), Some(0), "{}", node.end());
                }
            }
        });
        nodes = places.each_ref().map(Place::serve);
    }
    nodes.into_iter().for_each(Service::stop);
    let jobs = end_exactly(&places[0], &peer, &key, memory);
    takeovers.sort();
    println!(
        "{blows} blows: {jobs} jobs acknowledged, all done and paid once; {} takeovers, median {:?}, longest {:?}",
        takeovers.len(),
        takeovers.get(takeovers.len() / 2),
        takeovers.last()
    );
}

#[test]
fn a_node_with_another_secret_is_refused() {
    let Some(server) = server() else { return };
    let (database, bucket) = (server.database(), Bucket::start());
    let mut place = place(&database.url(), &bucket);
    place.serve().stop();
    place.set("CLUSTER__SECRET", "a-secret-that-no-other-node-has-got-01");
    place
        .run(&["serve", "--listen", "127.0.0.1:0"])
        .assert_fault(&["TINTYPE_SECRET", "other nodes"]);
}

#[test]
fn calls_are_answered_while_the_database_is_away_and_the_service_goes_on_afterwards() {
    let Some(server) = Server::start() else {
        return;
    };
    let (database, bucket, peer) = (server.database(), Bucket::start(), Peer::start());
    let [place, ..] = places(&database.url(), &bucket, &peer);
    let mut service = place.serve();
    let client = service.client(&service.printed_key().expect("a key"));
    let before = client.create_small_now("before").accepted();
    until("it is done", || {
        (client.job(&before)["status"] == "done").then_some(())
    });
    server.stop();
    let refused = until("calls are refused", || {
        let answer = client.get("/api/v1/balance");
        (answer.status == 503).then_some(answer)
    });
    assert_eq!(refused.header("Retry-After"), Some("2"));
    let detail = refused.json()["detail"].to_string();
    assert!(detail.contains("the database"), "{detail}");
    // Those that are not refused at once are not kept waiting either.
    let creation = client.create_small_now("meanwhile");
    assert_eq!(creation.status, 503, "{}", creation.json());
    assert_eq!(client.get("/healthz").status, 200);
    until("it is not ready", || {
        (client.get("/readyz").status == 503).then_some(())
    });
    server.start_again();
    until("it is ready", || {
        (client.get("/readyz").status == 200).then_some(())
    });
    let after = client.create_small_now("meanwhile").accepted();
    until("it is done", || {
        (client.job(&after)["status"] == "done").then_some(())
    });
    assert_eq!(service.status(), None, "it goes on");
    service.stop();
    let verified = place.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}
