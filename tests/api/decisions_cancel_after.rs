//! Decisions 14: `Cancel-After` on a generation call.

use crate::support::batches::{batch_of, entry};
use crate::support::{Server, fox, options::Options, until};
use std::time::Duration;

#[test]
fn decisions_14_a_job_still_queued_at_its_expiry_fails_and_leaves_the_queue() {
    let server = Server::with(Options::new().slots(1));
    server.generator.hold();
    let customer = server.customer("1.00");
    let create = |after: &str| {
        let call = server.generation(&customer, "/text-generations", &fox());
        call.header("Cancel-After", after).expect(202).job_id()
    };
    let running = create("30s");
    server.job_once(&customer, &running, "processing");
    let [late, patient] = ["30s", "1h"].map(create);
    server.clock.advance(Duration::from_secs(29));
    assert_eq!(server.job(&customer, &late)["status"], "queued");
    server.clock.advance(Duration::from_secs(2));
    let failed = server.job_once(&customer, &late, "failed");
    assert_eq!(failed["error"], "expired before it started");
    until("the other one is next", || {
        server.job(&customer, &patient)["queue_position"] == 1
    });
    server.generator.release_all();
    for job in [&running, &patient] {
        server.job_once(&customer, job, "done");
    }
    server.assert_settled();
}

#[test]
fn decisions_14_a_batch_with_a_start_deadline_is_refused() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let call = server.batch_call(&customer, &batch_of(&[entry()]));
    call.header("Cancel-After", "30s")
        .invalid(&["Cancel-After"]);
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn decisions_14_an_invalid_time_is_reported() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for bad in ["soon", "0s", "1d", "200h"] {
        let call = server.generation(&customer, "/text-generations", &fox());
        call.header("Cancel-After", bad).invalid(&["Cancel-After"]);
    }
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}
