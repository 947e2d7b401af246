//! A key's spend limits per day and month, and its usage figures.

use crate::support::{Customer, Options, Server, fox};
use serde_json::{Value, json};
use std::time::Duration;

const PATH: &str = "/text-generations";
const LIMIT_REACHED: &str = "key_limit_reached";
const HOUR: Duration = Duration::from_secs(3_600);

fn get_key(server: &Server, customer: &Customer) -> Value {
    let path = format!("/keys/{}", customer.key_id);
    server.admin("GET", &path).expect(200).json()
}

#[test]
fn a_daily_limit_ends_at_midnight_utc() {
    let server = Server::start();
    let customer = server.customer_with("9.00", json!({"spend_limit_daily": "0.268"}));
    server.spend(&customer);
    server.spend(&customer);
    let detail = server.limit_detail(&customer, LIMIT_REACHED);
    assert!(detail.contains("0.268 USD a day (UTC)"), "{detail}");
    // The start is 11:06:40.
    server.clock.advance(HOUR * 12);
    server.limit_detail(&customer, LIMIT_REACHED);
    server.clock.advance(HOUR);
    let key = get_key(&server, &customer);
    assert_eq!(
        (&key["spent"], &key["spent_today"]),
        (&"0.268".into(), &"0.00".into())
    );
    server.spend(&customer);
    let key = get_key(&server, &customer);
    assert_eq!(key["spent_today"], "0.134");
    assert_eq!(key["spent_this_month"], "0.402");
    server.assert_settled();
}

#[test]
fn a_monthly_limit_ends_with_the_calendar_month() {
    let server = Server::start();
    let customer = server.customer_with("9.00", json!({"spend_limit_monthly": "0.20"}));
    server.spend(&customer);
    // 18 November plus 12 days is still November.
    server.clock.advance(HOUR * 24 * 12);
    let detail = server.limit_detail(&customer, LIMIT_REACHED);
    assert!(detail.contains("0.20 USD a month (UTC)"), "{detail}");
    server.clock.advance(HOUR * 24);
    server.spend(&customer);
    server.limit_detail(&customer, LIMIT_REACHED);
    assert_eq!(get_key(&server, &customer)["spent_this_month"], "0.134");
}

#[test]
fn the_reserved_amount_counts_against_every_limit() {
    let server = Server::start();
    let customer = server.customer_with("9.00", json!({"spend_limit_daily": "0.20"}));
    server.generator.hold();
    let job = server.create(&customer);
    server.limit_detail(&customer, LIMIT_REACHED);
    // The next day's limit applies as well, because the job may be charged then.
    server.clock.advance(HOUR * 24);
    server.limit_detail(&customer, LIMIT_REACHED);
    server.generator.release_all();
    server.job_once(&customer, &job, "done");
    assert_eq!(get_key(&server, &customer)["spent_today"], "0.134");
    server.limit_detail(&customer, LIMIT_REACHED);
    server.assert_settled();
}

#[test]
fn a_client_reads_what_is_reserved_within_the_limits_of_its_own_key() {
    let server = Server::start();
    let limits = json!({"spend_limit_daily": "0.40"});
    let customer = server.customer_with("9.00", limits);
    let other = server.another_key(&customer.account, json!({}));
    let amounts = |customer: &Customer| {
        let own = server.native(customer, "GET", "/key").expect(200).json();
        [own["spent"].clone(), own["reserved"].clone()]
    };
    assert_eq!(amounts(&customer), ["0.00", "0.00"]);
    server.generator.hold();
    let jobs = [(); 2].map(|()| server.create(&customer));
    assert_eq!(amounts(&customer), ["0.00", "0.268"]);
    assert_eq!(amounts(&other), ["0.00", "0.00"]);
    let refused = server.generation(&customer, PATH, &fox());
    let refused = refused.refused(402, "key_limit_reached").text();
    assert!(refused.contains("of which 0.268 USD is"), "{refused}");
    server.generator.release_all();
    for job in &jobs {
        server.job_once(&customer, job, "done");
    }
    assert_eq!(amounts(&customer), ["0.268", "0.00"]);
    server.assert_settled();
}

#[test]
fn many_calls_at_once_do_not_pass_a_daily_limit() {
    let server = Server::start();
    let customer = server.customer_with("9.00", json!({"spend_limit_daily": "0.67"}));
    let calls: Vec<_> = (0..40)
        .map(|_| server.generation(&customer, PATH, &fox()))
        .collect();
    let answers = crate::support::http::all_at_once(&calls);
    let accepted = answers.iter().filter(|it| it.status == 202).count();
    assert_eq!(accepted, 5);
    let mut others = answers.iter().filter(|it| ![202, 402].contains(&it.status));
    assert_eq!(others.next().map(|it| (it.status, it.text())), None);
    server.assert_settled();
}

#[test]
fn limits_are_set_changed_and_lifted() {
    let server = Server::start();
    let limits =
        json!({"spend_limit_daily": "1", "spend_limit_monthly": "2.5", "spend_limit": "3"});
    let customer = server.customer_with("9.00", limits);
    let key = get_key(&server, &customer);
    assert_eq!(key["spend_limit_daily"], "1.00");
    assert_eq!(key["spend_limit_monthly"], "2.50");
    assert_eq!(key["spend_limit"], "3.00");
    let path = format!("/keys/{}", customer.key_id);
    let patch = |body: Value| server.admin("PATCH", &path).json(&body);
    let key = patch(json!({"spend_limit_daily": null})).expect(200).json();
    assert!(key["spend_limit_daily"].is_null());
    assert_eq!(key["spend_limit_monthly"], "2.50");
    patch(json!({"spend_limit_daily": "-1", "spend_limit_monthly": 5}))
        .invalid(&["spend_limit_daily", "spend_limit_monthly"]);
}

#[test]
fn windows_survive_a_restart() {
    let server = Server::with(Options::new().on_disk());
    let customer = server.customer_with("9.00", json!({"spend_limit_daily": "0.20"}));
    server.spend(&customer);
    let server = server.restart();
    server.limit_detail(&customer, LIMIT_REACHED);
    assert_eq!(get_key(&server, &customer)["spent_today"], "0.134");
    server.assert_settled();
}

#[test]
fn the_last_use_of_a_key_is_known_and_survives_a_restart() {
    let server = Server::with(Options::new().on_disk());
    let customer = server.customer("1.00");
    assert!(get_key(&server, &customer)["last_used_at"].is_null());
    server.clock.advance(HOUR);
    server.native(&customer, "GET", "/balance").expect(200);
    let used = "2026-11-18T12:06:40.001Z";
    assert_eq!(get_key(&server, &customer)["last_used_at"], used);
    let server = server.restart();
    server.clock.advance(HOUR);
    assert_eq!(get_key(&server, &customer)["last_used_at"], used);
    let path = format!("/keys/{}", customer.key_id);
    let off = json!({"active": false});
    server.admin("PATCH", &path).json(&off).expect(200);
    // A rejected call does not count as use.
    server
        .native(&customer, "GET", "/balance")
        .refused(401, "unauthorized");
    assert_eq!(get_key(&server, &customer)["last_used_at"], used);
}

#[test]
fn a_client_reads_the_limits_of_its_own_key() {
    let server = Server::start();
    let limits = json!({"spend_limit_daily": "1", "spend_limit_monthly": "2"});
    let customer = server.customer_with("9.00", limits);
    server.spend(&customer);
    let own = server.native(&customer, "GET", "/key").expect(200).json();
    for (name, value) in [
        ("spend_limit_daily", "1.00"),
        ("spent_today", "0.134"),
        ("spend_limit_monthly", "2.00"),
        ("spent_this_month", "0.134"),
    ] {
        assert_eq!(own[name], value, "{name}");
    }
}
