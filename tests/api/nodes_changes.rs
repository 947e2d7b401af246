//! A change at one node holds at all nodes from its answer on, and concurrent changes do not overwrite each other.

use crate::support::http::{Answer, Request, all_at_once};
use crate::support::nodes::{SharedRecords, two_nodes};
use crate::support::options::ADMIN_TOKEN;
use crate::support::{Options, Server, Wire, fox, fox_with, until};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;
use tintype::application::operations::pause;
use tintype::server::bootstrap;
use tintype_storage::domain::ids::KeyId;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::tier::Tier;
use tintype_storage::engine::{Engine, Holds, Read, TransactionNumbers, commit_and_wait};
use tintype_storage::store::tables::PAUSE;
use tintype_storage::testing::failing::FailingEngine;
use tintype_storage::testing::layer::Layer;
use tintype_storage::testing::memory::MemoryEngine;

const FAST: &str = "/nb/text-generations";

fn start() -> [Server; 2] {
    two_nodes(Options::new())
}

#[test]
fn a_key_deactivated_at_one_node_is_rejected_at_the_other() {
    let [one, other] = start();
    let customer = one.customer("9.00");
    other.native(&customer, "GET", "/models").expect(200);
    let path = format!("/keys/{}", customer.key_id);
    for (active, status) in [(false, 401), (true, 200), (false, 401)] {
        let change = json!({"active": active});
        one.admin("PATCH", &path).json(&change).expect(200);
        other.native(&customer, "GET", "/models").expect(status);
    }
    let account = format!("/accounts/{}", customer.account);
    let second = other.another_key(&customer.account, json!({}));
    one.native(&second, "GET", "/models").expect(200);
    let off = json!({"active": false});
    other.admin("PATCH", &account).json(&off).expect(200);
    one.native(&second, "GET", "/models").expect(401);
}

#[test]
fn changed_permissions_of_a_key_apply_to_creations_at_the_other_node_at_once() {
    let [one, other] = start();
    let customer = one.customer("9.00");
    let path = format!("/keys/{}", customer.key_id);
    let change = |change: Value| drop(one.admin("PATCH", &path).json(&change).expect(200));
    let create = || other.generation(&customer, FAST, &fox());
    let malformed = || other.generation(&customer, FAST, &json!({}));
    // The other node has the key in its cache now.
    create().expect(202);
    change(json!({"active": false}));
    create().refused(401, "unauthorized");
    malformed().refused(401, "unauthorized");
    change(json!({"active": true}));
    create().expect(202);
    malformed().refused(422, "validation_failed");
    change(json!({"models": ["pro"]}));
    create().refused(403, "model_not_allowed");
    change(json!({"models": ["fast", "quality", "pro"]}));
    create().expect(202);
    change(json!({"rate_limit": {"per_second": 1, "burst": 1}}));
    create().refused(429, "rate_limited");
    change(json!({"rate_limit": {"per_second": 1000, "burst": 1000}}));
    create().expect(202);
    let account = format!("/accounts/{}", customer.account);
    let limit = |limit: Value| drop(one.admin("PATCH", &account).json(&limit).expect(200));
    limit(json!({"active": false}));
    create().refused(401, "unauthorized");
    limit(json!({"active": true}));
    create().expect(202);
}

/// A large text and a callback are checked against the limits of the key before the decision.
#[test]
fn raised_limits_of_a_key_apply_to_all_creations_at_the_other_node_at_once() {
    let [one, other] = two_nodes(Options::new().allow_loopback());
    let customer = one.customer("9.00");
    let hook = json!({"url": "http://127.0.0.1:9/hook"});
    let path = format!("/accounts/{}/webhooks", customer.account);
    one.admin("POST", &path).json(&hook).expect(201);
    let path = format!("/keys/{}", customer.key_id);
    let change = |change: Value| drop(one.admin("PATCH", &path).json(&change).expect(200));
    for node in [&one, &other] {
        node.generator.hold();
    }
    let create = |extra: Value| other.generation(&customer, FAST, &fox_with(extra));
    change(json!({"spend_limit": "0.04", "max_concurrent": 1}));
    // The other node has the key in its cache now.
    create(json!({})).expect(202);
    create(json!({})).refused(429, "rate_limited");
    let large = json!({"metadata": {"note": "a".repeat(6_000)}});
    change(json!({"max_concurrent": 2}));
    create(large.clone()).refused(402, "key_limit_reached");
    change(json!({"spend_limit": "5.00"}));
    create(large).expect(202);
    let called = json!({"callback_url": hook["url"]});
    create(called.clone()).refused(429, "rate_limited");
    change(json!({"max_concurrent": 3}));
    create(called).expect(202);
}

#[test]
fn a_body_that_arrives_late_is_checked_against_the_live_jobs_and_pauses_of_its_end() {
    let [one, other] = start();
    let customer = one.customer_with("9.00", json!({"max_concurrent": 1}));
    other.native(&customer, "GET", "/models").expect(200);
    for node in [&one, &other] {
        node.generator.hold();
    }
    let job = one.generation(&customer, FAST, &fox()).expect(202).job_id();
    one.job_once(&customer, &job, "processing");
    one.pause(&["fast"]);
    // The node reads the key, the pauses and the live jobs before the body.
    one.clock.advance(Duration::from_millis(1));
    let began = one.inside().now();
    let call = other.generation(&customer, FAST, &fox()).idempotent("k");
    let bytes = call.wire();
    let (most, rest) = bytes.split_at(bytes.len() - 5);
    let mut wire = Wire::open(other.address);
    wire.send(most);
    let key = KeyId(customer.key_id.parse().expect("an id"));
    let keys = &other.instance().accounts.auth.api_keys;
    until("the key is read", || keys.last_use(key) == Some(began));
    for node in [&one, &other] {
        node.generator.release_all();
    }
    one.job_once(&customer, &job, "done");
    one.pause(&[]);
    one.clock.advance(Duration::from_secs(2));
    wire.send(rest);
    let answer = wire.answer_to("POST").expect("an answer");
    assert_eq!(answer.status, 202, "{}", answer.text());
    other.assert_settled();
}

#[test]
fn decisions_11_all_nodes_together_send_a_webhook_one_test_delivery_a_minute() {
    let [one, other] = two_nodes(Options::new().allow_loopback());
    let customer = one.customer("1.00");
    let path = format!("/accounts/{}/webhooks", customer.account);
    let body = json!({"url": "http://127.0.0.1:9/hook"});
    let made = one.admin("POST", &path).json(&body).expect(201).json();
    let path = format!("/webhooks/{}/test", made["webhook_id"].as_str().unwrap());
    one.admin("POST", &path).expect(202);
    let refused = other.admin("POST", &path);
    let refused = refused.refused(429, "rate_limited");
    assert_eq!(refused.header("retry-after"), Some("60"));
    one.admin("POST", &path).expect(429);
    one.clock.advance(Duration::from_secs(60));
    let ask = |node: &Server| node.admin("POST", &path).send().status;
    let at_once = thread::scope(|scope| {
        let (a, b) = (scope.spawn(|| ask(&one)), scope.spawn(|| ask(&other)));
        [a.join().unwrap(), b.join().unwrap()]
    });
    assert!(
        at_once == [202, 429] || at_once == [429, 202],
        "{at_once:?}"
    );
}

#[test]
fn decisions_13_nodes_that_start_at_once_on_an_empty_store_create_one_account_and_one_key() {
    for _ in 0..3 {
        let options = Options::new().shared();
        let start = Barrier::new(3);
        let begin = || {
            start.wait();
            let node = Server::node(options.clone());
            let system = actix_web::rt::System::new();
            let key = system.block_on(bootstrap::issue_first_key(&node.instance().accounts));
            (node, key.unwrap())
        };
        let nodes: Vec<(Server, Option<String>)> = thread::scope(|scope| {
            let nodes = [(); 3].map(|()| scope.spawn(begin));
            nodes.map(|it| it.join().unwrap()).into_iter().collect()
        });
        let keys: Vec<&String> = nodes.iter().filter_map(|(_, key)| key.as_ref()).collect();
        assert_eq!(keys.len(), 1, "one node prints a key");
        for (node, _) in &nodes {
            let accounts = node.admin("GET", "/accounts").expect(200).json();
            assert_eq!(accounts["data"].as_array().unwrap().len(), 1);
            let balance = node.get("/api/v1/balance").bearer(keys[0]).expect(200);
            assert_eq!(balance.json()["balance"], "100.00");
        }
        nodes[0].0.assert_settled();
    }
}

#[test]
fn a_pause_at_one_node_applies_at_the_other() {
    let [one, other] = start();
    let customer = one.customer("9.00");
    for _ in 0..6 {
        let paused = json!({"tiers": {"fast": true}});
        let set = one.admin("PUT", "/pause").json(&paused).expect(200);
        other
            .generation(&customer, FAST, &fox())
            .refused(503, "paused");
        assert_eq!(other.admin("GET", "/pause").expect(200).json(), set.json());
        let status = other.get("/status").expect(200).json();
        assert_eq!(status["status"], "limited");
        let models = other.native(&customer, "GET", "/models").expect(200).json();
        let is_paused = |it: &Value| it["id"] == "fast" && it["paused"] == true;
        assert!(models["data"].as_array().unwrap().iter().any(is_paused));
        other.admin("PUT", "/pause").json(&json!({})).expect(200);
        let job = one.generation(&customer, FAST, &fox()).expect(202).job_id();
        other.job_once(&customer, &job, "done");
    }
}

/// Records of a database in which a decision at another node is in progress.
#[derive(Default)]
struct BusyDatabase {
    records: SharedRecords,
    looks: AtomicI64,
    has_ended: AtomicBool,
}

impl Layer for BusyDatabase {
    fn inner(&self) -> Arc<dyn Engine> {
        self.records.inner()
    }

    fn holds(&self) -> &Arc<Holds> {
        self.records.holds()
    }

    fn transactions(&self) -> Read<Option<TransactionNumbers>> {
        let newest = 10 + self.looks.fetch_add(1, Ordering::Relaxed);
        let oldest = match self.has_ended.load(Ordering::Relaxed) {
            true => newest,
            false => 1,
        };
        Ok(Some(TransactionNumbers { oldest, newest })).into()
    }
}

#[test]
fn decisions_10_a_pause_is_answered_after_the_decisions_that_may_not_have_seen_it() {
    let database = Arc::new(BusyDatabase::default());
    let server = Server::with(Options::new().behind(&database));
    let paused = json!({"tiers": {"fast": true}});
    thread::scope(|scope| {
        let pause = scope.spawn(|| server.admin("PUT", "/pause").json(&paused).expect(200));
        until("the pause waits", || {
            database.looks.load(Ordering::Relaxed) > 5
        });
        assert!(!pause.is_finished());
        let known = server.admin("GET", "/pause").expect(200).json();
        assert_eq!(known["tiers"]["fast"], true, "it holds already");
        database.has_ended.store(true, Ordering::Relaxed);
        pause.join().unwrap();
    });
}

#[test]
fn a_pause_of_a_backend_at_one_node_reaches_the_other() {
    let [one, other] = start();
    let customer = one.customer("9.00");
    let is_paused = |node: &Server| {
        let stats = node.admin("GET", "/stats").expect(200).json();
        stats["backends"][0]["paused"] == true
    };
    let body = json!({"backends": ["builtin"], "reason": "repair"});
    let set = one.admin("PATCH", "/pause").json(&body).expect(200);
    let known = other.admin("GET", "/pause").expect(200).json();
    assert_eq!(known, set.json(), "it reads the store");
    assert!(is_paused(&one) && is_paused(&other), "so do the statistics");
    let knows = |node: &Server| {
        let core = &node.instance().core;
        core.system.has_only_paused_backends(Tier::Fast)
    };
    until("both nodes know it", || knows(&one) && knows(&other));
    let create = |node: &Server| {
        let call = node.generation(&customer, FAST, &fox());
        call.expect(202).job_id()
    };
    let jobs = [create(&one), create(&other)];
    for job in &jobs {
        assert_eq!(one.job(&customer, job)["status"], "queued");
    }
    assert_eq!(one.generator.runs() + other.generator.runs(), 0);
    let body = json!({"resume_backends": ["builtin"]});
    other.admin("PATCH", "/pause").json(&body).expect(200);
    assert!(!is_paused(&one) && !is_paused(&other));
    for job in &jobs {
        one.job_once(&customer, job, "done");
    }
}

#[test]
fn a_node_that_could_not_read_a_pause_for_a_while_follows_it_afterwards() {
    let memory = Arc::new(MemoryEngine::new());
    let inner = Arc::clone(&memory) as Arc<dyn Engine>;
    let failing = Arc::new(FailingEngine::new(inner, u64::MAX, Arc::new(|_| {})));
    // A single process, whose other parts do not read the switches again.
    let server = Server::with(Options::new().behind(&failing));
    let core = server.instance().core.clone();
    let paused = Pause {
        project: true,
        ..Pause::default()
    };
    failing.fail_reads_of(Some(PAUSE.key(&())));
    // As another node commits it.
    commit_and_wait(&*memory, vec![PAUSE.put(&(), &paused)]).expect("a commit");
    let follower = thread::spawn({
        let core = core.clone();
        move || actix_web::rt::System::new().block_on(pause::follow(core.into_inner()))
    });
    until("it has tried again", || failing.failed_reads() > 2);
    assert_eq!(*core.pause.read(), Pause::default(), "it keeps its copy");
    failing.fail_reads_of(None);
    until("it has the switches", || *core.pause.read() == paused);
    drop(server);
    follower.join().expect("it ends with the server");
}

#[test]
fn changes_at_two_nodes_at_once_lose_none() {
    let nodes = start();
    let customer = nodes[0].customer("9.00");
    // An account may have 100 keys; this one has one.
    let path = format!("/accounts/{}/keys", customer.account);
    let issue = |number: usize| {
        nodes[number % 2]
            .admin("POST", &path)
            .json(&json!({"name": "a key"}))
    };
    let issues: Vec<Request> = (0..110).map(issue).collect();
    let made = issues.chunks(10).flat_map(all_at_once);
    let made = made.filter(|it| it.status == 201).count();
    let shown = nodes[1]
        .admin("GET", &format!("{path}?limit=100"))
        .expect(200);
    let shown = shown.json()["data"].as_array().unwrap().len();
    assert_eq!((made, shown), (99, 100));
    for _ in 0..10 {
        let change = |node: usize, tier: &str, is_paused: bool| {
            let body = json!({"tiers": {tier: is_paused}});
            nodes[node].admin("PATCH", "/pause").json(&body)
        };
        for is_paused in [true, false] {
            let changes = [change(0, "fast", is_paused), change(1, "pro", is_paused)];
            let statuses: Vec<u16> = all_at_once(&changes).iter().map(|it| it.status).collect();
            assert_eq!(statuses, [200, 200]);
            let pause = nodes[0].admin("GET", "/pause").expect(200).json();
            let expected = json!({"fast": is_paused, "quality": false, "pro": is_paused});
            assert_eq!(pause["tiers"], expected);
        }
    }
}

#[test]
fn a_rate_is_used_up_at_one_node_for_the_other() {
    let [one, other] = start();
    let limited = json!({"rate_limit": {"per_second": 1, "burst": 40}});
    let customer = one.customer_with("9.00", limited);
    let call = |node: &Server| -> Answer { node.native(&customer, "GET", "/models").send() };
    let refused = |node: &Server| call(node).status == 429;
    until("the burst is used up at one node", || refused(&one));
    // The clock of the rate limits does not move. Each lookup is a call; the other node has a separate burst of 40.
    let looks = (0..30).take_while(|_| {
        let is_refused = refused(&other);
        if !is_refused {
            thread::sleep(Duration::from_millis(100));
        }
        !is_refused
    });
    let looks = looks.count();
    assert!(looks < 30, "the other node has seen no call");
}

#[test]
fn one_node_maintains_the_store_and_another_takes_over_when_it_leaves() {
    let [one, other] = start();
    let maintains = |it: &Server| it.instance().maintainer.is_this_node();
    until("one node maintains the store", || {
        maintains(&one) != maintains(&other)
    });
    let (first, second) = match maintains(&one) {
        true => (one, other),
        false => (other, one),
    };
    drop(first);
    until("the other one does", || maintains(&second));
    second.assert_settled();
}

/// The node must stay alive for the lock that the call takes.
#[test]
fn a_stopping_node_finishes_a_change_whose_request_is_in_progress() {
    let options = Options::new().set("server.shutdown_grace_seconds", 60);
    let [one, other] = two_nodes(options);
    let body = json!({"project": true}).to_string();
    let (first, rest) = body.split_at(5);
    let mut wire = Wire::open(one.address);
    let head = format!(
        "PATCH /admin/v1/pause HTTP/1.1\r\nHost: it\r\nAuthorization: Bearer {ADMIN_TOKEN}\r\n\
         Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    wire.send(head.as_bytes());
    assert_eq!(wire.next_answer("PATCH").expect("an answer").status, 100);
    wire.send(first.as_bytes());
    let stopping = thread::spawn(move || one.stop());
    let states = || -> Vec<Value> {
        let nodes = other.admin("GET", "/nodes").expect(200).json();
        let nodes = nodes["data"].as_array().unwrap().iter();
        nodes.map(|it| it["state"].clone()).collect()
    };
    until("it leaves", || states().contains(&json!("leaving")));
    wire.send(rest.as_bytes());
    assert_eq!(wire.answer_to("PATCH").expect("an answer").status, 200);
    stopping.join().unwrap();
    until("it has left", || states() == ["up"]);
    other.assert_settled();
}

#[test]
fn a_session_ended_at_one_node_is_invalid_at_the_other() {
    let [one, other] = start();
    let browsers = [&one, &other].map(Server::operators_browser);
    let opens = |at: &Server, browser: usize| {
        let answer = browsers[browser].call(at, "GET", "/session").send();
        answer.status == 200
    };
    assert!(opens(&other, 0) && opens(&one, 1));
    let sign_out = browsers[0].call(&one, "DELETE", "/session");
    sign_out.expect(204);
    assert!(!opens(&other, 0) && opens(&one, 1));
    browsers[1].call(&other, "DELETE", "/sessions").expect(204);
    assert!(!opens(&one, 1));
}

#[test]
fn the_events_of_a_job_are_sent_at_every_node() {
    let nodes = start();
    let customer = nodes[0].customer("9.00");
    nodes[0].generator.hold();
    let job = nodes[0].create(&customer);
    let path = format!("/jobs/{job}/events");
    let listens = |node: &Server| node.native(&customer, "GET", &path).expect(200).text();
    let answers = thread::scope(|scope| {
        let listening = nodes
            .each_ref()
            .map(|node| scope.spawn(move || listens(node)));
        nodes[0].job_once(&customer, &job, "processing");
        let id = job.parse().expect("an id");
        let listened = |node: &Server| node.inside().system.watchers(id) > 0;
        until("all nodes are listened to", || nodes.iter().all(listened));
        nodes[0].generator.release_all();
        listening.map(|it| it.join().expect("a stream that ends"))
    });
    for text in answers {
        assert!(text.contains(r#""status":"done""#), "{text}");
        assert!(!text.contains("still here"), "seen by chance: {text}");
    }
}

#[test]
fn a_job_queued_at_one_node_leaves_the_queue_when_it_is_canceled_at_the_other() {
    let [one, other] = two_nodes(Options::new().slots(1));
    for node in [&one, &other] {
        node.generator.hold();
    }
    let customer = one.customer("9.00");
    let running = one.create(&customer);
    one.job_once(&customer, &running, "processing");
    for _ in 0..20 {
        let job = one.create(&customer);
        let path = format!("/jobs/{job}");
        other.native(&customer, "DELETE", &path).expect(200);
    }
    // The dispatcher does not read the queue meanwhile, because no slot is free.
    let waiting = one.create(&customer);
    for node in [&one, &other] {
        until("it is the next", || {
            node.job(&customer, &waiting)["queue_position"] == 1
        });
    }
    for node in [&one, &other] {
        node.generator.release_all();
    }
    one.assert_settled();
}
