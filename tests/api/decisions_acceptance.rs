//! Decisions 10: the decision that reserves the money checks key, account, limits and pauses. A call sends its head, the
//! operator changes the terms, then the call sends its body: the server never accepts it on the old terms.

use crate::support::http::Request;
use crate::support::{
    Browser, Customer, OneNode, Options, Server, Wire, fox, sample_images, until,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::tables::SESSIONS;

/// The status and the error code of an answer.
type RefusalCode = (u16, &'static str);

/// An operator's change of a caller's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Deleted,
    Deactivated,
    Expired,
    Replaced,
    Narrowed,
    Elsewhere,
    LimitLowered,
    RateLowered,
    AccountSpendingLowered,
    AccountRateLowered,
    AccountOff,
    ModelPaused,
    ServicePaused,
}

const CHANGES: [Change; 13] = [
    Change::Deleted,
    Change::Deactivated,
    Change::Expired,
    Change::Replaced,
    Change::Narrowed,
    Change::Elsewhere,
    Change::LimitLowered,
    Change::RateLowered,
    Change::AccountSpendingLowered,
    Change::AccountRateLowered,
    Change::AccountOff,
    Change::ModelPaused,
    Change::ServicePaused,
];

impl Change {
    /// Makes the change and waits for its answer.
    fn make(self, server: &Server, account: &str, key: &str) {
        let path = format!("/keys/{key}");
        let patch = |body: Value| server.admin("PATCH", &path).json(&body).expect(200);
        let limit = |limits: Value| {
            let call = server.admin("PATCH", &format!("/accounts/{account}"));
            call.json(&json!({"limits": limits})).expect(200)
        };
        let _answer = match self {
            Self::Deleted => server.admin("DELETE", &path).expect(204),
            Self::Deactivated => patch(json!({"active": false})),
            Self::Expired => patch(json!({"expires_at": "2001-01-01T00:00:00Z"})),
            Self::Replaced => server
                .admin("POST", &format!("{path}/rotate"))
                .json(&json!({"overlap_hours": 0}))
                .expect(200),
            Self::Narrowed => patch(json!({"models": ["fast"]})),
            Self::Elsewhere => patch(json!({"allowed_ips": ["192.0.2.1"]})),
            Self::LimitLowered => patch(json!({"spend_limit": "0.01"})),
            Self::RateLowered => patch(json!({"rate_limit": {"per_second": 1, "burst": 1}})),
            Self::AccountSpendingLowered => limit(json!({"spend_per_day": "0.01"})),
            Self::AccountRateLowered => limit(json!({"rate_limit": {"per_second": 1, "burst": 1}})),
            Self::AccountOff => server
                .admin("PATCH", &format!("/accounts/{account}"))
                .json(&json!({"active": false}))
                .expect(200),
            Self::ModelPaused => return server.pause(&["pro"]),
            Self::ServicePaused => return server.pause(&["project"]),
        };
    }
}

/// Sends the first `at` bytes of a request, calls `meanwhile`, then sends the rest.
fn send_in_two_parts(
    server: &Server,
    request: &Request,
    at: usize,
    meanwhile: impl FnOnce(),
) -> RefusalCode {
    let bytes = request.wire();
    let mut wire = Wire::open(server.address);
    wire.send(&bytes[..at]);
    meanwhile();
    wire.send(&bytes[at..]);
    let answer = wire.answer_to("POST").expect("an answer");
    let word = match answer.json() {
        Value::Object(body) if body.contains_key("code") => body["code"].clone(),
        body => match &body["error"]["status"] {
            Value::Null => body["error"]["type"].clone(),
            status => status.clone(),
        },
    };
    let word = word.as_str().unwrap_or_default().to_owned();
    (answer.status, Box::leak(word.into_boxed_str()))
}

/// Holds back the last byte of an admitted call until the server has answered a change.
fn send_during_change(
    server: &Server,
    change: Option<Change>,
    request: impl FnOnce(&Customer) -> Request,
) -> RefusalCode {
    let customer = server.customer("1.00");
    let request = request(&customer);
    let bytes = request.wire();
    let path = format!("/keys/{}", customer.key_id);
    let refused = send_in_two_parts(server, &request, bytes.len() - 1, || {
        until("the head is admitted", || {
            let key = server.admin("GET", &path).expect(200).json();
            !key["last_used_at"].is_null()
        });
        if let Some(change) = change {
            change.make(server, &customer.account, &customer.key_id);
        }
    });
    server.pause(&[]);
    if change.is_some() {
        assert_nothing_accepted(server, &customer.account, change);
    }
    refused
}

fn assert_nothing_accepted(server: &Server, account: &str, change: Option<Change>) {
    let path = format!("/jobs?account_id={account}");
    let jobs = server.admin("GET", &path).expect(200).json();
    assert_eq!(jobs["data"], json!([]), "{change:?}");
    let path = format!("/accounts/{account}");
    let account = server.admin("GET", &path).expect(200).json();
    assert_eq!(account["reserved"], "0.00", "{change:?}");
}

fn assert_each(
    request: impl Fn(&Server, &Customer) -> Request,
    table: [RefusalCode; CHANGES.len()],
) {
    let server = Server::start();
    let send = |change| send_during_change(&server, change, |customer| request(&server, customer));
    assert!([200, 202].contains(&send(None).0), "unchanged");
    for (change, expected) in CHANGES.into_iter().zip(table) {
        assert_eq!(send(Some(change)), expected, "{change:?}");
    }
}

#[test]
fn a_native_call_is_checked_when_it_is_accepted() {
    assert_each(
        |server, customer| server.generation(customer, "/text-generations", &fox()),
        [
            (401, "unauthorized"),
            (401, "unauthorized"),
            (401, "unauthorized"),
            (401, "unauthorized"),
            (403, "model_not_allowed"),
            (403, "address_not_allowed"),
            (402, "key_limit_reached"),
            (429, "rate_limited"),
            (402, "account_limit_reached"),
            (429, "rate_limited"),
            (401, "unauthorized"),
            (503, "paused"),
            (503, "paused"),
        ],
    );
}

#[test]
fn a_gemini_call_is_checked_when_it_is_accepted() {
    let body = json!({"contents": [{"role": "user", "parts": [{"text": "a fox"}]}]});
    assert_each(
        |server, customer| {
            let target = "/v1beta/models/gemini-3-pro-image:generateContent";
            let call = server.post(target).json(&body);
            call.header("x-goog-api-key", &customer.key)
        },
        [
            (400, "INVALID_ARGUMENT"),
            (400, "INVALID_ARGUMENT"),
            (400, "INVALID_ARGUMENT"),
            (400, "INVALID_ARGUMENT"),
            (403, "PERMISSION_DENIED"),
            (403, "PERMISSION_DENIED"),
            (429, "RESOURCE_EXHAUSTED"),
            (429, "RESOURCE_EXHAUSTED"),
            (429, "RESOURCE_EXHAUSTED"),
            (429, "RESOURCE_EXHAUSTED"),
            (400, "INVALID_ARGUMENT"),
            (503, "UNAVAILABLE"),
            (503, "UNAVAILABLE"),
        ],
    );
}

const OF_OPENAI: [RefusalCode; CHANGES.len()] = [
    (401, "invalid_request_error"),
    (401, "invalid_request_error"),
    (401, "invalid_request_error"),
    (401, "invalid_request_error"),
    (403, "invalid_request_error"),
    (403, "invalid_request_error"),
    (429, "insufficient_quota"),
    (429, "requests"),
    (429, "insufficient_quota"),
    (429, "requests"),
    (401, "invalid_request_error"),
    (503, "server_error"),
    (503, "server_error"),
];

#[test]
fn an_openai_generation_is_checked_when_it_is_accepted() {
    let body = json!({"model": "pro", "prompt": "a fox"});
    assert_each(
        |server, customer| {
            let call = server.post("/v1/images/generations").json(&body);
            call.bearer(&customer.key)
        },
        OF_OPENAI,
    );
}

#[test]
fn an_openai_edit_is_checked_when_it_is_accepted() {
    let part = |name: &str, value: &[u8]| {
        let head = format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
        [head.as_bytes(), value, b"\r\n"].concat()
    };
    let form = [
        part("model", b"pro"),
        part("prompt", b"make it blue"),
        part("image\"; filename=\"a.png", &sample_images::png(8, 8)),
        b"--b--\r\n".to_vec(),
    ]
    .concat();
    assert_each(
        |server, customer| {
            let call = server.post("/v1/images/edits").bearer(&customer.key);
            call.bytes("multipart/form-data; boundary=b", &form)
        },
        OF_OPENAI,
    );
}

/// The multipart form of the playground: an image, then the request.
fn playground_form() -> (Vec<u8>, usize) {
    let mut form =
        b"--b\r\nContent-Disposition: form-data; name=\"image\"; filename=\"a.png\"\r\n\r\n"
            .to_vec();
    form.extend(sample_images::png(8, 8));
    form.extend(b"\r\n--b\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n");
    let first = form.len();
    form.extend(fox().to_string().as_bytes());
    form.extend(b"\r\n--b--\r\n");
    (form, first)
}

fn inputs(server: &Server) -> BTreeSet<PathBuf> {
    let inside = |path: PathBuf| fs::read_dir(path).into_iter().flatten().flatten();
    let folders = inside(server.objects().join("inputs"));
    let objects = folders.flat_map(|it| inside(it.path()));
    objects.map(|it| it.path()).collect()
}

fn playground(
    server: &Server,
    browser: &Browser,
    account: &str,
    meanwhile: impl FnOnce(),
) -> RefusalCode {
    let (form, first) = playground_form();
    let path = format!("/accounts/{account}/generations/pro");
    let call = browser.call(server, "POST", &path);
    let call = call.bytes("multipart/form-data; boundary=b", &form);
    let head = call.wire().len() - form.len();
    let before = inputs(server);
    send_in_two_parts(server, &call, head + first, || {
        until("the form's image is stored", || {
            !inputs(server).is_subset(&before)
        });
        meanwhile();
    })
}

#[test]
fn a_generation_of_the_panel_is_checked_when_it_is_accepted() {
    let server = Server::start();
    let browser = server.operators_browser();
    let table = [
        (Change::Deactivated, (403, "forbidden")),
        (Change::Expired, (403, "forbidden")),
        (Change::Narrowed, (403, "model_not_allowed")),
        (Change::LimitLowered, (402, "key_limit_reached")),
        (
            Change::AccountSpendingLowered,
            (402, "account_limit_reached"),
        ),
        (Change::AccountOff, (403, "forbidden")),
        (Change::ModelPaused, (503, "paused")),
        (Change::ServicePaused, (503, "paused")),
    ];
    for (change, expected) in table {
        let account = server.customer("1.00").account;
        // The first image creates the account's panel key.
        let (status, _) = playground(&server, &browser, &account, || {});
        assert_eq!(status, 202);
        let path = format!("/jobs?account_id={account}");
        let jobs = || server.admin("GET", &path).expect(200).json();
        until("the first image is made", || {
            jobs()["data"][0]["status"] == "done"
        });
        let path = format!("/accounts/{account}/keys");
        let keys = server.admin("GET", &path).expect(200).json();
        let mut keys = keys["data"].as_array().unwrap().iter();
        let key = keys.find(|it| it["name"] == "panel").unwrap()["key_id"].clone();
        let refused = playground(&server, &browser, &account, || {
            change.make(&server, &account, key.as_str().unwrap());
        });
        server.pause(&[]);
        assert_eq!(refused, expected, "{change:?}");
        assert_eq!(jobs()["data"].as_array().unwrap().len(), 1, "{change:?}");
    }
}

/// An operator's change of the access of a person.
#[derive(Clone, Copy, Debug)]
enum AccessChange {
    Removed,
    OnlyViews,
    SignedOut,
}

impl AccessChange {
    /// Changes the access of the person at this position.
    fn make(self, server: &Server, account: &str, position: usize) {
        let path = format!("/accounts/{account}/people");
        let people = server.admin("GET", &path).expect(200).json();
        let person = people["data"][position]["person_id"].as_str().unwrap();
        let path = format!("{path}/{person}");
        let _answer = match self {
            Self::Removed => server.admin("DELETE", &path).expect(204),
            Self::OnlyViews => server
                .admin("PATCH", &path)
                .json(&json!({"role": "viewer"}))
                .expect(200),
            Self::SignedOut => server
                .admin("DELETE", &format!("{path}/sessions"))
                .expect(204),
        };
    }
}

/// When a session was last used, as recorded.
fn last_seen(server: &Server) -> Option<Timestamp> {
    let sessions = SESSIONS.all(&server.inside().store).wait().unwrap();
    sessions.into_iter().map(|(_, it)| it.seen_at).max()
}

/// A person whose call arrives slowly must not keep the access that the operator has withdrawn meanwhile: a key would outlast it.
#[test]
fn a_change_by_a_person_is_checked_when_it_is_made() {
    let server = Server::start();
    let changes = [
        AccessChange::Removed,
        AccessChange::OnlyViews,
        AccessChange::SignedOut,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let account = server.customer("1.00").account;
        let owner = server.person(&account, &format!("{number}@a.example"), "owner");
        let keys = || {
            let path = format!("/accounts/{account}/keys");
            let keys = server.admin("GET", &path).expect(200).json();
            keys["data"].as_array().unwrap().len()
        };
        assert_eq!(keys(), 1);
        let before = last_seen(&server);
        // After so long the call records the use of its session, which shows that its head is authenticated.
        server.clock.advance(Duration::from_secs(3_600));
        let call = owner.call(&server, "POST", &format!("/accounts/{account}/keys"));
        let call = call.json(&json!({"name": "for later"}));
        let refused = send_in_two_parts(&server, &call, call.wire().len() - 1, || {
            until("the head is authenticated", || last_seen(&server) > before);
            change.make(&server, &account, 0);
        });
        assert_eq!(refused, (403, "forbidden"), "{change:?}");
        assert_eq!(keys(), 1, "{change:?}");
    }
}

/// The access is withdrawn while the change waits for earlier ones.
#[test]
fn a_change_by_a_person_is_checked_after_the_changes_before_it() {
    let server = Server::with(Options::new().one_node(OneNode::Alone).allow_loopback());
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    server.job_once(&customer, &job, "done");
    let favourite = format!("/jobs/{job}/favourite");
    let locks = &server.inside().locks;
    let system = actix_web::rt::System::new();
    let none = json!({});
    let webhook = json!({"url": "http://127.0.0.1:9/"});
    let person = json!({"email": "friend@a.example", "role": "owner"});
    let account = &customer.account;
    let changes = [
        (&locks.operator, "POST", "/webhooks", &webhook),
        (&locks.content, "PUT", favourite.as_str(), &none),
        (&locks.content, "DELETE", favourite.as_str(), &none),
        (&locks.people, "POST", "/people", &person),
    ];
    for (number, (lock, method, path, body)) in changes.into_iter().enumerate() {
        let owner = server.person(account, &format!("{number}@a.example"), "owner");
        let take = || system.block_on(lock.lock()).expect("a lock");
        // A call without a body begins at once. Recording the use of a session takes the lock of people.
        let mut turn = (method != "POST").then(take);
        let before = last_seen(&server);
        server.clock.advance(Duration::from_secs(3_600));
        let call = owner.call(&server, method, &format!("/accounts/{account}{path}"));
        let bytes = call.json(body).wire();
        let (last, rest) = bytes.split_last().expect("a call");
        let mut wire = Wire::open(server.address);
        wire.send(rest);
        until("the head is authenticated", || last_seen(&server) > before);
        let turn = turn.take().unwrap_or_else(take);
        wire.send(&[*last]);
        match path {
            "/people" => {
                let change = server.admin("PATCH", &format!("/accounts/{account}"));
                change.json(&json!({"active": false})).expect(200);
            }
            _ => AccessChange::OnlyViews.make(&server, account, number),
        }
        drop(turn);
        let answer = wire.answer_to(method).expect("an answer");
        assert_eq!(answer.status, 403, "{method} {path}");
    }
}

#[test]
fn a_generation_by_a_person_is_checked_when_it_is_accepted() {
    let server = Server::start();
    for (number, change) in [AccessChange::Removed, AccessChange::OnlyViews]
        .into_iter()
        .enumerate()
    {
        let account = server.customer("1.00").account;
        let owner = server.person(&account, &format!("{number}@a.example"), "owner");
        // The first image creates the account's panel key.
        let (status, _) = playground(&server, &owner, &account, || {});
        assert_eq!(status, 202);
        let refused = playground(&server, &owner, &account, || {
            change.make(&server, &account, 0)
        });
        assert_eq!(refused, (403, "forbidden"), "{change:?}");
        let path = format!("/jobs?account_id={account}");
        let jobs = server.admin("GET", &path).expect(200).json();
        assert_eq!(jobs["data"].as_array().unwrap().len(), 1, "{change:?}");
    }
}
