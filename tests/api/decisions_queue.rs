//! Decisions 2: the order of the queue, pauses, stops and restarts.

use crate::support::batches::entry;
use crate::support::{
    Behaviour, Customer, OneNode, Server, clock, fox, fox_with, options::Options, until,
};
use serde_json::json;

const FAST: &str = "/nb/text-generations";

/// Creates a job whose prompt is this word.
fn job(server: &Server, customer: &Customer, word: &str) -> String {
    let body = fox_with(json!({"prompt": word}));
    server
        .generation(customer, FAST, &body)
        .expect(202)
        .job_id()
}

fn order(server: &Server) -> Vec<String> {
    let orders = server.generator.orders();
    orders.into_iter().map(|it| it.prompt).collect()
}

fn one_at_a_time() -> Options {
    Options::new().slots(1)
}

#[test]
fn first_in_first_out_within_an_account_and_in_turn_between_accounts() {
    let server = Server::with(one_at_a_time());
    let (a, b) = (server.customer("10.00"), server.customer("10.00"));
    server.generator.hold();
    let first = job(&server, &a, "a0");
    server.job_once(&a, &first, "processing");
    for at in 1..6 {
        job(&server, &a, &format!("a{at}"));
    }
    for at in 0..3 {
        job(&server, &b, &format!("b{at}"));
    }
    server.generator.release_all();
    server.assert_settled();
    assert_eq!(
        order(&server),
        ["a0", "a1", "b0", "a2", "b1", "a3", "b2", "a4", "a5"]
    );
}

#[test]
fn queued_jobs_stay_queued_during_a_pause_and_running_ones_finish() {
    let server = Server::with(one_at_a_time());
    let customer = server.customer("10.00");
    server.generator.hold();
    let running = job(&server, &customer, "running");
    server.job_once(&customer, &running, "processing");
    let waiting = job(&server, &customer, "waiting");
    server.pause(&["fast"]);
    server.generator.release_all();
    server.job_once(&customer, &running, "done");
    // Another tier keeps running, which shows that the dispatcher had time to start the paused job.
    let other = server.create(&customer);
    server.job_once(&customer, &other, "done");
    assert_eq!(server.job(&customer, &waiting)["status"], "queued");
    server.pause(&[]);
    server.job_once(&customer, &waiting, "done");
    server.assert_settled();
}

#[test]
fn a_restart_during_a_pause_continues_the_jobs_in_progress() {
    for covers in ["fast", "project"] {
        let server = Server::with(one_at_a_time().on_disk());
        let customer = server.customer("10.00");
        server.generator.hold();
        let batch = server.submit(&customer, &[entry(), entry()]);
        until("a job of the batch runs", || server.generator.runs() == 1);
        let waiting = job(&server, &customer, "waiting");
        server.pause(&[covers]);
        let server = server.restart();
        let path = format!("/batches/{}", batch["batch_id"].as_str().unwrap());
        server.native(&customer, "DELETE", &path).expect(200);
        server.assert_visible("one job is in progress, one is queued", || {
            let stats = server.admin("GET", "/stats").expect(200).json();
            (&stats["running"], &stats["queued"]["fast"]) == (&json!(1), &json!(1))
        });
        server.assert_visible("the queued job is the next one", || {
            server.job(&customer, &waiting)["queue_position"] == 1
        });
        server.generator.release_all();
        let ended = server.batch_ended(&customer, &batch);
        let counts = json!({"total": 2, "queued": 0, "processing": 0, "done": 1, "failed": 1});
        assert_eq!(ended["counts"], counts, "{covers}");
        assert_eq!(server.job(&customer, &waiting)["status"], "queued");
        server.pause(&[]);
        server.job_once(&customer, &waiting, "done");
        server.assert_settled();
    }
}

#[test]
fn a_restart_preserves_the_queue_order() {
    let server = Server::with(one_at_a_time().on_disk());
    let customer = server.customer("10.00");
    server.generator.hold();
    let jobs: Vec<_> = (0..4)
        .map(|at| job(&server, &customer, &format!("{at}")))
        .collect();
    server.job_once(&customer, &jobs[0], "processing");
    server.clock.advance(std::time::Duration::from_secs(60));
    let server = server.restart();
    let resumed = server.job_once(&customer, &jobs[0], "processing");
    assert_eq!(resumed["started_at"], clock::START);
    for waiting in &jobs[1..] {
        assert_eq!(server.job(&customer, waiting)["status"], "queued");
    }
    server.assert_money(&customer, "10.00", "0.156", "9.844");
    server.generator.release_all();
    server.assert_settled();
    let mut runs = order(&server);
    // A node that stops first gives its job to one that is about to stop, so there may be more runs before the restart.
    assert!(runs.starts_with(&["0".into(), "0".into()]), "{runs:?}");
    assert!(runs.len() == 5 || server.nodes().count() > 1, "{runs:?}");
    runs.dedup();
    assert_eq!(runs, ["0", "1", "2", "3"]);
    server.assert_money(&customer, "9.844", "0.00", "9.844");
}

#[test]
fn a_run_interrupted_by_a_graceful_shutdown_is_not_counted() {
    let mut server = Server::with(one_at_a_time().on_disk().one_node(OneNode::Stop));
    let customer = server.customer("10.00");
    server.generator.hold();
    let job = job(&server, &customer, "again");
    for round in 1..=5 {
        until("the run has begun", || server.generator.runs() == round);
        server.job_once(&customer, &job, "processing");
        server = server.restart();
    }
    server.generator.release_all();
    server.job_once(&customer, &job, "done");
}

#[test]
fn a_graceful_shutdown_lets_running_jobs_finish_within_the_grace_period() {
    let server = Server::with(
        one_at_a_time()
            .on_disk()
            .one_node(OneNode::Stop)
            .set("server.shutdown_grace_seconds", 20),
    );
    let customer = server.customer("10.00");
    server.generator.hold();
    let running = job(&server, &customer, "running");
    server.job_once(&customer, &running, "processing");
    let waiting = job(&server, &customer, "waiting");
    let generator = server.generator.clone();
    // Not before the stop: the waiting job would start.
    let stopping = server.inside().stopping.subscribe();
    let release = std::thread::spawn(move || {
        until("the service stops", || *stopping.borrow());
        generator.release_one();
    });
    let options = server.stop();
    release.join().unwrap();
    let server = Server::with(options);
    server.job_once(&customer, &running, "done");
    server.generator.release_all();
    server.job_once(&customer, &waiting, "done");
    assert_eq!(order(&server), ["running", "waiting"]);
}

#[test]
fn a_job_that_fails_on_one_backend_is_completed_by_the_next() {
    let options = Options::new()
        .set("backends.second.kind", "procedural")
        .set(
            "tiers.fast.backends",
            vec![
                toml::Table::from_iter([("name".to_owned(), toml::Value::from("builtin"))]),
                toml::Table::from_iter([("name".to_owned(), toml::Value::from("second"))]),
            ],
        );
    let server = Server::with(options);
    let customer = server.customer("10.00");
    for behaviour in [Behaviour::Transient("busy"), Behaviour::Break("no model")] {
        server.generator.behave(behaviour);
        // The second server has the real built-in generator.
        let job = server
            .generation(&customer, FAST, &fox())
            .expect(202)
            .job_id();
        server.job_once(&customer, &job, "done");
    }
    for behaviour in [Behaviour::Refuse("no"), Behaviour::Block("gore")] {
        server.generator.behave(behaviour);
        let job = server
            .generation(&customer, FAST, &fox())
            .expect(202)
            .job_id();
        server.job_once(&customer, &job, "failed");
    }
    server.assert_settled();
    server.assert_money(&customer, "9.922", "0.00", "9.922");
}

#[test]
fn an_error_is_a_sentence_in_plain_ascii_of_bounded_length() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let long: &'static str = Box::leak("é\n".repeat(1_000).into_boxed_str());
    server.generator.behave(Behaviour::Refuse(long));
    let job = server.create(&customer);
    let job = server.job_once(&customer, &job, "failed");
    let error = job["error"].as_str().unwrap();
    assert!(error.len() <= 500);
    assert!(
        error
            .bytes()
            .all(|byte| byte == b' ' || byte.is_ascii_graphic())
    );
}
