//! Decisions 1: ids, timestamps, money, prices, settlement, limits, foreign jobs and cancellation.

use crate::support::{
    Behaviour, Customer, OneNode, Server, clock, fox, fox_with, options::Options,
};
use serde_json::json;
use std::time::Duration;
use tintype_storage::domain::ids::moment_of;
use uuid::Uuid;

const PATH: &str = "/text-generations";

#[test]
fn job_ids_are_uuids_of_version_7_in_order_of_acceptance() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let ids: Vec<String> = (0..20).map(|_| server.create(&customer)).collect();
    for id in &ids {
        let id = Uuid::try_parse(id).unwrap();
        assert_eq!(
            (id.get_version_num(), id.get_variant()),
            (7, uuid::Variant::RFC4122)
        );
        // The first id after a start sorts after all ids of an earlier process, and a node's id after all ids of other nodes,
        // so an id may be slightly ahead of a stopped clock.
        let made = moment_of(&id).unwrap().millis() - clock::START_MILLIS;
        let most = if server.inside().system.node().is_some() {
            40
        } else {
            10
        };
        assert!((0..=most).contains(&made), "{made} ms");
    }
    assert!(ids.is_sorted());
    // The order also holds after the clock is set back.
    server.clock.set_back(Duration::from_secs(60));
    assert!(server.create(&customer) > ids[19]);
}

#[test]
fn a_path_that_is_no_uuid_is_404() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    let braces = format!("%7B{job}%7D");
    let urn = format!("urn:uuid:{job}");
    let bare = job.replace('-', "");
    for id in [
        &*braces,
        &urn,
        &bare,
        "0",
        "..",
        "%00",
        "%ff",
        &format!("{job}%20"),
        &format!("{job}0"),
    ] {
        for method in ["GET", "DELETE"] {
            server
                .native(&customer, method, &format!("/jobs/{id}"))
                .refused(404, "not_found");
        }
    }
    // An upper-case UUID is the same UUID (RFC 9562, section 4).
    let path = format!("/jobs/{}", job.to_uppercase());
    let found = server.native(&customer, "GET", &path).expect(200).json();
    assert_eq!(found["job_id"], job);
}

#[test]
fn timestamps_are_rfc_3339_in_utc_with_milliseconds() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (advance, written) in [
        (0, clock::START),
        (999, "2026-11-18T11:06:41.000Z"),
        (43 * 86_400_000, "2026-12-31T11:06:41.000Z"),
    ] {
        server.clock.advance(Duration::from_millis(advance));
        let job = server.create(&customer);
        let job = server.job_once(&customer, &job, "done");
        for moment in ["created_at", "started_at", "finished_at"] {
            assert_eq!(job[moment], written);
        }
    }
}

#[test]
fn timestamps_of_a_job_never_decrease() {
    let server = Server::start();
    server.generator.hold();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    server.job_once(&customer, &job, "processing");
    server.clock.set_back(Duration::from_secs(3_600));
    server.generator.release_all();
    let job = server.job_once(&customer, &job, "done");
    assert_eq!(job["finished_at"], clock::START);
}

#[test]
fn money_is_written_with_two_to_six_decimals() {
    let server = Server::start();
    for (given, written) in [
        ("12", "12.00"),
        ("0", "0.00"),
        ("0.1", "0.10"),
        ("1.50", "1.50"),
        ("0.039", "0.039"),
        ("1.000001", "1.000001"),
        ("1.100000", "1.10"),
        ("007.5", "7.50"),
        ("999999999999999.999999", "999999999999999.999999"),
    ] {
        let customer = server.customer(given);
        server.assert_money(&customer, written, "0.00", written);
    }
}

#[test]
fn prices_are_per_tier_and_resolution() {
    let server = Server::start();
    let paths = [
        ("/nb/text-generations", "fast"),
        ("/nb2/text-generations", "quality"),
        (PATH, "pro"),
    ];
    let prices = [
        ("fast", "1K", "0.039"),
        ("quality", "1K", "0.067"),
        ("quality", "2K", "0.101"),
        ("quality", "4K", "0.151"),
        ("pro", "1K", "0.134"),
        ("pro", "2K", "0.134"),
        ("pro", "4K", "0.24"),
    ];
    server.generator.hold();
    for (tier, resolution, price) in prices {
        let path = paths.iter().find(|(_, it)| *it == tier).unwrap().0;
        let body = match tier {
            "fast" => fox(),
            _ => fox_with(json!({"resolution": resolution})),
        };
        let customer = server.customer(price);
        server.generation(&customer, path, &body).expect(202);
        server.assert_money(&customer, price, price, "0.00");
        server
            .generation(&customer, path, &body)
            .refused(402, "insufficient_balance");
    }
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn the_price_of_a_job_is_fixed_when_it_is_created() {
    let options = Options::new().on_disk();
    options.generator.hold();
    let server = Server::with(options);
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    server.job_once(&customer, &job, "processing");
    let dearer = server.stop().set(
        "tiers.pro.prices",
        toml::toml! { "1K" = "0.50" "2K" = "0.50" "4K" = "0.50" },
    );
    let server = Server::with(dearer);
    server.assert_money(&customer, "1.00", "0.134", "0.866");
    server.generator.release_all();
    server.job_once(&customer, &job, "done");
    server.assert_money(&customer, "0.866", "0.00", "0.866");
    server.create(&customer);
    server.assert_settled();
    server.assert_money(&customer, "0.366", "0.00", "0.366");
}

#[test]
fn done_charges_and_failed_releases() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    server.job_once(&customer, &job, "done");
    server.assert_money(&customer, "0.866", "0.00", "0.866");
    server.generator.behave(Behaviour::Refuse("no"));
    let job = server.create(&customer);
    server.job_once(&customer, &job, "failed");
    server.assert_money(&customer, "0.866", "0.00", "0.866");
    server.assert_settled();
}

#[test]
fn live_jobs_per_account_are_limited() {
    let server = Server::with(Options::new().set("jobs.max_live_per_account", 3));
    server.generator.hold();
    let (busy, other) = (server.customer("10.00"), server.customer("10.00"));
    let colleague = server.another_key(&busy.account, json!({}));
    let jobs: Vec<_> = (0..3).map(|_| server.create(&busy)).collect();
    for customer in [&busy, &colleague] {
        server
            .generation(customer, PATH, &fox())
            .refused(429, "rate_limited");
    }
    server.create(&other);
    server.job_once(&busy, &jobs[2], "processing");
    server.generator.release_one();
    crate::support::until("one job has ended", || {
        server.generate(&busy, PATH, &fox()).status == 202
    });
    server
        .generation(&busy, PATH, &fox())
        .refused(429, "rate_limited");
    server.generator.release_all();
    assert_eq!(server.assert_settled().ended_jobs, 5);
}

#[test]
fn live_jobs_in_all_are_limited() {
    let server = Server::with(
        Options::new()
            .one_node(OneNode::LiveJobsInAll)
            .set("jobs.max_live", 3),
    );
    server.generator.hold();
    let customers: Vec<Customer> = (0..4).map(|_| server.customer("1.00")).collect();
    let jobs: Vec<_> = customers[..3].iter().map(|it| server.create(it)).collect();
    let refused = server
        .generation(&customers[3], PATH, &fox())
        .refused(503, "overloaded");
    assert_eq!(
        refused.json()["detail"],
        "the queue of the service is full; try again later with the same Idempotency-Key"
    );
    server.job_once(&customers[0], &jobs[0], "processing");
    server.generator.release_all();
    server.wait_for_room();
    server.create(&customers[3]);
    server.assert_settled();
}

#[test]
fn a_job_of_another_account_is_indistinguishable_from_an_unknown_job() {
    let server = Server::start();
    let (owner, other) = (server.customer("1.00"), server.customer("1.00"));
    let job = server.create(&owner);
    server.job_once(&owner, &job, "done");
    let unknown = Uuid::now_v7().to_string();
    for method in ["GET", "DELETE"] {
        let [foreign, unknown] = [&job, &unknown].map(|id| {
            server
                .native(&other, method, &format!("/jobs/{id}"))
                .header("X-Request-Id", "same")
                .refused(404, "not_found")
        });
        let undated = |answer: &crate::support::Answer| {
            let mut headers = answer.headers.clone();
            headers.retain(|(name, _)| name != "date");
            headers.sort();
            (headers, answer.body.clone())
        };
        assert_eq!(undated(&foreign), undated(&unknown));
    }
}

#[test]
fn delete_cancels_a_job_that_is_still_queued() {
    let server = Server::with(Options::new().slots(1));
    server.generator.hold();
    let customer = server.customer("1.00");
    let running = server.create(&customer);
    server.job_once(&customer, &running, "processing");
    let queued = server.create(&customer);
    server.assert_money(&customer, "1.00", "0.268", "0.732");
    let path = format!("/jobs/{queued}");
    let canceled = server.native(&customer, "DELETE", &path).expect(200);
    assert_eq!(canceled.header("cache-control"), Some("no-store"));
    let canceled = canceled.json();
    assert_eq!(canceled["status"], "failed");
    assert_eq!(canceled["error"], "canceled");
    assert_eq!(canceled["finished_at"], clock::START);
    assert!(canceled["started_at"].is_null() && canceled["result"].is_null());
    assert_eq!(server.job(&customer, &queued), canceled);
    server.assert_money(&customer, "1.00", "0.134", "0.866");
    server
        .native(&customer, "DELETE", &path)
        .refused(409, "conflict");
    let path = format!("/jobs/{running}");
    server
        .native(&customer, "DELETE", &path)
        .refused(409, "conflict");
    server.generator.release_all();
    server.job_once(&customer, &running, "done");
    server
        .native(&customer, "DELETE", &path)
        .refused(409, "conflict");
    // The canceled job never runs.
    assert_eq!(server.generator.runs(), 1);
    server.assert_settled();
    server.assert_money(&customer, "0.866", "0.00", "0.866");
}
