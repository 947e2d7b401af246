//! Several real processes that share one PostgreSQL database and one bucket.

use crate::bucket::Bucket;
use crate::client::Client;
use crate::kill_load::{
    Memory, acknowledged, configure, create_until_cut, end_exactly, number, register,
};
use crate::peer::Peer;
use crate::postgres::place;
use crate::test_directory::{Service, TestDirectory, signal, until};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tintype_postgres::testing::proxy::{CommitFault, Proxy};
use tintype_postgres::testing::{Server, server};

/// A short run by default: each kind once.
const FAULTS: usize = NodeFault::ALL.len();
/// Consecutive interrupted commits.
const CUTS: usize = 12;
/// The latency of the database over a slow network.
const SLOW: Duration = Duration::from_millis(60);
const NODES: usize = 3;

/// The directories of nodes on one database.
pub fn places(url: &str, bucket: &Bucket, peer: &Peer) -> [TestDirectory; NODES] {
    [(); NODES].map(|()| configured(url, bucket, peer))
}

/// The directory of a node with the peer as its backend and receiver.
pub fn configured(url: &str, bucket: &Bucket, peer: &Peer) -> TestDirectory {
    let place = place(url, bucket);
    configure(&place, peer);
    place
}

#[test]
fn a_job_that_one_node_accepts_is_visible_at_all_nodes() {
    let Some(server) = server() else { return };
    let (database, bucket, peer) = (server.database(), Bucket::start(), Peer::start());
    let places = places(&database.url(), &bucket, &peer);
    let nodes = places.each_ref().map(TestDirectory::serve);
    let key = nodes[0].printed_key().expect("a key");
    assert!(nodes[1].printed_key().is_none(), "one key for all of them");
    let tokens = places.each_ref().map(TestDirectory::token);
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
        // Keys hold the run number: a node that was declared dead cannot replace the image of a later run.
        assert!(url.contains(&format!("/results/{job}.1.")), "{url}");
    }
    settled(&jobs, &peer, &clients, &places[0], nodes);
}

/// Checks that every job is delivered, all nodes show the same balance, and the records are consistent after the nodes stop.
pub fn settled(
    jobs: &[String],
    peer: &Peer,
    clients: &[Client],
    place: &TestDirectory,
    nodes: impl IntoIterator<Item = Service>,
) {
    until("every job is delivered", || {
        let delivered = peer.delivered();
        jobs.iter()
            .all(|job| delivered.contains_key(job))
            .then_some(())
    });
    let money: Vec<_> = clients.iter().map(Client::money).collect();
    assert!(money.iter().all(|it| *it == money[0]), "{money:?}");
    nodes.into_iter().for_each(Service::stop);
    let verified = place.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

/// A fault of a node, its connection, or the shared database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NodeFault {
    Kill,
    /// The node freezes until it is declared dead, then continues.
    Stop,
    /// The same within a transaction that locks an account's rows.
    StopInTransaction,
    DatabaseCrash,
    /// Its connections are cut, alternately before and after the database receives a commit.
    CutCommits,
    /// It loses the database until it is declared dead.
    CutOff,
    /// It receives no answers of the database until it is declared dead, then all of them.
    LateAnswers,
    SlowNetwork,
}

impl NodeFault {
    const ALL: [Self; 8] = [
        Self::Stop,
        Self::Kill,
        Self::DatabaseCrash,
        Self::CutCommits,
        Self::CutOff,
        Self::StopInTransaction,
        Self::LateAnswers,
        Self::SlowNetwork,
    ];

    /// The fault of a round; `TINTYPE_NODE_FAULT` selects a single one.
    fn of(round: usize) -> Self {
        let only = std::env::var("TINTYPE_NODE_FAULT").ok();
        let wanted = only.map(|name| {
            let named = Self::ALL.into_iter().find(|it| format!("{it:?}") == name);
            named.unwrap_or_else(|| panic!("TINTYPE_NODE_FAULT is one of {:?}", Self::ALL))
        });
        wanted.unwrap_or(Self::ALL[round % Self::ALL.len()])
    }
}

/// A node with its connection to the database.
struct Target<'a> {
    server: &'a Server,
    node: &'a mut Service,
    proxy: &'a Proxy,
    witness: Client,
}

impl Target<'_> {
    /// Injects the fault. Returns how long the other nodes took to requeue the jobs, if the node died.
    fn inject(self, fault: NodeFault) -> Option<Duration> {
        let pid = self.node.pid();
        // Other nodes see it from its first heartbeat on.
        until("the node is listed", || self.is_listed(pid).then_some(()));
        let mut began = Instant::now();
        match fault {
            NodeFault::Kill => self.node.kill(),
            NodeFault::Stop => signal("STOP", pid),
            NodeFault::StopInTransaction => {
                self.proxy.fault_commits([CommitFault::Hold]);
                until("it is in a transaction", || {
                    self.proxy.holds_commit().then_some(())
                });
                began = Instant::now();
                signal("STOP", pid);
            }
            NodeFault::CutOff => self.proxy.sever(),
            NodeFault::LateAnswers => self.proxy.hold_answers(),
            NodeFault::DatabaseCrash => {
                self.server.crash();
                return None;
            }
            NodeFault::CutCommits => {
                let faults = [CommitFault::CutBefore, CommitFault::CutAfter];
                self.proxy
                    .fault_commits(faults.into_iter().cycle().take(CUTS));
                until("the commits are cut off", || {
                    (self.proxy.faults_left() == 0).then_some(())
                });
                return None;
            }
            NodeFault::SlowNetwork => {
                self.proxy.delay_answers(SLOW);
                return None;
            }
        }
        until("the node is taken for dead", || {
            (!self.is_listed(pid)).then_some(())
        });
        let took = began.elapsed();
        if matches!(fault, NodeFault::Stop | NodeFault::StopInTransaction) {
            signal("CONT", pid);
        }
        self.proxy.heal();
        if fault != NodeFault::Kill {
            assert_eq!(self.node.code(), Some(1), "it was taken for dead");
        }
        Some(took)
    }

    fn is_listed(&self, pid: u32) -> bool {
        let nodes = self.witness.get("/admin/v1/nodes").json();
        let nodes = nodes["data"].as_array().expect("nodes");
        nodes.iter().any(|it| it["pid"] == pid)
    }
}

#[test]
fn faults_under_load_lose_no_job_no_cent_and_no_webhook() {
    let Some(server) = Server::start() else {
        return;
    };
    let (database, bucket, peer) = (server.database(), Bucket::start(), Peer::start());
    let rounds = number("TINTYPE_NODE_FAULTS").map_or(FAULTS, |it| it as usize);
    let memory = Mutex::new(Memory::default());
    let proxies = [(); NODES].map(|()| Proxy::start(database.port()));
    let url = database.url();
    let places = proxies
        .each_ref()
        .map(|proxy| configured(&proxy.url(&url), &bucket, &peer));
    let mut nodes = places.each_ref().map(TestDirectory::serve);
    let key = nodes[0].printed_key().expect("a key");
    register(&places[0], &nodes[0], &peer);
    let mut takeovers = Vec::new();
    for round in 0..rounds {
        let before = acknowledged(&memory);
        let (struck, other) = (round % NODES, (round + 1) % NODES);
        let fault = NodeFault::of(round);
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
            let target = Target {
                server: &server,
                node: &mut nodes[struck],
                proxy: &proxies[struck],
                witness,
            };
            takeovers.extend(target.inject(fault));
            until("the nodes go on", || {
                (acknowledged(&memory) >= before + 60).then_some(())
            });
            proxies[struck].heal();
            // The callers stop when the nodes stop.
            for node in &mut nodes {
                if node.status().is_none() {
                    node.terminate();
                    assert_eq!(node.code(), Some(0), "{fault:?}: {}", node.end());
                }
            }
        });
        nodes = places.each_ref().map(TestDirectory::serve);
    }
    nodes.into_iter().for_each(Service::stop);
    let jobs = end_exactly(&places[0], &peer, &key, memory);
    takeovers.sort();
    println!(
        "{rounds} faults: {jobs} jobs acknowledged, all done and paid once; {} takeovers, median {:?}, longest {:?}",
        takeovers.len(),
        takeovers.get(takeovers.len() / 2),
        takeovers.last()
    );
}

#[test]
fn a_node_that_was_declared_dead_logs_one_line_with_advice() {
    let Some(server) = server() else { return };
    let (database, bucket, peer) = (server.database(), Bucket::start(), Peer::start());
    let [first, second, _] = places(&database.url(), &bucket, &peer);
    let here = first.serve();
    let mut there = second.serve();
    let witness = here.client(&first.token());
    let is_listed = || {
        let nodes = witness.get("/admin/v1/nodes").json();
        let nodes = nodes["data"].as_array().expect("nodes").clone();
        nodes.iter().any(|it| it["pid"] == there.pid())
    };
    until("the node is listed", || is_listed().then_some(()));
    signal("STOP", there.pid());
    until("the node is taken for dead", || {
        (!is_listed()).then_some(())
    });
    signal("CONT", there.pid());
    assert_eq!(there.code(), Some(1), "it was taken for dead");
    let log = there.end();
    // An interrupted request may be reported before the reason.
    let lines = log
        .lines()
        .skip_while(|line| !line.contains("stopping after a failure"));
    let complaints: Vec<&str> = lines
        .filter(|line| line.contains("WARN") || line.contains("ERROR"))
        .collect();
    let [reason] = complaints[..] else {
        panic!("more than the reason: {log}");
    };
    for words in ["sent no heartbeat", "start it again", "dead_after_seconds"] {
        assert!(reason.contains(words), "{reason}");
    }
    here.stop();
}

#[test]
fn a_node_with_another_secret_is_refused() {
    let Some(server) = server() else { return };
    let (database, bucket) = (server.database(), Bucket::start());
    let mut place = place(&database.url(), &bucket);
    place.serve().stop();
    let token = place.token();
    place.set("CLUSTER__SECRET", "a-secret-that-no-other-node-has-got-01");
    place
        .run(&["serve", "--listen", "127.0.0.1:0"])
        .assert_fault(&["TINTYPE_SECRET", "other nodes"]);
    assert_eq!(place.token(), token, "the refused start replaced it");
}

#[test]
fn a_database_that_can_lose_commits_causes_a_warning_at_startup() {
    let Some(server) = server() else { return };
    let (database, bucket) = (server.database(), Bucket::start());
    let name = &database.name;
    let set = format!("ALTER DATABASE {name} SET synchronous_commit = off");
    server.execute("postgres", &set);
    let place = place(&database.url(), &bucket);
    let mut service = place.serve();
    service.terminate();
    assert_eq!(service.code(), Some(0));
    let said = service.end();
    // The test server also runs without `fsync`.
    for setting in ["synchronous_commit", "fsync"] {
        let warning = format!("the database has `{setting} = off`");
        assert!(said.contains(&warning), "{said}");
    }
}

#[test]
fn calls_are_answered_during_a_database_outage_and_the_service_recovers() {
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
    // Calls that are not refused immediately must not wait either.
    let creation = client.create_small_now("meanwhile");
    assert_eq!(creation.status, 503, "{}", creation.json());
    assert_eq!(client.get("/healthz").status, 200);
    until("the metrics report the outage", || {
        let metrics = client.get("/metrics");
        assert_eq!(metrics.status, 200);
        let text = String::from_utf8_lossy(&metrics.body);
        assert!(!text.contains("tintype_ledger_balance"), "{text}");
        text.contains("\ntintype_node_trusted 0\n").then_some(())
    });
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
