//! Hostile money, 37 to 46, as far as HTTP reaches it.

use crate::support::http::{Request, Session};
use crate::support::{Behaviour, Customer, Options, Server, clock, fox, until};
use rust_decimal::Decimal;
use serde_json::json;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const PATH: &str = "/text-generations";

/// Sends every call `rounds` times, each on its own connection and thread; returns the statuses and the jobs.
fn send_concurrently(
    calls: &[Request],
    server: &Server,
    rounds: usize,
) -> (usize, usize, HashSet<String>) {
    thread::scope(|scope| {
        let threads: Vec<_> = calls
            .iter()
            .map(|call| {
                scope.spawn(move || {
                    let mut session = Session::open(server.address);
                    let (mut refused, mut jobs) = (0, Vec::new());
                    for _ in 0..rounds {
                        let answer = session.send(call);
                        match answer.status {
                            202 => jobs.push(answer.job_id()),
                            402 => refused += 1,
                            other => panic!("{other}: {}", answer.text()),
                        }
                    }
                    (refused, jobs)
                })
            })
            .collect();
        let (mut accepted, mut refused, mut jobs) = (0, 0, HashSet::new());
        for thread in threads {
            let (its_refused, its_jobs) = thread.join().unwrap();
            refused += its_refused;
            accepted += its_jobs.len();
            jobs.extend(its_jobs);
        }
        (accepted, refused, jobs)
    })
}

fn deposit(server: &Server, customer: &Customer, amount: &str) -> Request {
    let path = format!("/accounts/{}/deposits", customer.account);
    server.admin("POST", &path).json(&json!({"amount": amount}))
}

/// Polls the balance until `over`: in every answer all three amounts must belong to one moment.
fn poll_balance(server: &Server, customer: &Customer, over: &AtomicBool) -> usize {
    let mut session = Session::open(server.address);
    let call = server.native(customer, "GET", "/balance");
    let mut read = 0;
    while !over.load(Ordering::SeqCst) {
        let answer = session.send(&call).json();
        let amount = |name: &str| -> Decimal { answer[name].as_str().unwrap().parse().unwrap() };
        assert_eq!(
            amount("available"),
            amount("balance") - amount("reserved"),
            "{answer}"
        );
        assert!(amount("available") >= Decimal::ZERO, "{answer}");
        read += 1;
    }
    read
}

#[test]
fn hostile_37_and_45_concurrent_creates_with_funds_for_exactly_n() {
    let server = Server::start();
    // Enough for 500 jobs of 0.134.
    let customer = server.customer("67.00");
    let over = AtomicBool::new(false);
    let call = server.generation(&customer, PATH, &fox());
    let (accepted, refused, jobs) = thread::scope(|scope| {
        let watching = scope.spawn(|| poll_balance(&server, &customer, &over));
        let outcome = send_concurrently(&vec![call; 32], &server, 63);
        over.store(true, Ordering::SeqCst);
        assert!(watching.join().unwrap() > 10);
        outcome
    });
    assert_eq!((accepted, refused, jobs.len()), (500, 32 * 63 - 500, 500));
    assert_eq!(server.assert_settled().ended_jobs, 500);
    server.assert_money(&customer, "0.00", "0.00", "0.00");
    server.assert_well();
}

#[test]
fn hostile_38_concurrent_creates_with_eight_keys_spend_exactly_the_funds_on_disk() {
    let server = Server::with(Options::new().on_disk());
    server.generator.hold();
    let first = server.customer("13.40");
    let calls: Vec<_> = (0..8)
        .map(|_| server.another_key(&first.account, json!({})))
        .map(|customer| server.generation(&customer, PATH, &fox()))
        .collect();
    let (accepted, refused, jobs) = send_concurrently(&calls, &server, 50);
    assert_eq!((accepted, refused, jobs.len()), (100, 300, 100));
    server.assert_money(&first, "13.40", "13.40", "0.00");
    server.generator.release_all();
    assert_eq!(server.assert_settled().ended_jobs, 100);
    server.assert_money(&first, "0.00", "0.00", "0.00");
}

#[test]
fn hostile_38_a_keys_own_limit_under_concurrency() {
    let server = Server::start();
    let customer = server.customer_with("100.00", json!({"spend_limit": "1.34"}));
    let call = server.generation(&customer, PATH, &fox());
    let (accepted, refused, _) = send_concurrently(&vec![call; 8], &server, 25);
    assert_eq!((accepted, refused), (10, 190));
    assert_eq!(server.assert_settled().ended_jobs, 10);
    server.assert_money(&customer, "98.66", "0.00", "98.66");
}

#[test]
fn hostile_39_exactly_the_price_and_one_unit_less() {
    let server = Server::start();
    let (exact, less) = (server.customer("0.134"), server.customer("0.133999"));
    server.create(&exact);
    server
        .generation(&less, PATH, &fox())
        .refused(402, "insufficient_balance");
    server.assert_settled();
    server.assert_money(&exact, "0.00", "0.00", "0.00");
    deposit(&server, &less, "0.000001").expect(201);
    server.create(&less);
    server.assert_settled();
    server.assert_money(&less, "0.00", "0.00", "0.00");
}

#[test]
fn hostile_40_decimals() {
    let server = Server::start();
    let customer = server.customer("0.1");
    deposit(&server, &customer, "0.2").expect(201);
    server.assert_money(&customer, "0.30", "0.00", "0.30");
    for bad in [
        "0.000000000000000001",
        "1e-30",
        "1E5",
        "170141183460469231731687303715884105728",
        "0x10",
        "١",
        "1 000",
        "1_000",
        "∞",
        "-",
        ".",
        "1.2.3",
        "0.1234567",
        "\u{0}1",
        " 1",
        "1\n",
    ] {
        deposit(&server, &customer, bad).invalid(&["amount"]);
    }
    deposit(&server, &customer, "-0.30").expect(201);
    server.assert_money(&customer, "0.00", "0.00", "0.00");
    // The maximum balance of an account, and a deposit that would exceed it.
    deposit(&server, &customer, "999999999999999.999999").expect(201);
    deposit(&server, &customer, "0.000001").invalid(&["amount"]);
    server.assert_money(
        &customer,
        "999999999999999.999999",
        "0.00",
        "999999999999999.999999",
    );
    server.create(&customer);
    server.assert_settled();
    server.assert_money(
        &customer,
        "999999999999999.865999",
        "0.00",
        "999999999999999.865999",
    );
    server.assert_well();
}

#[test]
fn hostile_41_a_result_after_the_deadline_is_ignored() {
    let server = Server::with(Options::new().set("jobs.timeout_seconds", 1));
    server.generator.hold();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    let failed = server.job_once(&customer, &job, "failed");
    assert!(failed["error"].as_str().unwrap().contains("within 1 s"));
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    server.generator.release_all();
    server.assert_settled();
    assert_eq!(server.job(&customer, &job), failed);
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    server.assert_well();
}

#[test]
fn hostile_41_canceling_while_the_job_begins() {
    let server = Server::start();
    let customer = server.customer("100.00");
    let mut canceled = 0;
    for _ in 0..60 {
        let job = server.create(&customer);
        let answer = server
            .native(&customer, "DELETE", &format!("/jobs/{job}"))
            .send();
        match answer.status {
            200 => canceled += 1,
            _ => answer.assert_problem(409, "conflict"),
        }
        let expected = if answer.status == 200 {
            "failed"
        } else {
            "done"
        };
        server.job_once(&customer, &job, expected);
    }
    server.assert_settled();
    let left = Decimal::from(100) - Decimal::new(134, 3) * Decimal::from(60 - canceled);
    let balance: Decimal = server.money(&customer).0.parse().unwrap();
    assert_eq!(balance, left);
}

#[test]
fn hostile_42_a_failed_job_releases_exactly_the_reserved_amount() {
    let server = Server::start();
    let customer = server.customer("0.134");
    for behaviour in [
        Behaviour::Refuse("no"),
        Behaviour::Break("no"),
        Behaviour::Panic,
        Behaviour::Garbage,
    ] {
        server.generator.behave(behaviour);
        let job = server.create(&customer);
        server.job_once(&customer, &job, "failed");
        server.assert_money(&customer, "0.134", "0.00", "0.134");
    }
    server.generator.behave(Behaviour::Succeed);
    let job = server.create(&customer);
    server.job_once(&customer, &job, "done");
    server.assert_money(&customer, "0.00", "0.00", "0.00");
    server.assert_settled();
}

#[test]
fn hostile_43_deposits_racing_with_creates() {
    let server = Server::start();
    let customer = server.customer("0.00");
    let call = server.generation(&customer, PATH, &fox());
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let creating: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let (mut session, mut accepted) = (Session::open(server.address), 0);
                    while !over.load(Ordering::SeqCst) {
                        accepted += usize::from(session.send(&call).status == 202);
                    }
                    accepted
                })
            })
            .collect();
        let depositing: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..50 {
                        deposit(&server, &customer, "0.134").expect(201);
                        // Withdraws the money if it is still there.
                        let back = deposit(&server, &customer, "-0.067").send().status;
                        assert!([201, 422].contains(&back));
                    }
                })
            })
            .collect();
        depositing.into_iter().for_each(|it| it.join().unwrap());
        over.store(true, Ordering::SeqCst);
        let accepted: usize = creating.into_iter().map(|it| it.join().unwrap()).sum();
        assert_eq!(server.assert_settled().ended_jobs, accepted as u64);
    });
    server.assert_well();
}

#[test]
fn hostile_44_a_pause_does_not_change_reserved_funds() {
    let server = Server::start();
    server.generator.hold();
    let customer = server.customer("1.00");
    let jobs = [server.create(&customer), server.create(&customer)];
    server.job_once(&customer, &jobs[1], "processing");
    server.pause(&["project", "pro"]);
    server.assert_money(&customer, "1.00", "0.268", "0.732");
    server.generator.release_all();
    server.assert_settled();
    server.assert_money(&customer, "0.732", "0.00", "0.732");
}

#[test]
fn hostile_46_a_restart_between_each_pair_of_events() {
    let options = Options::new().on_disk().slots(1);
    let mut server = Server::with(options);
    server.generator.hold();
    let customer = server.customer("1.00");
    server = server.restart();
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    deposit(&server, &customer, "0.50").expect(201);
    server = server.restart();
    let done = server.create(&customer);
    let canceled = server.create(&customer);
    server = server.restart();
    server.assert_money(&customer, "1.50", "0.268", "1.232");
    server.job_once(&customer, &done, "processing");
    server = server.restart();
    server
        .native(&customer, "DELETE", &format!("/jobs/{canceled}"))
        .expect(200);
    server = server.restart();
    server.assert_money(&customer, "1.50", "0.134", "1.366");
    server.generator.release_all();
    server.job_once(&customer, &done, "done");
    server = server.restart();
    let jobs = [&done, &canceled].map(|job| {
        let mut job = server.job(&customer, job);
        job["result"] = json!(job["result"].is_object());
        job
    });
    deposit(&server, &customer, "-0.366").expect(201);
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    let path = format!("/accounts/{}/transactions", customer.account);
    let ledger = server.admin("GET", &path).expect(200).json();
    for _ in 0..2 {
        server.assert_settled();
        server = server.restart();
        assert_eq!(server.admin("GET", &path).expect(200).json(), ledger);
        server.assert_money(&customer, "1.00", "0.00", "1.00");
    }
    assert_eq!(
        (&jobs[0]["status"], &jobs[0]["result"]),
        (&"done".into(), &true.into())
    );
    assert_eq!(
        (&jobs[1]["error"], &jobs[1]["finished_at"]),
        (&"canceled".into(), &clock::START.into())
    );
    until("the last account of it is written", || {
        server.assert_settled().entries == 4
    });
}
