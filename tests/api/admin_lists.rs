//! Decisions 6: lists with `limit` and `cursor`.

use crate::support::http::{Request, Session};
use crate::support::{Server, clock, fox, until};
use serde_json::{Value, json};

/// Reads a list in pages of `limit`; returns all entries and the number of pages.
fn walk(server: &Server, path: &str, limit: usize) -> (Vec<Value>, usize) {
    let (mut all, mut parts) = (Vec::new(), 0);
    let separator = if path.contains('?') { '&' } else { '?' };
    let path = format!("{path}{separator}");
    let mut target = format!("{path}limit={limit}");
    loop {
        let part = server.admin("GET", &target).expect(200).json();
        let data = part["data"].as_array().unwrap();
        assert!(data.len() <= limit);
        all.extend(data.iter().cloned());
        parts += 1;
        match &part["next_cursor"] {
            Value::String(next) => target = format!("{path}cursor={next}&limit={limit}"),
            Value::Null => return (all, parts),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_list_is_read_in_parts_without_gaps_or_repeats() {
    let server = Server::start();
    let mut made = Vec::new();
    for at in 0..7 {
        let body = json!({"name": format!("account {at}")});
        made.push(
            server
                .admin("POST", "/accounts")
                .json(&body)
                .expect(201)
                .json(),
        );
    }
    for (limit, parts) in [(1, 7), (2, 4), (3, 3), (6, 2), (7, 1), (100, 1)] {
        assert_eq!(
            walk(&server, "/accounts", limit),
            (made.clone(), parts),
            "limit {limit}"
        );
    }
    let account = made[0]["account_id"].as_str().unwrap();
    let keys: Vec<_> = (0..5)
        .map(|_| server.another_key(account, json!({})).key_id)
        .collect();
    let (listed, _) = walk(&server, &format!("/accounts/{account}/keys"), 2);
    let listed: Vec<_> = listed
        .iter()
        .map(|key| key["key_id"].as_str().unwrap())
        .collect();
    assert_eq!(listed, keys);
    for at in 1..=5 {
        let body = json!({"amount": format!("{at}")});
        let path = format!("/accounts/{account}/deposits");
        server.admin("POST", &path).json(&body).expect(201);
    }
    let (entries, _) = walk(&server, &format!("/accounts/{account}/transactions"), 2);
    let amounts: Vec<_> = entries
        .iter()
        .map(|it| it["amount"].as_str().unwrap())
        .collect();
    assert_eq!(amounts, ["5.00", "4.00", "3.00", "2.00", "1.00"]);
}

#[test]
fn a_list_has_20_entries_by_default() {
    let server = Server::start();
    for at in 0..21 {
        let body = json!({"name": format!("{at}")});
        server.admin("POST", "/accounts").json(&body).expect(201);
    }
    let list = server.admin("GET", "/accounts").expect(200).json();
    assert_eq!(list["data"].as_array().unwrap().len(), 20);
    assert!(list["next_cursor"].is_string());
}

#[test]
fn a_bad_limit_or_cursor_is_422() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let lists = [
        "/accounts".to_owned(),
        format!("/accounts/{}/keys", customer.account),
        format!("/accounts/{}/transactions", customer.account),
    ];
    for list in lists {
        for limit in [
            "0",
            "101",
            "-1",
            "",
            "x",
            "1.5",
            "1e1",
            "18446744073709551616",
            "%00",
            "%D9%A3",
        ] {
            server
                .admin("GET", &format!("{list}?limit={limit}"))
                .invalid(&["limit"]);
        }
        for cursor in ["", "x", "0", "..", "%ff", &"0".repeat(33)] {
            server
                .admin("GET", &format!("{list}?cursor={cursor}"))
                .invalid(&["cursor"]);
        }
        server
            .admin("GET", &format!("{list}?limit=0&cursor=x&page=2"))
            .invalid(&["limit", "cursor", "page"]);
        // A cursor past the end yields an empty page.
        let end = "f".repeat(32);
        let list = server
            .admin("GET", &format!("{list}?cursor={end}"))
            .expect(200)
            .json();
        assert!(list["data"].as_array().unwrap().len() <= 1);
        assert!(list["next_cursor"].is_null());
    }
}

#[test]
fn health_and_readiness_need_no_token() {
    let server = Server::start();
    for (path, status) in [("/healthz", "ok"), ("/readyz", "ready")] {
        let answer = server.get(path).expect(200);
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(answer.json(), json!({"status": status}));
        server.call("HEAD", path).expect(200);
        server.get(path).bearer("nonsense").expect(200);
    }
    std::fs::remove_dir_all(server.objects()).unwrap();
    // The service looks at its object store at most once a second.
    let readiness = |expected: u16| {
        until("the service has looked again", || {
            server.get("/readyz").send().status == expected
        });
    };
    readiness(503);
    server.get("/healthz").expect(200);
    std::fs::create_dir(server.objects()).unwrap();
    readiness(200);
}

#[test]
fn a_draining_node_still_answers_and_closes_the_connections() {
    let server = Server::start();
    let ada = server.customer("10");
    let answer = |request: Request| {
        let answer = Session::open(server.address).send(&request);
        let connection = answer.header("connection").map(str::to_owned);
        (answer, connection)
    };
    assert_eq!(answer(server.get("/healthz")).1, None);
    server.inside().begin_draining();
    let readiness = server.get("/readyz").refused(503, "overloaded");
    assert!(readiness.json()["detail"].to_string().contains("stopping"));
    let generation = server.native(&ada, "POST", "/nb/text-generations");
    for (request, status) in [
        (server.get("/readyz"), 503),
        (server.get("/healthz"), 200),
        (server.native(&ada, "GET", "/balance"), 200),
        (server.get("/api/v1/balance"), 401),
        (server.get("/no/such/path"), 404),
        (generation.json(&fox()), 202),
    ] {
        let (answer, connection) = answer(request);
        assert_eq!(answer.status, status);
        assert_eq!(connection.as_deref(), Some("close"), "{status}");
    }
}

#[test]
fn the_switches_are_shown_and_set() {
    let server = Server::start();
    let off = json!({"project": false, "tiers": {"fast": false, "quality": false, "pro": false}});
    assert_eq!(server.admin("GET", "/pause").expect(200).json(), off);
    let some = json!({"project": true, "tiers": {"fast": true, "quality": false, "pro": true}});
    assert_eq!(
        server.admin("PUT", "/pause").json(&some).expect(200).json(),
        some
    );
    assert_eq!(server.admin("GET", "/pause").expect(200).json(), some);
    let put = |body: Value| server.admin("PUT", "/pause").json(&body);
    put(json!({"project": 1})).invalid(&["project"]);
    put(json!({"project": true, "tiers": {"turbo": true, "fast": "no"}}))
        .invalid(&["tiers.turbo", "tiers.fast"]);
    put(json!({"tiers": []})).invalid(&["tiers"]);
    put(json!({"paused": true})).invalid(&["paused"]);
    server.admin("PUT", "/pause").text("[]").invalid(&["body"]);
    assert_eq!(server.admin("GET", "/pause").expect(200).json(), some);
    // An omitted member means not paused.
    assert_eq!(put(json!({})).expect(200).json(), off);
}

#[test]
fn the_switches_survive_a_restart() {
    let server = Server::with(crate::support::Options::new().on_disk());
    let customer = server.customer("1.00");
    server.pause(&["fast"]);
    let server = server.restart();
    let shown = server.admin("GET", "/pause").expect(200).json();
    assert_eq!(shown["tiers"]["fast"], true);
    let fast = server.generation(&customer, "/nb/text-generations", &crate::support::fox());
    fast.refused(503, "paused");
    let job = server.create(&customer);
    let job = server.job_once(&customer, &job, "done");
    assert_eq!(job["created_at"], clock::START);
    server.pause(&[]);
    fast_again(&server, &customer);
}

fn fast_again(server: &Server, customer: &crate::support::Customer) {
    let fast = server.generation(customer, "/nb/text-generations", &crate::support::fox());
    let job = fast.expect(202).job_id();
    server.job_once(customer, &job, "done");
}

#[test]
fn accounts_are_found_by_their_exact_name() {
    let server = Server::start();
    for name in ["studio", "Studio", "studio north", "a & b", "studio"] {
        let body = json!({"name": name});
        server.admin("POST", "/accounts").json(&body).expect(201);
    }
    let named = |name: &str| {
        let (found, _) = walk(&server, &format!("/accounts?name={name}"), 1);
        found
            .iter()
            .map(|it| it["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(named("studio"), ["studio", "studio"]);
    assert_eq!(named("a+%26+b"), ["a & b"]);
    for none in ["stud", "STUDIO", ""] {
        assert!(named(none).is_empty(), "{none:?}");
    }
    let twice = server.admin("GET", "/accounts?name=a&name=b");
    twice.invalid(&["name"]);
}

/// The account of the cursor does not match any more, and the list goes on after it.
#[test]
fn a_list_by_name_continues_after_an_account_that_was_renamed() {
    let server = Server::start();
    let create = |_| {
        let created = server
            .admin("POST", "/accounts")
            .json(&json!({"name": "studio"}));
        created.expect(201).json()["account_id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let ids: Vec<String> = (0..3).map(create).collect();
    let list = "/accounts?name=studio&limit=1";
    let first = server.admin("GET", list).expect(200).json();
    assert_eq!(first["data"][0]["account_id"], ids[0].as_str());
    let renamed = server.admin("PATCH", &format!("/accounts/{}", ids[0]));
    renamed.json(&json!({"name": "atelier"})).expect(200);
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = server.admin("GET", &format!("{list}&cursor={cursor}"));
    assert_eq!(
        second.expect(200).json()["data"][0]["account_id"],
        ids[1].as_str()
    );
}
