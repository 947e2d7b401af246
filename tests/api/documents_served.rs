//! Both ways: what the documents say is served, and what is served stands in the documents.
//!
//! That nothing is served undocumented is demanded of every answer of every test, by [`crate::support::contract`]. Here each
//! call is brought to give each answer that its description lists, down to the code of an error.

use crate::support::contract::{Contract, Described, resolved};
use crate::support::http::{Answer, Request};
use crate::support::raw::Wire;
use crate::support::{Customer, Options, Origin, Server, fox_with, merge, origin, pictures};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use uuid::Uuid;

/// What the wall against panics, and only it, can answer anywhere; its own test brings that about.
const WALL: &str = "internal";
/// What only the signer of a bucket can cause.
const SIGNER: [&str; 2] = [
    "GET /api/v1/jobs/{job_id} storage_unavailable",
    "GET /admin/v1/jobs/{job_id} storage_unavailable",
];

/// Answers that were seen or are described: `GET /path status-or-code`.
type Words = BTreeSet<String>;

/// A server, its documents, and what has been answered.
struct Tour<'a> {
    server: &'a Server,
    contract: &'a Contract,
    seen: &'a mut Words,
    /// What stands for the parameters of paths.
    ids: BTreeMap<&'static str, String>,
    customer: Customer,
    images: String,
}

fn described(contract: &Contract) -> Words {
    let mut words = Words::new();
    for call in contract.calls() {
        for (status, response) in call.operation["responses"].as_object().unwrap() {
            let response = resolved(call.document, response);
            let schema = &response["content"]["application/problem+json"]["schema"];
            match schema["properties"]["code"]["enum"].as_array() {
                Some(codes) => words.extend(
                    codes
                        .iter()
                        .map(|code| named(&call, code.as_str().unwrap())),
                ),
                None => {
                    words.insert(named(&call, status));
                }
            }
        }
    }
    words
}

fn named(call: &Described<'_>, word: &str) -> String {
    format!(
        "{} {} {word}",
        call.method.to_ascii_uppercase(),
        call.template
    )
}

/// The code of an error, or the status of anything else.
fn word(answer: &Answer) -> String {
    if answer.status < 400 {
        return answer.status.to_string();
    }
    answer.json()["code"].as_str().unwrap().to_owned()
}

impl Tour<'_> {
    fn note(&mut self, request: &Request, answer: &Answer) {
        let path = request.target().split('?').next().unwrap();
        if let Some(call) = self.contract.call(request.method(), path) {
            self.seen.insert(named(&call, &word(answer)));
        }
    }

    fn send(&mut self, request: Request) -> Answer {
        let answer = request.send();
        self.note(&request, &answer);
        answer
    }

    /// Sends it and demands this code, or status.
    #[track_caller]
    fn gives(&mut self, request: Request, wanted: &str) -> Answer {
        let answer = self.send(request.clone());
        assert_eq!(
            word(&answer),
            wanted,
            "{} {}: {}",
            request.method(),
            request.target(),
            answer.text()
        );
        answer
    }

    fn path(&self, template: &str, stranger: bool) -> String {
        let mut path = template.to_owned();
        for (name, id) in &self.ids {
            let id = if stranger {
                Uuid::new_v4().to_string()
            } else {
                id.clone()
            };
            path = path.replace(&format!("{{{name}}}"), &id);
        }
        path
    }

    /// A request to a call, with its first example as the body, and without credentials.
    fn bare(&self, call: &Described<'_>, stranger: bool) -> Request {
        let request = self.server.call(
            &call.method.to_ascii_uppercase(),
            &self.path(&call.template, stranger),
        );
        match self.example(call) {
            Some(body) => request.json(&body),
            None => request,
        }
    }

    fn example(&self, call: &Described<'_>) -> Option<Value> {
        let examples = &call.operation["requestBody"]["content"]["application/json"]["examples"];
        let mut body = examples.as_object()?.values().next()?["value"].clone();
        if body.get("input_images_urls").is_some() {
            merge(&mut body, json!({"input_images_urls": [self.images]}));
        }
        // Deliveries go nowhere in these tests.
        if body.get("url").is_some() {
            merge(
                &mut body,
                json!({"url": format!("https://example.com/{}", Uuid::new_v4())}),
            );
        }
        Some(body)
    }

    fn with(&self, call: &Described<'_>, request: Request, key: &str) -> Request {
        match door(call) {
            Door::Client => request.bearer(key),
            Door::Operator => request.bearer(crate::support::options::ADMIN_TOKEN),
            Door::Anyone => request,
        }
    }

    fn good(&self, call: &Described<'_>) -> Request {
        self.with(call, self.bare(call, false), &self.customer.key)
    }
}

#[derive(PartialEq)]
enum Door {
    Anyone,
    Client,
    Operator,
}

fn door(call: &Described<'_>) -> Door {
    let schemes = call.operation["security"].as_array().unwrap();
    match schemes.first().and_then(|it| it.as_object()?.keys().next()) {
        None => Door::Anyone,
        Some(name) if name == "apiKey" => Door::Client,
        Some(_) => Door::Operator,
    }
}

fn lists(call: &Described<'_>, word: &str) -> bool {
    let responses = call.operation["responses"].as_object().unwrap();
    responses.values().any(|it| {
        let schema = &resolved(call.document, it)["content"]["application/problem+json"]["schema"];
        let codes = schema["properties"]["code"]["enum"].as_array();
        codes.is_some_and(|codes| codes.contains(&word.into()))
    })
}

/// What credentials, bodies, ids and queries alone decide, of every call.
fn what_comes_first(tour: &mut Tour<'_>) {
    let server = tour.server;
    let elsewhere = server.another_key(
        &tour.customer.account,
        json!({"allowed_ips": ["192.0.2.1"]}),
    );
    let limited = json!({"rate_limit": {"per_second": 1, "burst": 1}});
    let limited = server.another_key(&tour.customer.account, limited);
    server.native(&limited, "GET", "/balance").expect(200);
    let contract = tour.contract;
    for call in contract.calls() {
        let has_body = call.operation.get("requestBody").is_some();
        if door(&call) != Door::Anyone {
            tour.gives(tour.bare(&call, false), "unauthorized");
        }
        if door(&call) == Door::Client {
            tour.gives(
                tour.bare(&call, false).bearer(&elsewhere.key),
                "address_not_allowed",
            );
            tour.gives(tour.bare(&call, false).bearer(&limited.key), "rate_limited");
        }
        let path = tour.path(&call.template, false);
        let bare = |path: &str| server.call(&call.method.to_ascii_uppercase(), path);
        let key = tour.customer.key.clone();
        if has_body {
            let empty = tour.with(&call, bare(&path), &key);
            tour.gives(
                empty.clone().bytes("text/plain", b"{}"),
                "unsupported_media_type",
            );
            tour.gives(empty.clone().text(&" ".repeat(40_000)), "payload_too_large");
            tour.gives(empty.text("[]"), "validation_failed");
        } else if lists(&call, "validation_failed") {
            let query = if call.template.ends_with("/{job_id}") {
                "wait=x"
            } else {
                "limit=0"
            };
            tour.gives(
                tour.with(&call, bare(&format!("{path}?{query}")), &key),
                "validation_failed",
            );
        }
        if call.template.contains('{') && door(&call) != Door::Anyone {
            let strange = tour.bare(&call, true);
            tour.gives(tour.with(&call, strange, &key), "not_found");
        }
    }
    slow_bodies(tour);
}

/// Bodies that are begun and never come, all at once: the server gives each a second.
fn slow_bodies(tour: &mut Tour<'_>) {
    let contract = tour.contract;
    let calls: Vec<_> = contract
        .calls()
        .into_iter()
        .filter(|it| it.operation.get("requestBody").is_some())
        .collect();
    let requests: Vec<Request> = calls
        .iter()
        .map(|call| {
            let bare = tour.server.call(
                &call.method.to_ascii_uppercase(),
                &tour.path(&call.template, false),
            );
            let typed = bare
                .header("Content-Type", "application/json")
                .header("Content-Length", "2");
            tour.with(call, typed, &tour.customer.key)
        })
        .collect();
    let mut wires: Vec<Wire> = requests
        .iter()
        .map(|_| Wire::open(tour.server.address))
        .collect();
    for (wire, request) in wires.iter_mut().zip(&requests) {
        wire.send(&request.wire());
    }
    for (wire, request) in wires.iter_mut().zip(&requests) {
        let answer = wire.answer_to(request.method()).unwrap();
        assert_eq!(word(&answer), "request_timeout", "{}", request.target());
        tour.note(request, &answer);
    }
}

/// The six generation calls: what they decide by the key, the money and the switches.
fn generations(tour: &mut Tour<'_>) {
    let server = tour.server;
    let poor = server.customer("0.01");
    let capped = server.another_key(&tour.customer.account, json!({"spend_limit": "0.01"}));
    let contract = tour.contract;
    let calls = contract.calls();
    let calls: Vec<_> = calls
        .into_iter()
        .filter(|it| it.template.ends_with("-generations"))
        .collect();
    assert_eq!(calls.len(), 6);
    for call in &calls {
        let other = if call.template.contains("/nb/") {
            "pro"
        } else {
            "fast"
        };
        let scoped = server.another_key(&tour.customer.account, json!({"models": [other]}));
        tour.gives(
            tour.bare(call, false).bearer(&scoped.key),
            "model_not_allowed",
        );
        tour.gives(
            tour.bare(call, false).bearer(&poor.key),
            "insufficient_balance",
        );
        tour.gives(
            tour.bare(call, false).bearer(&capped.key),
            "key_limit_reached",
        );
        tour.gives(tour.good(call).idempotent(&call.template), "202");
        tour.gives(tour.good(call).idempotent(&call.template), "202");
        let mut other = tour.example(call).unwrap();
        merge(&mut other, json!({"prompt": "another"}));
        let target = call.template.clone();
        let reused = server.post(&target).json(&other).bearer(&tour.customer.key);
        tour.gives(reused.idempotent(&call.template), "idempotency_key_reused");
        let dry = server
            .post(&format!("{target}?dry_run=true"))
            .json(&tour.example(call).unwrap());
        tour.gives(dry.bearer(&tour.customer.key), "200");
    }
    server.pause(&["project"]);
    for call in &calls {
        tour.gives(tour.good(call), "paused");
    }
    server.pause(&[]);
    server.assert_settled();
    let place = server.objects();
    fs::rename(&place, place.with_extension("aside")).unwrap();
    fs::write(&place, "in the way").unwrap();
    for call in &calls {
        let mut body = tour.example(call).unwrap();
        merge(&mut body, json!({"prompt": "x".repeat(8_000)}));
        let large = server
            .post(&call.template)
            .json(&body)
            .bearer(&tour.customer.key);
        tour.gives(large, "storage_unavailable");
    }
    tour.gives(server.get("/readyz"), "overloaded");
    fs::remove_file(&place).unwrap();
    fs::rename(place.with_extension("aside"), &place).unwrap();
}

/// Jobs and their pictures.
fn jobs(tour: &mut Tour<'_>) {
    let server = tour.server;
    let customer = tour.customer.clone();
    let job = server.create(&customer);
    let done = server.job_once(&customer, &job, "done");
    let of = |path: &str| server.native(&customer, "GET", &format!("/jobs/{job}{path}"));
    tour.gives(of("?wait=1"), "200");
    tour.gives(of("/events"), "200");
    tour.gives(of("/events").header("Last-Event-ID", "3"), "204");
    tour.gives(
        server.native(&customer, "DELETE", &format!("/jobs/{job}")),
        "conflict",
    );
    tour.gives(server.admin("DELETE", &format!("/jobs/{job}")), "conflict");

    server.generator.hold();
    let fill: Vec<String> = (0..64).map(|_| server.create(&customer)).collect();
    let (own, others) = (server.create(&customer), server.create(&customer));
    tour.gives(
        server.native(&customer, "DELETE", &format!("/jobs/{own}")),
        "200",
    );
    tour.gives(server.admin("DELETE", &format!("/jobs/{others}")), "200");
    server.generator.release_all();
    for job in fill {
        server.job_once(&customer, &job, "done");
    }

    let large = fox_with(json!({"prompt": "x".repeat(8_000), "metadata": {"a": "b"}}));
    let stored = server
        .generation(&customer, "/text-generations", &large)
        .expect(202)
        .job_id();
    server.job_once(&customer, &stored, "done");
    let words = server.objects().join("words");
    fs::rename(&words, words.with_extension("aside")).unwrap();
    tour.gives(
        server.native(&customer, "GET", "/jobs?metadata%5Ba%5D=b"),
        "storage_unavailable",
    );
    fs::rename(words.with_extension("aside"), &words).unwrap();

    let url = done["result"]["image_url"].as_str().unwrap().to_owned();
    let file = url
        .split_once(&server.address.to_string())
        .unwrap()
        .1
        .to_owned();
    let tag = tour
        .gives(server.get(&file), "200")
        .header("etag")
        .unwrap()
        .to_owned();
    tour.gives(server.get(&file).header("Range", "bytes=0-3"), "206");
    tour.gives(server.get(&file).header("If-None-Match", &tag), "304");
    tour.gives(
        server.get(&file).header("Range", "bytes=1000000-"),
        "range_not_satisfiable",
    );
    tour.gives(server.get(&format!("{file}0")), "invalid_signature");
    let picture = server.objects().join("results").join(format!("{job}.png"));
    fs::remove_file(&picture).unwrap();
    tour.gives(server.get(&file), "gone");
    fs::create_dir(&picture).unwrap();
    tour.gives(server.get(&file), "storage_unavailable");
    fs::remove_dir(&picture).unwrap();
    server.clock.advance(std::time::Duration::from_secs(90_000));
    tour.gives(server.get(&file), "url_expired");
}

/// The operator's calls that depend on what was done before.
fn operations(tour: &mut Tour<'_>) {
    let server = tour.server;
    let account = tour.customer.account.clone();
    let deposit = |amount: &str| {
        let path = format!("/accounts/{account}/deposits");
        server
            .admin("POST", &path)
            .json(&json!({"amount": amount}))
            .idempotent("once")
    };
    tour.gives(deposit("1.00"), "201");
    tour.gives(deposit("2.00"), "idempotency_key_reused");

    let key = server.another_key(&account, json!({})).key_id;
    for _ in 0..8 {
        tour.gives(server.admin("POST", &format!("/keys/{key}/rotate")), "200");
    }
    tour.gives(
        server.admin("POST", &format!("/keys/{key}/rotate")),
        "conflict",
    );
    tour.gives(server.admin("DELETE", &format!("/keys/{key}")), "204");

    let hooks = format!("/accounts/{account}/webhooks");
    let register = |url: &str| server.admin("POST", &hooks).json(&json!({"url": url}));
    let first = tour.gives(register("https://example.com/a"), "201").json();
    let first = first["webhook_id"].as_str().unwrap().to_owned();
    tour.gives(register("https://example.com/a"), "conflict");
    register("https://example.com/b").expect(201);
    let taken = json!({"url": "https://example.com/b"});
    tour.gives(
        server
            .admin("PATCH", &format!("/webhooks/{first}"))
            .json(&taken),
        "conflict",
    );
    let delivery = tour
        .gives(
            server.admin("POST", &format!("/webhooks/{first}/test")),
            "202",
        )
        .json();
    let delivery = delivery["delivery_id"].as_str().unwrap().to_owned();
    tour.gives(
        server.admin("POST", &format!("/deliveries/{delivery}/redeliver")),
        "202",
    );
    tour.gives(server.admin("DELETE", &format!("/webhooks/{first}")), "204");
    tour.gives(
        server.admin("POST", &format!("/deliveries/{delivery}/redeliver")),
        "conflict",
    );
}

/// Every call once more, as its description shows it.
fn as_shown(tour: &mut Tour<'_>) {
    let contract = tour.contract;
    for call in contract
        .calls()
        .into_iter()
        .filter(|it| it.method != "delete")
    {
        let operation = &call.operation["operationId"];
        // What these need has been made and unmade above.
        if ["fetchPicture", "redeliver"]
            .iter()
            .any(|it| operation == it)
        {
            continue;
        }
        let answer = tour.send(tour.good(&call));
        assert!(answer.status < 300, "{operation}: {}", answer.text());
        if operation.as_str().unwrap().ends_with("Document") {
            let again = tour
                .good(&call)
                .header("If-None-Match", answer.header("etag").unwrap());
            tour.gives(again, "304");
        }
    }
}

/// After the storage has failed everything is answered in one way.
fn what_comes_last(tour: &mut Tour<'_>) {
    tour.server.inside().fail_stop.trip("a test");
    let contract = tour.contract;
    for call in contract.calls() {
        tour.gives(tour.good(&call), "overloaded");
    }
}

fn tour(options: Options, images: &str, seen: &mut Words, steps: &[fn(&mut Tour<'_>)]) -> Words {
    let server = Server::with(options);
    let contract = Contract::of(server.address).unwrap();
    let customer = server.customer("100.00");
    let job = server.create(&customer);
    server.job_once(&customer, &job, "done");
    let hook = json!({"url": "https://example.com/hook"});
    let path = format!("/accounts/{}/webhooks", customer.account);
    let hook = server.admin("POST", &path).json(&hook).expect(201).json();
    let hook = hook["webhook_id"].as_str().unwrap().to_owned();
    let delivery = server
        .admin("POST", &format!("/webhooks/{hook}/test"))
        .expect(202)
        .json();
    let ids = BTreeMap::from([
        ("account_id", customer.account.clone()),
        ("key_id", customer.key_id.clone()),
        ("job_id", job),
        ("webhook_id", hook),
        (
            "delivery_id",
            delivery["delivery_id"].as_str().unwrap().to_owned(),
        ),
        ("file", "none.png".to_owned()),
    ]);
    let mut tour = Tour {
        server: &server,
        contract: &contract,
        seen,
        ids,
        customer,
        images: images.to_owned(),
    };
    for step in steps {
        step(&mut tour);
    }
    described(&contract)
}

#[test]
fn every_answer_that_is_documented_is_served_and_every_one_that_is_served_is_documented() {
    let origin = Origin::start([("/a.png", origin::bytes(pictures::png(2, 2)))]);
    let images = origin.url("/a.png");
    let options = || Options::new().allow_loopback();
    let mut seen = Words::new();
    let strict = options()
        .set("server.max_body_bytes", 32_768)
        .set("server.body_timeout_seconds", 1);
    tour(strict, &images, &mut seen, &[what_comes_first]);
    let steps: &[fn(&mut Tour<'_>)] = &[generations, jobs, operations];
    tour(options(), &images, &mut seen, steps);
    let all = tour(options(), &images, &mut seen, &[as_shown, what_comes_last]);

    let excepted = |it: &&String| !it.ends_with(WALL) && !SIGNER.contains(&it.as_str());
    let never: Vec<_> = all.difference(&seen).filter(excepted).collect();
    assert!(never.is_empty(), "documented, and never served: {never:#?}");
    let unknown: Vec<_> = seen.difference(&all).collect();
    assert!(
        unknown.is_empty(),
        "served, and not documented: {unknown:#?}"
    );
}

#[test]
fn a_method_or_a_path_that_no_document_has_is_405_or_404() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let contract = Contract::of(server.address).unwrap();
    let mut methods: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for call in contract.calls() {
        let here = methods.entry(call.template.clone()).or_default();
        here.insert(call.method.to_ascii_uppercase());
        if call.method == "get" && !call.template.starts_with("/admin/") {
            here.insert("HEAD".into());
        }
    }
    for (template, known) in methods {
        let path: String = template
            .replace("{file}", "a.png")
            .split('/')
            .map(|it| match it.starts_with('{') {
                true => format!("/{}", Uuid::nil()),
                false => format!("/{it}"),
            })
            .collect();
        let path = path.trim_start_matches('/');
        let token = if template.starts_with("/admin/") {
            crate::support::options::ADMIN_TOKEN
        } else {
            &customer.key
        };
        let allow = known.iter().cloned().collect::<Vec<_>>().join(", ");
        for method in [
            "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY",
        ] {
            let call = server.call(method, &format!("/{path}")).bearer(token);
            if known.contains(method) {
                assert_ne!(call.send().status, 405, "{method} {template}");
            } else {
                let answer = call.expect(405);
                assert_eq!(
                    answer.header("allow"),
                    Some(allow.as_str()),
                    "{method} {template}"
                );
            }
        }
    }
    server
        .native(&customer, "GET", "/openapi.yaml")
        .refused(404, "not_found");
    server
        .admin("GET", "/openapi.yaml")
        .refused(404, "not_found");
}
