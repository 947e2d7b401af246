//! Authorization in the panel: the tests call every route as every caller without permission.

use crate::support::batches::{batch_of, entry};
use crate::support::sample_images::png;
use crate::support::{Answer, Browser, Customer, Options, Server, fox, until};
use serde_json::{Value, json};
use std::time::Duration;

/// Calls about an account: method, path below the account, and whether only the operator may make them.
pub const OF_ACCOUNT: &[(&str, &str, bool)] = &[
    ("GET", "", false),
    ("GET", "/overview", false),
    ("GET", "/events", false),
    ("GET", "/models", false),
    ("POST", "/generations/{tier}", false),
    ("GET", "/transactions", false),
    ("PATCH", "", true),
    ("GET", "/usage", false),
    ("GET", "/usage.csv", false),
    ("GET", "/ledger.csv", false),
    ("POST", "/deposits", true),
    ("GET", "/people", false),
    ("POST", "/people", false),
    ("PATCH", "/people/{person_id}", true),
    ("DELETE", "/people/{person_id}", false),
    ("POST", "/people/{person_id}/invitation", false),
    ("DELETE", "/people/{person_id}/sessions", true),
    ("GET", "/jobs", false),
    ("GET", "/jobs/{job_id}", false),
    ("DELETE", "/jobs/{job_id}", false),
    ("PUT", "/jobs/{job_id}/favourite", false),
    ("DELETE", "/jobs/{job_id}/favourite", false),
    ("GET", "/jobs/{job_id}/preview", false),
    ("GET", "/jobs/{job_id}/picture", false),
    ("DELETE", "/jobs/{job_id}/picture", false),
    ("DELETE", "/jobs/{job_id}/content", true),
    ("GET", "/batches", false),
    ("POST", "/batches", false),
    ("GET", "/batches/{batch_id}", false),
    ("DELETE", "/batches/{batch_id}", false),
    ("GET", "/batches/{batch_id}/jobs", false),
    ("GET", "/batches/{batch_id}/results", false),
    ("GET", "/batches/{batch_id}/failed", false),
    ("GET", "/batches/{batch_id}/pictures", false),
    ("GET", "/keys", false),
    ("POST", "/keys", false),
    ("GET", "/keys/{key_id}", false),
    ("PATCH", "/keys/{key_id}", false),
    ("DELETE", "/keys/{key_id}", false),
    ("POST", "/keys/{key_id}/rotate", false),
    ("GET", "/webhooks", false),
    ("POST", "/webhooks", false),
    ("PATCH", "/webhooks/{webhook_id}", false),
    ("DELETE", "/webhooks/{webhook_id}", false),
    ("POST", "/webhooks/{webhook_id}/secret", false),
    ("POST", "/webhooks/{webhook_id}/test", false),
    ("POST", "/webhooks/{webhook_id}/rotate-secret", false),
    ("GET", "/webhooks/{webhook_id}/redeliver", false),
    ("POST", "/webhooks/{webhook_id}/redeliver", false),
    ("POST", "/webhooks/{webhook_id}/verify", false),
    ("GET", "/webhook-outcomes", false),
    ("GET", "/deliveries", false),
    ("GET", "/deliveries/{delivery_id}", false),
    ("GET", "/deliveries/{delivery_id}/sent", false),
    ("POST", "/deliveries/{delivery_id}/redeliver", false),
];

/// Calls about the whole service.
const OF_OPERATOR: &[(&str, &str)] = &[
    ("GET", "/accounts"),
    ("POST", "/accounts"),
    ("GET", "/jobs"),
    ("GET", "/jobs/{job_id}/account"),
    ("GET", "/batches/{batch_id}/account"),
    ("GET", "/keys/{key_id}/account"),
    ("GET", "/stats"),
    ("GET", "/nodes"),
    ("POST", "/backends/{name}/test"),
    ("GET", "/operator-webhook"),
    ("POST", "/operator-webhook/test"),
    ("GET", "/settings"),
    ("GET", "/queue"),
    ("DELETE", "/queue"),
    ("GET", "/usage"),
    ("GET", "/usage.csv"),
    ("GET", "/audit"),
    ("GET", "/events"),
    ("GET", "/pause"),
    ("PUT", "/pause"),
    ("PATCH", "/pause"),
];

/// Calls without a session or about the caller's own session; the session tests cover them.
const OF_VISITORS: &[(&str, &str)] = &[
    ("GET", "/sign-in"),
    ("GET", "/session"),
    ("POST", "/session"),
    ("DELETE", "/session"),
    ("POST", "/session/operator"),
    ("POST", "/session/password"),
    ("DELETE", "/sessions"),
    ("POST", "/invitation"),
    ("POST", "/invitation/accept"),
];

/// An account that has one of everything.
pub struct FullAccount {
    pub server: Server,
    pub customer: Customer,
    ids: Vec<(&'static str, String)>,
}

impl FullAccount {
    pub fn new() -> Self {
        let server = Server::with(Options::new().allow_loopback());
        let customer = server.customer("10");
        let account = customer.account.clone();
        let (person, _) = server.invite(&account, "invited@a.example", "owner");
        let path = format!("/accounts/{account}/webhooks");
        // Nothing listens there.
        let url = json!({"url": "http://127.0.0.1:9/"});
        let webhook = server.admin("POST", &path).json(&url).expect(201).json();
        let job = server.create(&customer);
        server.job_once(&customer, &job, "done");
        let path = format!("/deliveries?account_id={account}");
        let delivery = || server.admin("GET", &path).expect(200).json()["data"][0].clone();
        until("there is a delivery", || delivery() != Value::Null);
        let text = |value: &Value, name: &str| value[name].as_str().unwrap().to_owned();
        let delivery = delivery();
        let batch = server.native(&customer, "POST", "/batches");
        let batch = batch.json(&batch_of(&[entry()])).expect(202).json();
        let path = format!("/batches/{}", text(&batch, "batch_id"));
        let status = || server.native(&customer, "GET", &path).expect(200).json()["status"].clone();
        until("the batch has ended", || status() == "ended");
        let ids = vec![
            ("{batch_id}", text(&batch, "batch_id")),
            ("{tier}", "pro".into()),
            ("{job_id}", job),
            ("{key_id}", customer.key_id.clone()),
            ("{person_id}", text(&person, "person_id")),
            ("{webhook_id}", text(&webhook, "webhook_id")),
            ("{delivery_id}", text(&delivery, "delivery_id")),
        ];
        Self {
            server,
            customer,
            ids,
        }
    }

    /// A path below an account, with the ids of the full account.
    pub fn path(&self, account: &str, template: &str) -> String {
        self.service_path(&format!("/accounts/{account}{template}"))
    }

    /// A path of the service, with the ids of the full account.
    pub fn service_path(&self, template: &str) -> String {
        let with = |path: String, (part, id): &(&str, String)| path.replace(part, id);
        self.ids.iter().fold(template.to_owned(), with)
    }

    fn ask(&self, browser: &Browser, method: &str, path: &str) -> Answer {
        let request = browser.call(&self.server, method, path);
        match method {
            "GET" => request.send(),
            _ => {
                // No faster than the rate of a person's changes.
                self.server.clock.advance(Duration::from_millis(100));
                request.json(&json!({})).send()
            }
        }
    }

    /// All records, to assert that nothing has changed.
    fn state(&self) -> Vec<Value> {
        let account = &self.customer.account;
        let lists = ["/keys", "/webhooks", "/transactions", ""];
        let path = |list| format!("/accounts/{account}{list}");
        let read = |list| self.server.admin("GET", &path(list)).expect(200).json();
        let people = self.path(account, "/people");
        let people = self.ask(&self.server.operators_browser(), "GET", &people);
        lists.map(read).into_iter().chain([people.json()]).collect()
    }
}

/// A route missing from the tables would go untested.
#[test]
fn every_route_of_the_panel_is_in_a_table_of_these_tests() {
    let source = include_str!("../../src/panel/routes.rs");
    let flat: String = source.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut walked = 0;
    for piece in flat.split("at(\"").skip(1) {
        let (path, rest) = piece.split_once('"').unwrap();
        let own = rest.split("at(\"").next().unwrap();
        for method in ["get", "post", "put", "patch", "delete"] {
            if !own.contains(&format!(".{method}(")) {
                continue;
            }
            let upper = method.to_uppercase();
            let known = OF_ACCOUNT.iter().any(|it| (it.0, it.1) == (&upper, path))
                || OF_OPERATOR.contains(&(&upper, path))
                || OF_VISITORS.contains(&(&upper, path));
            assert!(known, "{upper} {path}");
            walked += 1;
        }
    }
    let listed = OF_ACCOUNT.len() + OF_OPERATOR.len() + OF_VISITORS.len();
    assert_eq!(walked, listed);
}

#[test]
fn people_reach_nothing_of_another_account() {
    let full = FullAccount::new();
    let other = full.server.customer("10");
    let stranger = full.server.person(&other.account, "b@b.example", "owner");
    let before = full.state();
    for (method, template, operators) in OF_ACCOUNT {
        let wanted = if *operators { 403 } else { 404 };
        let path = full.path(&full.customer.account, template);
        let answer = full.ask(&stranger, method, &path);
        assert_eq!(answer.status, wanted, "{method} {path}: {}", answer.text());
        // Below the stranger's own account, with the ids of the full account.
        if template.contains("_id}") {
            let path = full.path(&other.account, template);
            let answer = full.ask(&stranger, method, &path);
            assert_eq!(answer.status, wanted, "{method} {path}: {}", answer.text());
        }
    }
    for (method, path) in OF_OPERATOR {
        let answer = full.ask(&stranger, method, &full.service_path(path));
        answer.assert_problem(403, "forbidden");
    }
    let path = full.path(&other.account, "/deliveries");
    let found = full.ask(&stranger, "GET", &path).json();
    assert_eq!(found["data"], json!([]));
    let sneaking = format!("{path}?account_id={}", full.customer.account);
    assert_eq!(full.ask(&stranger, "GET", &sneaking).status, 422);
    assert_eq!(full.state(), before);
}

#[test]
fn every_call_without_a_session_is_rejected() {
    let full = FullAccount::new();
    let before = full.state();
    let account = &full.customer.account;
    let paths = OF_ACCOUNT.iter().map(|it| (it.0, full.path(account, it.1)));
    let others = OF_OPERATOR.iter().map(|it| (it.0, it.1.to_owned()));
    for (method, path) in paths.chain(others) {
        let request = full.server.panel(method, &path).json(&json!({}));
        request.refused(401, "unauthorized");
        // Neither an API key nor the operator token is a session.
        let key = full.server.panel(method, &path).bearer(&full.customer.key);
        key.json(&json!({})).refused(401, "unauthorized");
    }
    assert_eq!(full.state(), before);
}

#[test]
fn a_viewer_can_read_like_an_owner_and_cannot_change_anything() {
    let full = FullAccount::new();
    let account = &full.customer.account;
    let viewer = full.server.person(account, "viewer@a.example", "viewer");
    let owner = full.server.person(account, "owner@a.example", "owner");
    let before = full.state();
    for (method, template, _) in OF_ACCOUNT {
        let path = full.path(account, template);
        if *method != "GET" {
            full.ask(&viewer, method, &path)
                .assert_problem(403, "forbidden");
        } else if *template != "/events" {
            let answer = full.ask(&viewer, method, &path);
            // A job that has ended has no preview.
            let wanted = if template.ends_with("/preview") {
                204
            } else {
                200
            };
            assert_eq!(answer.status, wanted, "{path}: {}", answer.text());
            assert!(!answer.text().contains("whsec_"), "{path}");
            assert_eq!(full.ask(&owner, method, &path).status, wanted, "{path}");
        }
    }
    assert_eq!(full.state(), before);
}

#[test]
fn a_cross_site_change_is_rejected() {
    let full = FullAccount::new();
    let before = full.state();
    let operator = full.server.operators_browser();
    let cookie = operator.call(&full.server, "GET", "/x");
    let cookie = String::from_utf8(cookie.wire()).unwrap();
    let cookie = cookie.split("Cookie: ").nth(1).unwrap();
    let cookie = cookie.split("\r\n").next().unwrap();
    let forged: &[&[(&str, &str)]] = &[
        &[],
        &[("Sec-Fetch-Site", "same-origin")],
        &[("X-Tintype-Panel", "1"), ("Sec-Fetch-Site", "cross-site")],
        &[("X-Tintype-Panel", "1"), ("Sec-Fetch-Site", "same-site")],
        &[("X-Tintype-Panel", "1"), ("Origin", "http://evil.example")],
        &[("X-Tintype-Panel", "1"), ("Origin", "null")],
    ];
    let account = &full.customer.account;
    let of_account = OF_ACCOUNT.iter();
    let of_account = of_account.map(|it| (it.0, full.path(account, it.1)));
    let others = OF_OPERATOR.iter().chain(OF_VISITORS);
    let others = others.map(|it| (it.0, it.1.to_owned()));
    let changes = of_account.chain(others).filter(|it| it.0 != "GET");
    for (method, path) in changes {
        let path = format!("/panel/api{path}");
        for headers in forged {
            let mut request = full.server.call(method, &path).header("Cookie", cookie);
            for (name, value) in *headers {
                request = request.header(name, value);
            }
            request.json(&json!({})).refused(403, "forbidden");
        }
    }
    assert_eq!(full.state(), before);
}

#[test]
fn a_playground_generation_is_checked_like_a_native_call() {
    let server = Server::start();
    let customer = server.customer("0.20");
    let owner = server.person(&customer.account, "owner@a.example", "owner");
    let path = format!("/accounts/{}/generations/pro", customer.account);
    let form = |body: &Value| {
        let text = format!(
            "--b\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n{body}\r\n--b--\r\n"
        );
        owner
            .call(&server, "POST", &path)
            .bytes("multipart/form-data; boundary=b", text.as_bytes())
    };
    form(&json!({"prompt": "x"})).invalid(&["aspect_ratio"]);
    let job = form(&fox()).expect(202).job_id();
    server.job_once(&customer, &job, "done");
    server.assert_money(&customer, "0.066", "0.00", "0.066");
    form(&fox()).refused(402, "insufficient_balance");
    let lines = server.admin("GET", "/audit?action=job.create").expect(200);
    let lines = lines.json()["data"].as_array().unwrap().clone();
    assert_eq!(lines.len(), 1);
    assert_eq!(
        (&lines[0]["subject_id"], &lines[0]["actor"]),
        (&json!(job), &json!("person"))
    );
    assert_eq!(lines[0]["after"]["price"], "0.134");
    let by = lines[0]["person_id"].as_str().unwrap();
    let theirs = format!("/audit?action=job&person_id={by}");
    let found = server.admin("GET", &theirs).expect(200).json();
    assert_eq!(found["data"].as_array().unwrap().len(), 1);
    let others = format!("/audit?person_id={}", customer.account);
    let found = server.admin("GET", &others).expect(200).json();
    assert_eq!(found["data"], json!([]));
    let keys = format!("/accounts/{}/keys", customer.account);
    let keys = owner.call(&server, "GET", &keys).expect(200).json();
    let named: Vec<_> = keys["data"].as_array().unwrap().iter().collect();
    let panel = named.iter().find(|key| key["name"] == "panel").unwrap();
    assert_eq!(panel["spent"], "0.134");
    assert!(panel.get("api_key").is_none());
    assert_eq!(panel["system"], true);
    assert!(named.iter().filter(|key| key["system"] == true).count() == 1);
    // A disabled key stays disabled.
    let path = format!("/keys/{}", panel["key_id"].as_str().unwrap());
    let refused = server.admin("DELETE", &path).refused(409, "conflict");
    assert!(refused.text().contains("deactivate it"));
    let rotate = format!("{path}/rotate");
    let refused = server.admin("POST", &rotate).refused(409, "conflict");
    assert!(refused.text().contains("its value is never shown"));
    let restrict = |restriction: Value| {
        let call = server.admin("PATCH", &path).json(&restriction);
        call.expect(200);
    };
    let deposit = format!("/accounts/{}/deposits", customer.account);
    let deposit = server.admin("POST", &deposit);
    deposit.json(&json!({"amount": "10.00"})).expect(201);
    restrict(json!({"allowed_ips": ["203.0.113.0/24"]}));
    let refused = form(&fox()).refused(403, "forbidden");
    assert!(refused.text().contains("may not be used from 127.0.0.1"));
    restrict(json!({"allowed_ips": ["127.0.0.0/8"], "rate_limit": {"per_second": 1, "burst": 1}}));
    form(&fox()).expect(202);
    form(&fox()).refused(429, "rate_limited");
    restrict(json!({"allowed_ips": null, "rate_limit": null, "active": false}));
    form(&fox()).refused(403, "forbidden");
}

#[test]
fn an_image_is_charged_once_if_its_form_is_sent_repeatedly() {
    let server = Server::start();
    let customer = server.customer("9.00");
    // A customer's key that happens to have that name stays unchanged.
    let other = server.another_key(&customer.account, json!({"name": "panel"}));
    let owner = server.person(&customer.account, "owner@a.example", "owner");
    let path = format!("/accounts/{}/generations/pro", customer.account);
    let form = |image: &[u8]| {
        let request = json!({"prompt": "the same in autumn", "aspect_ratio": "auto"});
        let mut form = format!(
            "--b\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n{request}\r\n--b\r\n\
             Content-Disposition: form-data; name=\"image\"; filename=\"a.png\"\r\n\r\n"
        )
        .into_bytes();
        form.extend_from_slice(image);
        form.extend_from_slice(b"\r\n--b--\r\n");
        owner
            .call(&server, "POST", &path)
            .idempotent("one-press")
            .bytes("multipart/form-data; boundary=b", &form)
    };
    let (wide, high) = (png(320, 200), png(200, 320));
    let first = form(&wide).expect(202);
    let again = form(&wide).expect(202);
    assert_eq!(again.job_id(), first.job_id());
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    form(&high).refused(422, "idempotency_key_reused");
    server.job_once(&customer, &first.job_id(), "done");
    let lines = server.admin("GET", "/audit?action=job.create").expect(200);
    assert_eq!(lines.json()["data"].as_array().unwrap().len(), 1);
    let key = format!("/keys/{}", other.key_id);
    let key = server.admin("GET", &key).expect(200).json();
    assert_eq!(key["spent"], "0.00");
}

#[test]
fn uploaded_images_become_inputs_and_are_removed_if_rejected() {
    let server = Server::start();
    let customer = server.customer("1");
    let owner = server.person(&customer.account, "owner@a.example", "owner");
    let send = |request: &Value, image: &[u8]| {
        let mut form = format!(
            "--b\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n{request}\r\n--b\r\n\
             Content-Disposition: form-data; name=\"image\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\n"
        )
        .into_bytes();
        form.extend_from_slice(image);
        form.extend_from_slice(b"\r\n--b--\r\n");
        let path = format!("/accounts/{}/generations/pro", customer.account);
        let call = owner.call(&server, "POST", &path);
        call.bytes("multipart/form-data; boundary=b", &form)
    };
    let wide = png(320, 200);
    let auto = json!({"prompt": "the same in autumn", "aspect_ratio": "auto"});
    send(&auto, b"no image at all, however long it is").invalid(&["image[0]"]);
    send(&json!({"prompt": "x", "aspect_ratio": "7:3"}), &wide).invalid(&["aspect_ratio"]);
    until("what was refused is gone", || {
        server.objects_left().is_empty()
    });
    let job = send(&auto, &wide).expect(202).job_id();
    server.job_once(&customer, &job, "done");
    let path = format!("/accounts/{}/jobs/{job}", customer.account);
    let shown = owner.call(&server, "GET", &path).expect(200).json();
    assert_eq!(shown["mode"], "image-to-image");
    assert_eq!(shown["ratio"], "3:2");
    assert_eq!(shown["inputs"][0]["width"], 320);
    let view = owner.call(&server, "GET", &format!("{path}/picture?width=256"));
    let first = view.expect(200);
    assert_eq!(first.header("content-type"), Some("image/jpeg"));
    assert!(image::load_from_memory(&first.body).is_ok());
    let of_result = server.result_key(&job).replace("results/", "thumbnails/");
    let kept = of_result.replace(".png", "-256.jpg");
    assert!(server.objects_left().contains(&kept));
    assert_eq!(view.expect(200).body, first.body);
    let view = owner.call(&server, "GET", &format!("{path}/picture?width=257"));
    view.expect(422);
}
