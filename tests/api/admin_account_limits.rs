//! Decisions 11 and 14: the operator's limits of an account apply to all its keys, and a key may limit its live jobs.

use crate::support::http::{Answer, all_at_once};
use crate::support::{Behaviour, Customer, OneNode, Options, Server, fox, until};
use serde_json::{Value, json};
use std::time::Duration;

const PATH: &str = "/text-generations";
const LIMIT_REACHED: &str = "account_limit_reached";
const HOUR: Duration = Duration::from_secs(3_600);

fn limit(server: &Server, account: &str, limits: Value) -> Value {
    let call = server.admin("PATCH", &format!("/accounts/{account}"));
    call.json(&json!({"limits": limits})).expect(200).json()
}

fn get_account(server: &Server, account: &str) -> Value {
    let path = format!("/accounts/{account}");
    server.admin("GET", &path).expect(200).json()
}

/// An account with these limits and two keys.
fn account_with_limits(server: &Server, limits: Value) -> [Customer; 2] {
    let first = server.customer("9.00");
    limit(server, &first.account, limits);
    let second = server.another_key(&first.account, json!({}));
    [first, second]
}

#[test]
fn all_keys_of_an_account_share_its_daily_limit() {
    let server = Server::start();
    let keys = account_with_limits(&server, json!({"spend_per_day": "0.268"}));
    server.spend(&keys[0]);
    server.spend(&keys[1]);
    for key in &keys {
        assert_eq!(
            server.limit_detail(key, LIMIT_REACHED),
            "the account has a spend limit of 0.268 USD a day (UTC), of which 0.268 USD is spent or reserved; the price is 0.134 USD; \
             wait until the next UTC day, or ask the operator to raise the limit"
        );
    }
    let account = &keys[0].account;
    let new = server.another_key(account, json!({"spend_limit": "5"}));
    server.limit_detail(&new, LIMIT_REACHED);
    let limits = &get_account(&server, account)["limits"];
    assert_eq!(
        *limits,
        json!({
            "spend_per_day": "0.268",
            "spend_per_month": null,
            "rate_limit": null,
            "max_concurrent": null,
            "used": {"spent_today": "0.268", "spent_this_month": "0.268", "live_jobs": null},
        })
    );
    // The start is 11:06:40.
    server.clock.advance(HOUR * 12);
    server.limit_detail(&keys[0], LIMIT_REACHED);
    server.clock.advance(HOUR);
    server.spend(&keys[0]);
    let used = &get_account(&server, account)["limits"]["used"];
    assert_eq!(used["spent_today"], "0.134");
    assert_eq!(used["spent_this_month"], "0.402");
    server.assert_settled();
}

#[test]
fn the_monthly_limit_of_an_account_resets_with_the_calendar_month() {
    let server = Server::start();
    let keys = account_with_limits(&server, json!({"spend_per_month": "0.20"}));
    server.spend(&keys[0]);
    // 18 November plus 12 days is still November.
    server.clock.advance(HOUR * 24 * 12);
    let detail = server.limit_detail(&keys[1], LIMIT_REACHED);
    assert!(detail.contains("0.20 USD a month (UTC)"), "{detail}");
    server.clock.advance(HOUR * 24);
    server.spend(&keys[1]);
    server.limit_detail(&keys[0], LIMIT_REACHED);
    server.assert_settled();
}

#[test]
fn concurrent_calls_with_several_keys_do_not_exceed_the_daily_limit_of_the_account() {
    let server = Server::start();
    let keys = account_with_limits(&server, json!({"spend_per_day": "0.67"}));
    let calls: Vec<_> = (0..40)
        .map(|number| server.generation(&keys[number % 2], PATH, &fox()))
        .collect();
    let answers = all_at_once(&calls);
    let accepted = answers.iter().filter(|it| it.status == 202).count();
    assert_eq!(accepted, 5);
    let mut others = answers.iter().filter(|it| ![202, 402].contains(&it.status));
    assert_eq!(others.next().map(|it| (it.status, it.text())), None);
    server.assert_settled();
}

#[test]
fn reserved_amounts_count_and_amounts_released_by_failed_jobs_do_not() {
    let server = Server::start();
    let keys = account_with_limits(&server, json!({"spend_per_day": "0.20"}));
    server.generator.hold();
    let job = server.create(&keys[0]);
    server.limit_detail(&keys[1], LIMIT_REACHED);
    server.generator.behave(Behaviour::Break("no"));
    server.generator.release_all();
    server.job_once(&keys[0], &job, "failed");
    server.generator.behave(Behaviour::Succeed);
    server.spend(&keys[1]);
    server.limit_detail(&keys[0], LIMIT_REACHED);
    server.assert_settled();
}

#[test]
fn a_new_daily_limit_counts_earlier_spending_of_the_day() {
    let server = Server::start();
    let customer = server.customer("9.00");
    server.spend(&customer);
    let account = limit(&server, &customer.account, json!({"spend_per_day": "0.20"}));
    assert_eq!(account["limits"]["used"]["spent_today"], "0.134");
    server.limit_detail(&customer, LIMIT_REACHED);
    limit(&server, &customer.account, json!({"spend_per_day": null}));
    server.spend(&customer);
    limit(&server, &customer.account, json!({"spend_per_day": "0.40"}));
    let detail = server.limit_detail(&customer, LIMIT_REACHED);
    assert!(detail.contains("of which 0.268 USD is spent"), "{detail}");
    server.assert_settled();
}

fn too_many(answer: Answer, who: &str, most: usize) {
    assert_eq!(answer.header("retry-after"), Some("5"));
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    assert_eq!(
        detail,
        format!(
            "{who} has {most} of at most {most} unfinished jobs; wait for some of them to finish"
        )
    );
}

#[test]
fn an_account_has_no_more_live_jobs_than_the_operator_allows() {
    let server = Server::start();
    let keys = account_with_limits(&server, json!({"max_concurrent": 2}));
    server.generator.hold();
    let jobs = [&keys[0], &keys[1]].map(|key| server.create(key));
    for key in &keys {
        let call = server.generation(key, PATH, &fox());
        too_many(call.refused(429, "rate_limited"), "the account", 2);
    }
    server.assert_visible("both are shown", || {
        get_account(&server, &keys[0].account)["limits"]["used"]["live_jobs"] == 2
    });
    server.generator.release_all();
    for (key, job) in keys.iter().zip(&jobs) {
        server.job_once(key, job, "done");
    }
    server.create(&keys[1]);
    limit(&server, &keys[0].account, json!({"max_concurrent": 1}));
    server.assert_settled();
}

#[test]
fn retry_after_is_the_estimated_time_until_a_live_job_ends() {
    let server = Server::with(Options::new().one_node(OneNode::Estimates));
    let keys = account_with_limits(&server, json!({"max_concurrent": 2}));
    let create_two = || [0, 1].map(|key| server.create(&keys[key]));
    server.generator.hold();
    let jobs = create_two();
    for (key, job) in keys.iter().zip(&jobs) {
        server.job_once(key, job, "processing");
    }
    server.clock.advance(Duration::from_secs(20));
    server.generator.release_all();
    for (key, job) in keys.iter().zip(&jobs) {
        server.job_once(key, job, "done");
    }
    server.generator.hold();
    create_two();
    let one_more = server.generation(&keys[0], PATH, &fox());
    let refused = one_more.refused(429, "rate_limited");
    assert_eq!(refused.header("retry-after"), Some("10"));
    let request = json!({"model": "fast", "prompt": "a fox", "aspect_ratio": "1:1"});
    let too_large = json!({"requests": vec![request; 3]});
    let too_large = server.generation(&keys[0], "/batches", &too_large);
    let refused = too_large.refused(429, "rate_limited");
    // Longer than the packages and the SDKs wait: a retry would be refused too.
    assert_eq!(refused.header("retry-after"), Some("3600"));
    assert_eq!(
        refused.json()["detail"],
        "the account has 2 of at most 2 unfinished jobs, and the request has 3; split it, or ask the operator for a higher limit"
    );
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn the_live_jobs_of_a_key_are_limited_independently_of_other_keys() {
    let server = Server::start();
    let customer = server.customer_with("9.00", json!({"max_concurrent": 1}));
    let other = server.another_key(&customer.account, json!({}));
    let path = format!("/keys/{}", customer.key_id);
    assert_eq!(
        server.admin("GET", &path).expect(200).json()["max_concurrent"],
        1
    );
    let own = server.native(&customer, "GET", "/key").expect(200).json();
    assert_eq!(own["max_concurrent"], 1);
    let of_other = server.native(&other, "GET", "/key").expect(200).json();
    assert!(of_other.get("max_concurrent").is_none());
    server.generator.hold();
    let calls: Vec<_> = (0..8)
        .map(|_| server.generation(&customer, PATH, &fox()))
        .collect();
    let answers = all_at_once(&calls);
    assert_eq!(answers.iter().filter(|it| it.status == 202).count(), 1);
    for _ in 0..3 {
        server.create(&other);
    }
    let call = server.generation(&customer, PATH, &fox());
    too_many(call.refused(429, "rate_limited"), "this API key", 1);
    let patch = |body: Value| server.admin("PATCH", &path).json(&body);
    patch(json!({"max_concurrent": 2})).expect(200);
    server.create(&customer);
    call.refused(429, "rate_limited");
    patch(json!({"max_concurrent": null})).expect(200);
    server.create(&customer);
    for wrong in [
        json!(0),
        json!(-1),
        json!(1.5),
        json!("3"),
        json!(1_000_001),
    ] {
        patch(json!({"max_concurrent": wrong})).invalid(&["max_concurrent"]);
    }
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn the_jobs_of_a_batch_count_one_by_one() {
    let server = Server::start();
    let keys = account_with_limits(
        &server,
        json!({"max_concurrent": 3, "spend_per_day": "0.30"}),
    );
    let capped = server.another_key(&keys[0].account, json!({"max_concurrent": 1}));
    server.generator.hold();
    let batch = |key: &Customer, size: usize, model: &str| {
        let request = json!({"model": model, "prompt": "a fox", "aspect_ratio": "1:1"});
        let body = json!({"requests": vec![request; size]});
        server.generation(key, "/batches", &body)
    };
    batch(&keys[0], 4, "fast").refused(429, "rate_limited");
    batch(&capped, 2, "fast").refused(429, "rate_limited");
    batch(&keys[0], 3, "pro").refused(402, "account_limit_reached");
    batch(&keys[0], 2, "pro").expect(202);
    batch(&keys[1], 2, "fast").refused(429, "rate_limited");
    server.generator.release_all();
    let nothing = || get_account(&server, &keys[0].account)["reserved"] == "0.00";
    until("the batch has ended", nothing);
    batch(&keys[1], 1, "fast").refused(402, "account_limit_reached");
    server.assert_settled();
}

#[test]
fn all_keys_of_an_account_and_its_playground_share_its_rate() {
    let server = Server::with(Options::new().one_node(OneNode::Rates));
    let rate = json!({"rate_limit": {"per_second": 1, "burst": 3}});
    let keys = account_with_limits(&server, rate);
    let balance = |key| server.native(key, "GET", "/balance");
    let limit_headers = |answer: &Answer| {
        ["ratelimit-policy", "ratelimit"].map(|name| answer.header(name).map(str::to_owned))
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        limit_headers(&balance(&keys[0]).expect(200)),
        [some("\"account\";q=3;w=3"), some("\"account\";r=2;t=1")]
    );
    balance(&keys[1]).expect(200);
    balance(&keys[0]).expect(200);
    for key in &keys {
        let refused = balance(key).refused(429, "rate_limited");
        assert_eq!(refused.header("retry-after"), Some("1"));
        assert!(
            refused
                .text()
                .contains("this account may make 1 request per second")
        );
    }
    let browser = server.operators_browser();
    let image = format!("/accounts/{}/generations/pro", keys[0].account);
    let form = "--b\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n";
    let form = format!("{form}{}\r\n--b--\r\n", fox());
    let call = browser.call(&server, "POST", &image);
    let call = call.bytes("multipart/form-data; boundary=b", form.as_bytes());
    call.refused(429, "rate_limited");
    let google = server
        .get("/v1beta/models")
        .header("x-goog-api-key", &keys[1].key);
    google.expect(429);
    server.clock.advance(Duration::from_secs(1));
    call.expect(202);
    balance(&keys[1]).refused(429, "rate_limited");
    // Neither another account nor the account without its limit sends the headers.
    let other = server.customer("1");
    assert_eq!(limit_headers(&balance(&other).expect(200)), [None, None]);
    limit(&server, &keys[0].account, json!({"rate_limit": null}));
    assert_eq!(limit_headers(&balance(&keys[0]).expect(200)), [None, None]);
}

#[test]
fn each_limit_is_set_and_removed_alone_and_all_together() {
    let server = Server::start();
    let account = server.customer("9.00").account;
    assert!(get_account(&server, &account).get("limits").is_none());
    let all = json!({
        "spend_per_day": "5",
        "spend_per_month": "50.5",
        "rate_limit": {"per_second": 5, "burst": 10},
        "max_concurrent": 20,
    });
    let set = limit(&server, &account, all);
    assert_eq!(
        set["limits"],
        json!({
            "spend_per_day": "5.00",
            "spend_per_month": "50.50",
            "rate_limit": {"per_second": 5, "burst": 10},
            "max_concurrent": 20,
            "used": {"spent_today": "0.00", "spent_this_month": "0.00", "live_jobs": 0},
        })
    );
    let changed = limit(
        &server,
        &account,
        json!({"spend_per_day": null, "max_concurrent": 3}),
    );
    let limits = &changed["limits"];
    assert_eq!(
        (
            &limits["spend_per_day"],
            &limits["max_concurrent"],
            &limits["spend_per_month"]
        ),
        (&json!(null), &json!(3), &json!("50.50"))
    );
    let faulty = json!({"limits": {
        "spend_per_day": -1,
        "spend_per_month": "-1",
        "rate_limit": {"per_second": 0, "burst": 1},
        "max_concurrent": 0,
        "per_day": "5",
    }});
    let patch = |body: &Value| {
        let call = server.admin("PATCH", &format!("/accounts/{account}"));
        call.json(body)
    };
    patch(&faulty).invalid(&[
        "limits.max_concurrent",
        "limits.per_day",
        "limits.rate_limit.per_second",
        "limits.spend_per_day",
        "limits.spend_per_month",
    ]);
    patch(&json!({"limits": "none"})).invalid(&["limits"]);
    let none = limit(&server, &account, json!(null));
    assert!(none.get("limits").is_none());
    let lines = server
        .admin("GET", "/audit?action=account.change")
        .expect(200);
    let lines = lines.json()["data"].as_array().unwrap().clone();
    assert_eq!(lines.len(), 3);
    assert!(lines[0]["after"].get("limits").is_none());
    assert_eq!(
        lines[0]["before"]["limits"],
        json!({"spend_per_day": null, "spend_per_month": "50.50", "rate_limit": {"per_second": 5, "burst": 10}, "max_concurrent": 3})
    );
}

#[test]
fn an_account_is_opened_with_limits_once_for_each_idempotency_key() {
    let server = Server::start();
    let open = |day: &str| {
        let limits = json!({"spend_per_day": day});
        let body = json!({"name": "north", "balance": "10", "limits": limits});
        server
            .admin("POST", "/accounts")
            .json(&body)
            .idempotent("n-1")
    };
    let opened = open("0.20").expect(201).json();
    assert_eq!(opened["limits"]["spend_per_day"], "0.20");
    open("0.20").expect(201);
    open("0.30").refused(422, "idempotency_key_reused");
    let key = server.another_key(opened["account_id"].as_str().unwrap(), json!({}));
    server.spend(&key);
    server.limit_detail(&key, LIMIT_REACHED);
    server.assert_settled();
}

#[test]
fn the_people_of_an_account_see_its_limits_and_do_not_change_them() {
    let server = Server::start();
    let [ada, _] = account_with_limits(&server, json!({"spend_per_day": "1"}));
    let owner = server.person(&ada.account, "owner@a.example", "owner");
    let base = format!("/accounts/{}", ada.account);
    let seen = owner.call(&server, "GET", &base).expect(200).json();
    assert_eq!(seen["limits"]["spend_per_day"], "1.00");
    let overview = format!("{base}/overview");
    let overview = owner.call(&server, "GET", &overview).expect(200).json();
    assert_eq!(overview["limits"], seen["limits"]);
    for limits in [json!(null), json!({"spend_per_day": "100"})] {
        let call = owner.call(&server, "PATCH", &base);
        call.json(&json!({"limits": limits}))
            .refused(403, "forbidden");
    }
    let key = json!({"name": "mine", "spend_limit_daily": "100"});
    let keys = format!("{base}/keys");
    owner.call(&server, "POST", &keys).json(&key).expect(201);
    assert_eq!(
        get_account(&server, &ada.account)["limits"]["spend_per_day"],
        "1.00"
    );
}

#[test]
fn limits_and_their_usage_survive_a_restart() {
    let server = Server::with(Options::new().on_disk());
    let keys = account_with_limits(
        &server,
        json!({"spend_per_day": "0.20", "max_concurrent": 4}),
    );
    let capped = server.another_key(&keys[0].account, json!({"max_concurrent": 7}));
    server.spend(&keys[0]);
    let before = get_account(&server, &keys[0].account);
    let server = server.restart();
    assert_eq!(get_account(&server, &keys[0].account), before);
    server.limit_detail(&keys[1], LIMIT_REACHED);
    let own = server.native(&capped, "GET", "/key").expect(200).json();
    assert_eq!(own["max_concurrent"], 7);
    server.assert_settled();
}

#[test]
fn the_synchronous_interfaces_enforce_the_same_limits() {
    let server = Server::start();
    let keys = account_with_limits(&server, json!({"spend_per_day": "0.20"}));
    server.spend(&keys[0]);
    let body = json!({"contents": [{"role": "user", "parts": [{"text": "a fox"}]}]});
    let google = server.post("/v1beta/models/gemini-3-pro-image:generateContent");
    let google = google.json(&body).header("x-goog-api-key", &keys[1].key);
    let refused = google.expect(429).json();
    assert_eq!(refused["error"]["status"], "RESOURCE_EXHAUSTED");
    let detail = refused["error"]["message"].as_str().unwrap();
    assert!(
        detail.contains("the account has a spend limit of 0.20 USD a day"),
        "{detail}"
    );
    let openai = server.post("/v1/images/generations").bearer(&keys[1].key);
    let openai = openai.json(&json!({"model": "pro", "prompt": "a fox", "n": 2}));
    assert_eq!(
        openai.expect(429).json()["error"]["type"],
        "insufficient_quota"
    );
    server.assert_settled();
}
