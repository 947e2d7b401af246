//! Decisions 1, "Beyond the specification": the queue position of a job.

use crate::support::{Customer, Server, options::Options, until};
use serde_json::{Value, json};

fn one_at_a_time() -> Server {
    let server = Server::with(Options::new().slots(1));
    server.generator.hold();
    server
}

fn position(server: &Server, customer: &Customer, job: &str) -> Value {
    let job = server.job(customer, job);
    job.get("queue_position").expect("always there").clone()
}

#[test]
fn the_next_job_has_position_1_and_jobs_that_do_not_wait_have_none() {
    let server = one_at_a_time();
    let customer = server.customer("10.00");
    let jobs: Vec<String> = (0..4).map(|_| server.create(&customer)).collect();
    server.job_once(&customer, &jobs[0], "processing");
    let positions = || -> Vec<Value> {
        jobs.iter()
            .map(|job| position(&server, &customer, job))
            .collect()
    };
    until("all positions are reported", || {
        positions() == [json!(null), json!(1), json!(2), json!(3)]
    });
    server.generator.release_one();
    until("each has moved up", || {
        positions() == [json!(null), json!(null), json!(1), json!(2)]
    });
    server.generator.release_all();
    server.job_once(&customer, &jobs[3], "done");
    assert_eq!(
        positions(),
        [json!(null), json!(null), json!(null), json!(null)]
    );
}

#[test]
fn a_job_has_a_queue_position_as_soon_as_it_is_accepted() {
    let server = one_at_a_time();
    let customer = server.customer("10.00");
    let first = server.create(&customer);
    server.job_once(&customer, &first, "processing");
    // For a moment, another node may still count the job that has begun.
    let begun = u64::from(server.nodes().count() > 1);
    for at in 1..50 {
        let job = server.create(&customer);
        // The dispatcher may not have seen this job yet, nor some before it.
        let reported = position(&server, &customer, &job)
            .as_u64()
            .expect("a position");
        assert!((1..=at + begun).contains(&reported), "{reported} of {at}");
        until("the position is reported", || {
            position(&server, &customer, &job) == at
        });
    }
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn positions_include_the_turns_of_other_accounts() {
    let server = one_at_a_time();
    let (flood, other) = (server.customer("10.00"), server.customer("10.00"));
    let first = server.create(&flood);
    server.job_once(&flood, &first, "processing");
    let flooding: Vec<String> = (0..9).map(|_| server.create(&flood)).collect();
    let late: Vec<String> = (0..2).map(|_| server.create(&other)).collect();
    let all = flooding.iter().map(|it| (&flood, it));
    let all: Vec<_> = all.chain(late.iter().map(|it| (&other, it))).collect();
    let positions = || {
        let positions = all.iter().map(|(of, job)| position(&server, of, job));
        json!(positions.collect::<Vec<_>>())
    };
    until("all positions are reported", || {
        position(&server, &other, &late[1]) == 4
    });
    server.assert_visible("the positions are those of turns", || {
        positions() == json!([1, 3, 5, 6, 7, 8, 9, 10, 11, 2, 4])
    });
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn each_tier_has_a_separate_queue() {
    let server = one_at_a_time();
    let customer = server.customer("10.00");
    let first = server.create(&customer);
    server.job_once(&customer, &first, "processing");
    server.create(&customer);
    let body = crate::support::fox();
    let fast = server
        .generation(&customer, "/nb/text-generations", &body)
        .expect(202)
        .job_id();
    assert_eq!(position(&server, &customer, &fast), 1);
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn the_job_list_contains_queue_positions() {
    let server = one_at_a_time();
    let customer = server.customer("10.00");
    let first = server.create(&customer);
    server.job_once(&customer, &first, "processing");
    let [_, _, last] = [(); 3].map(|()| server.create(&customer));
    until("all positions are reported", || {
        position(&server, &customer, &last) == 3
    });
    let positions = || {
        let page = server.native(&customer, "GET", "/jobs").expect(200).json();
        let data = page["data"].as_array().unwrap().iter();
        let positions: Vec<&Value> = data.map(|job| &job["queue_position"]).collect();
        json!(positions)
    };
    server.assert_visible("the list has them", || {
        positions() == json!([3, 2, 1, null])
    });
    server.generator.release_all();
    server.assert_settled();
}
