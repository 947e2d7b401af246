//! Decisions 6, last row: `/metrics`, without a token.

use crate::metrics_text::Figures;
use crate::support::poll::{until, until_some};
use crate::support::{Behaviour, Customer, Options, Server, fox, fox_with};
use serde_json::json;
use std::time::Duration;

const TEXT_PRO: &str = "/api/v1/text-generations";

fn calls(figures: &Figures, route: &str, method: &str, status: &str) -> f64 {
    let labels = [("route", route), ("method", method), ("status", status)];
    let found = figures.get("tintype_http_requests_total", &labels);
    found.unwrap_or(0.0)
}

fn done(server: &Server, customer: &Customer) -> String {
    let job = server.create(customer);
    server.job_once(customer, &job, "done");
    job
}

#[test]
fn metrics_are_served_without_a_token_in_the_text_format_of_prometheus() {
    let server = Server::start();
    let answer = server.get("/metrics").expect(200);
    let media_type = answer.header("content-type");
    assert_eq!(media_type, Some("text/plain; version=0.0.4; charset=utf-8"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert!(answer.header("x-request-id").is_some());
    assert!(server.call("HEAD", "/metrics").expect(200).body.is_empty());
    let refused = server.post("/metrics").refused(405, "method_not_allowed");
    assert_eq!(refused.header("allow"), Some("GET, HEAD"));
    assert!(Figures::read(&answer.text()).families.len() > 40);
}

#[test]
fn readiness_is_a_metric_and_does_not_wait_for_a_probe() {
    let server = Server::with(Options::new().on_disk());
    let is_ready = || server.figures().of("tintype_ready", &[]);
    assert_eq!(is_ready(), 1.0);
    std::fs::remove_dir_all(server.objects()).unwrap();
    until("a probe has failed", || {
        server.get("/readyz").send().status == 503
    });
    assert_eq!(is_ready(), 0.0);
    std::fs::create_dir(server.objects()).unwrap();
    until("a probe has succeeded", || {
        server.get("/readyz").send().status == 200
    });
    assert_eq!(is_ready(), 1.0);
    server.inside().begin_draining();
    assert_eq!(is_ready(), 0.0);
}

#[test]
fn each_histogram_adds_up() {
    let server = Server::with(Options::new().on_disk());
    let ada = server.customer("10");
    done(&server, &ada);
    let figures = server.figures();
    let histograms = figures.families.iter().filter(|(_, it)| *it == "histogram");
    let mut counted = 0;
    for (name, _) in histograms {
        let ranges = figures.ranges(name);
        assert!(!ranges.is_empty(), "{name} has a series from the start");
        for (labels, ranges) in ranges {
            let rises = ranges.windows(2).all(|pair| pair[0].1 <= pair[1].1);
            assert!(rises, "{name} {labels:?} {ranges:?}");
            let (bound, all) = *ranges.last().unwrap();
            assert!(bound.is_infinite());
            let labels: Vec<_> = labels
                .iter()
                .map(|(a, b)| (a.as_str(), b.as_str()))
                .collect();
            assert_eq!(figures.of(&format!("{name}_count"), &labels), all);
            assert!(figures.of(&format!("{name}_sum"), &labels) >= 0.0);
            counted += usize::from(all > 0.0);
        }
    }
    assert!(counted > 8, "{counted}");
}

#[test]
fn calls_are_counted_by_route_method_and_status() {
    let server = Server::start();
    let ada = server.customer("10");
    let job = done(&server, &ada);
    server.native(&ada, "GET", "/jobs/nobody").expect(404);
    server.get("/api/v1/balance").expect(401);
    server.get("/no/such/path?key=secret").expect(404);
    server.call("BREW", "/healthz").expect(405);
    server.get("/v1beta/models").bearer(&ada.key).expect(200);
    let figures = server.figures();
    assert_eq!(calls(&figures, TEXT_PRO, "POST", "202"), 1.0);
    let shown = calls(&figures, "/api/v1/jobs/{job_id}", "GET", "200");
    assert!(shown >= 1.0, "{job}");
    assert_eq!(calls(&figures, "/api/v1/jobs/{job_id}", "GET", "404"), 1.0);
    assert_eq!(calls(&figures, "/api/v1/balance", "GET", "401"), 1.0);
    assert_eq!(calls(&figures, "none", "GET", "404"), 1.0);
    assert_eq!(calls(&figures, "/healthz", "other", "405"), 1.0);
    assert_eq!(calls(&figures, "/{version}/models", "GET", "200"), 1.0);
    let labels = [("route", TEXT_PRO), ("method", "POST")];
    let name = "tintype_http_request_duration_seconds_count";
    assert_eq!(figures.of(name, &labels), 1.0);
    assert_eq!(
        figures.of("tintype_http_requests_in_flight", &[]),
        1.0,
        "this one"
    );
}

#[test]
fn calls_that_are_refused_before_their_handlers_are_counted_under_their_routes() {
    let server = Server::start();
    // Without the header that the panel's pages send.
    server
        .post("/panel/api/session/operator")
        .refused(403, "forbidden");
    server
        .call("DELETE", "/panel/api/accounts/nobody/keys/none")
        .refused(403, "forbidden");
    let figures = server.figures();
    let refused = |route, method| calls(&figures, route, method, "403");
    assert_eq!(refused("/panel/api/session/operator", "POST"), 1.0);
    let key = "/panel/api/accounts/{account_id}/keys/{key_id}";
    assert_eq!(refused(key, "DELETE"), 1.0);
    let without = [("route", "none"), ("method", "POST"), ("status", "403")];
    assert_eq!(figures.get("tintype_http_requests_total", &without), None);
}

#[test]
fn a_caller_who_disconnects_is_counted_as_abandoned() {
    let server = Server::start();
    let ada = server.customer("10");
    server.generator.hold();
    let job = server.create(&ada);
    let waiting = server.native(&ada, "GET", &format!("/jobs/{job}?wait=60"));
    let mut wire = crate::support::raw::Wire::open(server.address);
    wire.send(&waiting.wire());
    let in_flight = || server.figures().of("tintype_http_requests_in_flight", &[]);
    until("the call waits", || in_flight() == 2.0);
    assert_eq!(server.figures().of("tintype_waiting_callers", &[]), 1.0);
    drop(wire);
    until("the call is given up", || in_flight() == 1.0);
    let name = "tintype_http_requests_abandoned_total";
    assert_eq!(server.figures().of(name, &[]), 1.0);
    server.generator.release_all();
}

/// Ids stay ahead of a clock that was a year ahead once.
#[test]
fn the_age_of_the_queue_does_not_depend_on_ids_that_are_ahead_of_the_clock() {
    let server = Server::with(Options::new().slots(1));
    let ada = server.customer("10");
    let year = Duration::from_secs(365 * 86_400);
    server.clock.advance(year);
    let ahead = server.create(&ada);
    server.job_once(&ada, &ahead, "done");
    server.clock.set_back(year);
    server.generator.hold();
    let first = server.create(&ada);
    server.job_once(&ada, &first, "processing");
    server.create(&ada);
    server.clock.advance(Duration::from_secs(90));
    let pro = [("tier", "pro")];
    until("the queue is seen", || {
        let age = server
            .figures()
            .of("tintype_jobs_oldest_queued_age_seconds", &pro);
        age == 90.0
    });
    server.generator.release_all();
}

#[test]
fn jobs_are_reported_by_tier_state_and_outcome() {
    let server = Server::with(Options::new().slots(1));
    let ada = server.customer("10");
    server.generator.hold();
    let first = server.create(&ada);
    server.job_once(&ada, &first, "processing");
    server.clock.advance(Duration::from_secs(5));
    let second = server.create(&ada);
    let fast = server.generation(&ada, "/nb/text-generations", &fox());
    fast.expect(202);
    server.clock.advance(Duration::from_secs(90));
    let jobs = |figures: &Figures, tier, state| {
        figures.of("tintype_jobs", &[("tier", tier), ("state", state)])
    };
    let figures = until_some("the queue is seen", || {
        let figures = server.figures();
        (jobs(&figures, "fast", "queued") == 1.0).then_some(figures)
    });
    assert_eq!(jobs(&figures, "pro", "queued"), 1.0);
    assert_eq!(jobs(&figures, "pro", "processing"), 1.0);
    assert_eq!(jobs(&figures, "quality", "queued"), 0.0);
    assert_eq!(figures.of("tintype_jobs_live", &[]), 3.0);
    let oldest = |tier| figures.of("tintype_jobs_oldest_queued_age_seconds", &[("tier", tier)]);
    assert_eq!((oldest("pro"), oldest("quality")), (90.0, 0.0));
    server
        .native(&ada, "DELETE", &format!("/jobs/{second}"))
        .expect(200);
    server.generator.release_all();
    server.job_once(&ada, &first, "done");
    server.generator.behave(Behaviour::Refuse("not this"));
    let refused = server.create(&ada);
    server.job_once(&ada, &refused, "failed");
    let ended = |figures: &Figures, tier, outcome| {
        let labels = [("tier", tier), ("outcome", outcome)];
        figures.of("tintype_jobs_ended_total", &labels)
    };
    let figures = until_some("all have ended", || {
        let figures = server.figures();
        (figures.of("tintype_jobs_live", &[]) == 0.0).then_some(figures)
    });
    let outcomes = ["done", "canceled", "refused", "broken"];
    assert_eq!(
        outcomes.map(|it| ended(&figures, "pro", it)),
        [1.0, 1.0, 1.0, 0.0]
    );
    let accepted = [("tier", "pro"), ("mode", "text-to-image")];
    assert_eq!(figures.of("tintype_jobs_accepted_total", &accepted), 3.0);
    let waits = figures.of("tintype_job_queue_wait_seconds_count", &[("tier", "fast")]);
    assert_eq!(waits, 1.0);
    let waited = figures.of("tintype_job_queue_wait_seconds_sum", &[("tier", "fast")]);
    assert_eq!(waited, 90.0);
    let lived = figures.of("tintype_job_duration_seconds_sum", &[("tier", "pro")]);
    assert_eq!(lived, 95.0 + 90.0, "the first, and the canceled one");
}

#[test]
fn replays_and_rejections_are_not_counted_as_accepted() {
    let server = Server::start();
    let poor = server.customer("0.14");
    let call = server.generation(&poor, "/text-generations", &fox());
    let first = call.clone().idempotent("once").expect(202).job_id();
    assert_eq!(call.clone().idempotent("once").expect(202).job_id(), first);
    call.refused(402, "insufficient_balance");
    let figures = server.figures();
    assert_eq!(figures.of("tintype_jobs_replayed_total", &[]), 1.0);
    assert_eq!(figures.sum("tintype_jobs_accepted_total"), 1.0);
    assert_eq!(figures.of("tintype_jobs_per_commit_count", &[]), 1.0);
    assert_eq!(figures.of("tintype_jobs_per_commit_sum", &[]), 1.0);
}

#[test]
fn a_replay_is_counted_before_and_inside_the_account_actor() {
    let server = Server::start();
    let ada = server.customer("10");
    // For a prompt stored as a separate object, the edge finds the replay before it stores the prompt; the account's actor does not.
    let large = fox_with(json!({"prompt": "x".repeat(20_000)}));
    for body in [fox(), large] {
        let call = server.generation(&ada, "/text-generations", &body);
        let name = format!("once-{}", body["prompt"].as_str().unwrap().len());
        let call = call.idempotent(&name);
        let first = call.expect(202).job_id();
        for _ in 0..2 {
            assert_eq!(call.expect(202).job_id(), first);
        }
    }
    let replayed = server.figures().of("tintype_jobs_replayed_total", &[]);
    assert_eq!(replayed, 4.0);
}

#[test]
fn replays_on_the_synchronous_interfaces_are_counted_by_image() {
    let server = Server::start();
    let ada = server.customer("10");
    let gemini = json!({"contents": [{"parts": [{"text": "a fox"}]}]});
    let two = json!({"model": "pro", "prompt": "a fox", "n": 2});
    let calls = [
        ("/v1beta/models/pro:generateContent", gemini, 1.0),
        ("/v1/images/generations", two, 3.0),
    ];
    for (path, body, replayed) in calls {
        let call = server.call("POST", path).bearer(&ada.key).json(&body);
        let call = call.idempotent(path);
        call.expect(200);
        call.expect(200);
        let figures = server.figures();
        assert_eq!(figures.of("tintype_jobs_replayed_total", &[]), replayed);
    }
    assert_eq!(server.figures().sum("tintype_jobs_accepted_total"), 3.0);
}

#[test]
fn the_tries_and_the_breaker_of_a_backend_are_reported() {
    let server = Server::start();
    let ada = server.customer("10");
    done(&server, &ada);
    server.generator.behave(Behaviour::Transient("no room"));
    for _ in 0..5 {
        let job = server.create(&ada);
        server.job_once(&ada, &job, "failed");
    }
    server.generator.behave(Behaviour::Garbage);
    let figures = server.figures();
    let name = "tintype_backend_try_duration_seconds_count";
    let tries = |outcome| figures.of(name, &[("backend", "builtin"), ("outcome", outcome)]);
    assert_eq!((tries("picture"), tries("transient")), (1.0, 5.0));
    let of = |name| figures.of(name, &[("backend", "builtin")]);
    assert_eq!(of("tintype_backend_breaker_opened_total"), 1.0);
    assert_eq!(of("tintype_backend_given_up_total"), 5.0);
    assert_eq!(of("tintype_backend_retries_total"), 0.0);
    assert_eq!(of("tintype_backend_places"), 64.0);
    assert_eq!(of("tintype_backend_runs"), 0.0);
    assert_eq!(of("tintype_backend_shared"), 0.0);
    let breaker = |state| {
        let labels = [("backend", "builtin"), ("state", state)];
        figures.of("tintype_backend_breaker_state", &labels)
    };
    assert_eq!(
        ["closed", "open", "half_open"].map(breaker),
        [0.0, 1.0, 0.0]
    );
    let job = server.create(&ada);
    server.job_once(&ada, &job, "failed");
    let unusable = [("backend", "builtin")];
    let name = "tintype_backend_unusable_pictures_total";
    assert_eq!(server.figures().of(name, &unusable), 1.0);
}

#[test]
fn the_ledger_is_reported_as_the_sum_of_all_accounts() {
    let server = Server::start();
    let [ada, bob] = [server.customer("10"), server.customer("2.5")];
    let job = done(&server, &ada);
    let refund = json!({"amount": "0.034", "job_id": job});
    let path = format!("/accounts/{}/deposits", ada.account);
    server.admin("POST", &path).json(&refund).expect(201);
    let path = format!("/accounts/{}/deposits", bob.account);
    let correction = json!({"amount": "-0.5"});
    server.admin("POST", &path).json(&correction).expect(201);
    for (account, low) in [(&ada, "9.866"), (&bob, "1.90")] {
        let path = format!("/accounts/{}", account.account);
        let low = json!({"low_balance": low});
        server.admin("PATCH", &path).json(&low).expect(200);
    }
    server.generator.hold();
    server.create(&bob);
    let figures = server.figures();
    // Reserved money is not available.
    assert_eq!(figures.of("tintype_accounts_low_balance", &[]), 1.0);
    let of = |name| figures.of(name, &[("currency", "USD")]);
    assert_eq!(of("tintype_ledger_balance"), 11.9);
    assert_eq!(of("tintype_ledger_reserved"), 0.134);
    assert_eq!(of("tintype_ledger_deposited"), 12.034);
    assert_eq!(of("tintype_ledger_refunded"), 0.034);
    assert_eq!(of("tintype_ledger_charged_total"), 0.134);
    assert_eq!(figures.of("tintype_accounts", &[]), 2.0);
    server.generator.release_all();
}

#[test]
fn commits_and_disk_writes_are_reported() {
    let server = Server::with(Options::new().on_disk());
    let ada = server.customer("10");
    done(&server, &ada);
    let figures = server.figures();
    let of = |name| figures.of(name, &[]);
    let (commits, syncs) = (
        of("tintype_store_commits_total"),
        of("tintype_store_syncs_total"),
    );
    assert!(commits >= syncs && syncs >= 4.0, "{commits} {syncs}");
    assert_eq!(of("tintype_store_sync_duration_seconds_count"), syncs);
    assert_eq!(of("tintype_store_commits_per_sync_count"), syncs);
    assert!(of("tintype_store_sync_duration_seconds_sum") > 0.0);
    assert!(of("tintype_store_written_bytes_total") > 500.0);
    let (disk, written) = (
        of("tintype_store_disk_bytes"),
        of("tintype_store_written_bytes_total"),
    );
    assert!(of("tintype_disk_free_bytes") > 0.0);
    let backup = "tintype_last_backup_timestamp_seconds";
    assert_eq!(figures.get(backup, &[]), None);
    server.admin("GET", "/export").expect(200);
    assert!(server.figures().of(backup, &[]) > 1e9);
    match server.inside().system.node() {
        None => assert!(disk > written),
        // The records are in a database, so this process does not sync a disk.
        Some(_) => assert_eq!(disk, 0.0),
    }
}

#[test]
fn paused_models_are_reported() {
    let server = Server::start();
    let paused = json!({"project": false, "tiers": {"fast": true}});
    server.admin("PUT", "/pause").json(&paused).expect(200);
    let figures = server.figures();
    let of = |what| figures.of("tintype_paused", &[("what", what)]);
    assert_eq!(["project", "fast", "pro"].map(of), [0.0, 1.0, 0.0]);
}

#[test]
fn paused_backends_are_reported() {
    let backend = |name: &str| toml::Table::from_iter([("name".to_owned(), name.into())]);
    let options = Options::new().set("backends.second.kind", "procedural");
    let both = vec![backend("builtin"), backend("second")];
    let server = Server::with(options.set("tiers.fast.backends", both));
    let paused = json!({"backends": ["builtin"]});
    server.admin("PATCH", "/pause").json(&paused).expect(200);
    let of = |figures: &Figures, name| figures.of("tintype_backend_paused", &[("backend", name)]);
    // Another node may have answered.
    until("the pause is reported", || {
        of(&server.figures(), "builtin") == 1.0
    });
    let figures = server.figures();
    assert_eq!(of(&figures, "second"), 0.0);
    let all = |tier| figures.of("tintype_all_backends_paused", &[("tier", tier)]);
    assert_eq!(["fast", "pro"].map(all), [0.0, 1.0]);
}

#[test]
fn deliveries_are_reported_by_the_response() {
    let receiver = crate::collector::Collector::start();
    let server = Server::with(Options::new().allow_loopback());
    let ada = server.customer("10");
    let path = format!("/accounts/{}/webhooks", ada.account);
    let webhook = json!({"url": receiver.url("/hook")});
    server.admin("POST", &path).json(&webhook).expect(201);
    receiver.answer_next(500, &[]);
    done(&server, &ada);
    let attempts = |figures: &Figures, answer| {
        figures.of("tintype_webhook_attempts_total", &[("answer", answer)])
    };
    until("the first attempt is over", || {
        attempts(&server.figures(), "5xx") == 1.0
    });
    let pending = |figures: &Figures| figures.of("tintype_webhook_deliveries_pending", &[]);
    until("it waits for its retry", || {
        pending(&server.figures()) == 1.0
    });
    let job = server.create(&ada);
    server.job_once(&ada, &job, "done");
    let ended = |figures: &Figures, outcome| {
        let name = "tintype_webhook_deliveries_ended_total";
        figures.of(name, &[("outcome", outcome)])
    };
    until("the second arrives", || {
        ended(&server.figures(), "delivered") == 1.0
    });
    let figures = server.figures();
    assert_eq!(
        (attempts(&figures, "2xx"), attempts(&figures, "none")),
        (1.0, 0.0)
    );
    assert_eq!(
        figures.of("tintype_webhook_attempt_duration_seconds_count", &[]),
        2.0
    );
    assert_eq!(
        figures.of("tintype_webhook_attempt_delay_seconds_count", &[]),
        2.0
    );
    assert_eq!(
        figures.of("tintype_webhook_delivery_duration_seconds_count", &[]),
        1.0
    );
    assert_eq!(ended(&figures, "failed"), 0.0);
}

#[test]
fn metrics_contain_no_data_of_a_caller() {
    let server = Server::start();
    let ada = server.customer("10");
    let body = fox_with(json!({"prompt": "a most secret zeppelin"}));
    let job = server.generation(&ada, "/text-generations", &body);
    let job = job.expect(202).job_id();
    server
        .get(&format!("/{}?key={}", ada.key, ada.key))
        .expect(404);
    let text = server.get("/metrics").expect(200).text();
    for hidden in [
        &ada.key,
        &ada.account,
        &ada.key_id,
        &job,
        "zeppelin",
        "a customer",
    ] {
        assert!(!text.contains(hidden), "{hidden}");
    }
}
