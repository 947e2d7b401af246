//! Decisions 1, "Beyond the specification": cancellation under races.

use crate::support::http::all_at_once;
use crate::support::{Server, options::Options};

#[test]
fn one_of_many_concurrent_cancellations_succeeds() {
    let server = Server::with(Options::new().slots(1));
    server.generator.hold();
    let customer = server.customer("1.00");
    let running = server.create(&customer);
    server.job_once(&customer, &running, "processing");
    let queued = server.create(&customer);
    let path = format!("/jobs/{queued}");
    let calls = vec![server.native(&customer, "DELETE", &path); 20];
    let answers = all_at_once(&calls);
    let of = |status: u16| answers.iter().filter(|it| it.status == status).count();
    assert_eq!((of(200), of(409)), (1, 19));
    server.assert_money(&customer, "1.00", "0.134", "0.866");
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn a_cancellation_and_the_start_of_the_run_never_both_succeed() {
    let server = Server::with(Options::new().slots(2));
    let customer = server.customer("100.00");
    let (mut canceled, mut refused) = (0, 0);
    for _ in 0..40 {
        let jobs: Vec<String> = (0..5).map(|_| server.create(&customer)).collect();
        let cancel = |job: &String| server.native(&customer, "DELETE", &format!("/jobs/{job}"));
        let answers = all_at_once(&jobs.iter().map(cancel).collect::<Vec<_>>());
        for (job, answer) in jobs.iter().zip(answers) {
            match answer.status {
                200 => {
                    canceled += 1;
                    assert_eq!(server.job(&customer, job), answer.json());
                }
                _ => {
                    refused += 1;
                    answer.assert_problem(409, "conflict");
                    server.job_once(&customer, job, "done");
                }
            }
        }
    }
    assert_eq!(canceled + refused, 200);
    let report = server.assert_settled();
    assert_eq!(report.ended_jobs, 200);
    // Each job that ran was charged, and no canceled job ran.
    assert_eq!(server.generator.runs(), refused);
    let left = 100_000 - 134 * refused as u64;
    let left = format!("{}.{:03}", left / 1_000, left % 1_000);
    let balance = server
        .native(&customer, "GET", "/balance")
        .expect(200)
        .json();
    let balance = balance["balance"].as_str().unwrap();
    assert_eq!(
        balance.parse::<f64>().unwrap(),
        left.parse::<f64>().unwrap()
    );
}

#[test]
fn a_canceled_job_leaves_the_queue() {
    let server = Server::with(Options::new().slots(1));
    server.generator.hold();
    let customer = server.customer("1.00");
    let running = server.create(&customer);
    server.job_once(&customer, &running, "processing");
    let jobs: Vec<String> = (0..3).map(|_| server.create(&customer)).collect();
    let position = |job: &String| server.job(&customer, job)["queue_position"].clone();
    server.assert_visible("all have their positions", || position(&jobs[2]) == 3);
    let path = format!("/jobs/{}", jobs[0]);
    let canceled = server.native(&customer, "DELETE", &path).expect(200);
    assert!(canceled.json()["queue_position"].is_null());
    crate::support::until("the others have moved up", || {
        [position(&jobs[1]), position(&jobs[2])] == [1, 2]
    });
    server.generator.release_all();
    server.assert_settled();
}
