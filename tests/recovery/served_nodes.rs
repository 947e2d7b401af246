//! Several real processes that share one PostgreSQL database and one bucket.

use crate::bucket::Bucket;
use crate::client::Client;
use crate::kill_load::{
    Memory, acknowledged, configure, create_until_cut, end_exactly, number, register,
};
use crate::peer::Peer;
use crate::place::{Place, Service, until};
use crate::postgres::place;
use std::sync::Mutex;
use tintype_postgres::testing::{Server, server};

/// A short run; more are asked for by hand.
const KILLS: usize = 4;
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

#[test]
fn nodes_that_are_killed_under_load_lose_no_job_no_cent_and_no_webhook() {
    let Some(server) = server() else { return };
    let (database, bucket, peer) = (server.database(), Bucket::start(), Peer::start());
    let kills = number("TINTYPE_KILLS").map_or(KILLS, |it| it as usize);
    let memory = Mutex::new(Memory::default());
    let places = places(&database.url(), &bucket, &peer);
    let mut nodes = places.each_ref().map(Place::serve);
    let key = nodes[0].printed_key().expect("a key");
    register(&places[0], &nodes[0], &peer);
    for kill in 0..kills {
        let before = acknowledged(&memory);
        std::thread::scope(|scope| {
            for node in &nodes {
                let client = node.client(&key);
                let (peer, memory) = (&peer, &memory);
                scope.spawn(move || create_until_cut(&client, peer, memory));
            }
            until("calls are answered", || {
                (acknowledged(&memory) >= before + 30).then_some(())
            });
            // The callers of the other nodes end when those are stopped in order.
            nodes[kill % NODES].kill();
            until("the other nodes go on", || {
                (acknowledged(&memory) >= before + 60).then_some(())
            });
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
    println!("{kills} kills of nodes: {jobs} jobs acknowledged, all done and paid once");
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
