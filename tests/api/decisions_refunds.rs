//! Beyond decisions 6: a deposit with a job refunds it, at most its charge.

use crate::support::http::{Request, all_at_once};
use crate::support::{Behaviour, Customer, Options, Server, until};
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;
use tintype::server::sweeps::{SweepLimits, Sweeps};
use tintype_storage::testing::stalled::StalledEngine;
use uuid::Uuid;

fn refund(server: &Server, customer: &Customer, body: &Value) -> Request {
    let path = format!("/accounts/{}/deposits", customer.account);
    server.admin("POST", &path).json(body)
}

/// A done job of 0.134.
fn done(server: &Server, customer: &Customer) -> String {
    let job = server.create(customer);
    server.job_once(customer, &job, "done");
    job
}

fn refunded(server: &Server, job: &str) -> Value {
    let shown = server.admin("GET", &format!("/jobs/{job}"));
    shown.expect(200).json()["refunded"].clone()
}

#[test]
fn a_job_is_refunded_in_parts_up_to_its_charge() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let job = done(&server, &customer);
    assert_eq!(refunded(&server, &job), Value::Null);
    let part = json!({"amount": "0.034", "job_id": job, "reference": "half a fox"});
    let entry = refund(&server, &customer, &part).expect(201).json();
    assert_eq!(
        [&entry["kind"], &entry["amount"], &entry["job_id"]],
        ["deposit", "0.034", &job]
    );
    assert_eq!(refunded(&server, &job), "0.034");
    let more = json!({"amount": "0.101", "job_id": job});
    let conflict = refund(&server, &customer, &more).refused(409, "conflict");
    assert!(
        conflict.text().contains("0.10 is left"),
        "{}",
        conflict.text()
    );
    let rest = json!({"job_id": job});
    let entry = refund(&server, &customer, &rest).expect(201).json();
    assert_eq!(entry["amount"], "0.10");
    for body in [rest, json!({"amount": "0.000001", "job_id": job})] {
        refund(&server, &customer, &body).refused(409, "conflict");
    }
    assert_eq!(refunded(&server, &job), "0.134");
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    // The account sees the refund with its job, and the operator finds it in the audit log.
    let ledger = server.native(&customer, "GET", "/transactions?kind=deposit");
    let ledger = ledger.expect(200).json();
    assert_eq!(ledger["data"][0]["job_id"], job.as_str());
    let audit = server.admin("GET", "/audit?action=deposit").expect(200);
    assert_eq!(audit.json()["data"][0]["after"]["job_id"], job.as_str());
    server.assert_settled();
}

#[test]
fn the_ledger_of_a_job_has_its_charge_and_its_refunds() {
    let server = Server::start();
    let [customer, stranger] = [server.customer("1.00"), server.customer("1.00")];
    done(&server, &customer);
    server.generator.hold();
    let job = server.create(&customer);
    let of_job = |customer: &Customer, query: &str| -> Vec<Value> {
        let path = format!("/transactions?job_id={job}{query}");
        let found = server.native(customer, "GET", &path).expect(200).json();
        assert_eq!(found["next_cursor"], Value::Null);
        let entries = found["data"].as_array().unwrap().iter();
        assert!(entries.clone().all(|it| it["job_id"] == *job));
        entries.map(|it| it["amount"].clone()).collect()
    };
    // A reserved price is not in the ledger.
    assert_eq!(of_job(&customer, ""), [""; 0]);
    server.generator.release_all();
    server.job_once(&customer, &job, "done");
    done(&server, &customer);
    assert_eq!(of_job(&customer, ""), ["-0.134"]);
    // A refund may come long after the charge.
    server.clock.advance(Duration::from_secs(40 * 86_400));
    let part = json!({"amount": "0.034", "job_id": job});
    refund(&server, &customer, &part).expect(201);
    assert_eq!(of_job(&customer, ""), ["0.034", "-0.134"]);
    assert_eq!(of_job(&customer, "&kind=charge"), ["-0.134"]);
    assert_eq!(of_job(&customer, "&from=2026-11-19T00:00:00Z"), ["0.034"]);
    assert_eq!(of_job(&customer, "&to=2026-11-19T00:00:00Z"), ["-0.134"]);
    assert_eq!(of_job(&stranger, ""), [""; 0]);
    let path = format!("/accounts/{}/transactions?job_id={job}", customer.account);
    let found = server.admin("GET", &path).expect(200).json();
    assert_eq!(found["data"].as_array().unwrap().len(), 2);
    server.assert_settled();
}

#[test]
fn a_refund_names_a_charged_job_of_the_account() {
    let server = Server::start();
    let [customer, other] = [server.customer("1.00"), server.customer("1.00")];
    let foreign = done(&server, &other);
    server.generator.behave(Behaviour::Break("no"));
    let failed = server.create(&customer);
    server.job_once(&customer, &failed, "failed");
    let unknown = Uuid::now_v7().to_string();
    for (job, reason) in [
        (&foreign, "has no such job"),
        (&unknown, "has no such job"),
        (&failed, "is failed and was not charged"),
    ] {
        let body = json!({"amount": "0.01", "job_id": job});
        let refused = refund(&server, &customer, &body).invalid(&["job_id"]);
        assert!(refused.text().contains(reason), "{}", refused.text());
    }
    refund(&server, &customer, &json!({"job_id": "x"})).invalid(&["job_id"]);
    refund(&server, &customer, &json!({})).invalid(&["amount"]);
    let negative = json!({"amount": "-0.01", "job_id": foreign});
    refund(&server, &other, &negative).invalid(&["amount"]);
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    server.assert_money(&other, "0.866", "0.00", "0.866");
    server.assert_settled();
}

#[test]
fn a_repeated_refund_happens_once_and_the_job_is_part_of_the_request() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let [job, other] = [done(&server, &customer), done(&server, &customer)];
    let call = |body: Value| refund(&server, &customer, &body).idempotent("r-1");
    let first = call(json!({"amount": "0.10", "job_id": job})).expect(201);
    let again = call(json!({"amount": "0.10", "job_id": job})).expect(201);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.json(), first.json());
    for different in [
        json!({"amount": "0.10", "job_id": other}),
        json!({"amount": "0.10"}),
        json!({"job_id": job}),
    ] {
        call(different).refused(422, "idempotency_key_reused");
    }
    assert_eq!(refunded(&server, &job), "0.10");
    assert_eq!(refunded(&server, &other), Value::Null);
    server.assert_settled();
}

#[test]
fn concurrent_refunds_give_back_the_charge_once() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let job = done(&server, &customer);
    let calls = vec![refund(&server, &customer, &json!({"job_id": job})); 16];
    let answers = all_at_once(&calls);
    let made = answers.iter().filter(|it| it.status == 201).count();
    let refused = answers.iter().filter(|it| it.status == 409).count();
    assert_eq!((made, refused), (1, 15));
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    server.assert_settled();
}

#[test]
fn only_the_operator_sees_what_is_left_to_refund() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let job = done(&server, &customer);
    let operator = server.operators_browser();
    let path = format!("/accounts/{}/jobs/{job}", customer.account);
    let shown = || operator.call(&server, "GET", &path).expect(200).json();
    assert_eq!(
        [&shown()["refundable"], &shown()["refunded"]],
        [&json!("0.134"), &Value::Null]
    );
    let deposits = format!("/accounts/{}/deposits", customer.account);
    let body = json!({"amount": "0.10", "job_id": job});
    operator
        .call(&server, "POST", &deposits)
        .json(&body)
        .expect(201);
    assert_eq!(
        [&shown()["refundable"], &shown()["refunded"]],
        ["0.034", "0.10"]
    );
    let own = server.native(&customer, "GET", &format!("/jobs/{job}"));
    let own = own.expect(200).json();
    assert_eq!([&own["refundable"], &own["refunded"]], [&Value::Null; 2]);
}

#[test]
fn a_refund_during_the_deletion_of_its_job_is_refused() {
    let gate = StalledEngine::in_memory();
    let options = Options::new().set("jobs.retention_days", 40).behind(&gate);
    let server = Server::with(options);
    let customer = server.customer("1.00");
    let job = done(&server, &customer);
    server.clock.advance(Duration::from_secs(42 * 86_400));
    let body = json!({"job_id": job});
    let refund = refund(&server, &customer, &body);
    gate.hold();
    thread::scope(|scope| {
        let sweep = scope.spawn(|| {
            let mut sweeps = Sweeps::new(SweepLimits { step: 9, steps: 9 });
            let (core, settings) = (server.inside(), &server.instance().settings);
            let system = actix_web::rt::System::new();
            system.block_on(sweeps.delete_old_jobs(core, settings));
        });
        until("the deletion is being written", || gate.held() == 1);
        let rounds = gate.rounds();
        let refunded = scope.spawn(|| refund.send());
        until("the refund waits", || gate.rounds() > rounds);
        until("both have ended", || {
            gate.open();
            sweep.is_finished() && refunded.is_finished()
        });
        let refused = refunded.join().unwrap();
        refused.assert_problem(422, "validation_failed");
    });
    server.assert_settled();
}
