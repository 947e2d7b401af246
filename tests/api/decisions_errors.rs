//! Decisions 1, "Error body" and "Codes".

use crate::support::options::Options;
use crate::support::{ENDPOINTS, OneNode, Server, fox, fox_with};
use serde_json::json;
use tintype_storage::engine::commit_and_wait;
use tintype_storage::store::tables::ENDED_JOBS;

/// Every path of the two interfaces with its methods. `J`, `A` and `K` are placeholders for ids.
const ROUTES: [(&str, &str); 14] = [
    ("/api/v1/text-generations", "POST"),
    ("/api/v1/jobs/J", "DELETE, GET, HEAD"),
    ("/api/v1/balance", "GET, HEAD"),
    ("/admin/v1/accounts", "GET, POST"),
    ("/admin/v1/accounts/A", "GET, PATCH"),
    ("/admin/v1/accounts/A/deposits", "POST"),
    ("/admin/v1/accounts/A/transactions", "GET"),
    ("/admin/v1/accounts/A/keys", "GET, POST"),
    ("/admin/v1/keys/K", "DELETE, GET, PATCH"),
    ("/admin/v1/keys/K/rotate", "POST"),
    ("/admin/v1/accounts/A/people", "GET, POST"),
    ("/admin/v1/pause", "GET, PATCH, PUT"),
    ("/admin/v1/audit", "GET"),
    ("/healthz", "GET, HEAD"),
];

#[test]
fn a_record_of_a_newer_version_is_not_called_damaged() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    server.job_once(&customer, &job, "done");
    let store = &server.inside().store;
    let key = (customer.account.parse().unwrap(), job.parse().unwrap());
    let key = ENDED_JOBS.key(&key);
    let mut record = store.engine().get(&key).wait().unwrap().unwrap();
    record[0] += 100;
    commit_and_wait(&**store.engine(), vec![(key, Some(record))]).unwrap();
    let path = format!("/api/v1/jobs/{job}");
    let answer = server.get(&path).bearer(&customer.key);
    let problem = answer.refused(500, "internal").json();
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.starts_with("a newer version"), "{detail}");
}

#[test]
fn every_error_code_has_the_same_format() {
    let server = Server::with(Options::new().set("jobs.max_live_per_account", 2));
    let customer = server.customer("1.00");
    let poor = server.customer("0.01");
    let capped = server.customer_with("1.00", json!({"spend_limit": "0.01"}));
    let scoped = server.customer_with("1.00", json!({"models": ["fast"]}));
    let path = "/text-generations";
    let job = server.create(&customer);
    let done = server.job_once(&customer, &job, "done");
    let url = done["result"]["image_url"].as_str().unwrap().to_owned();
    let file = url.split_once(&server.address.to_string()).unwrap().1;

    server.get("/api/v1/balance").refused(401, "unauthorized");
    server
        .generation(&poor, path, &fox())
        .refused(402, "insufficient_balance");
    server
        .generation(&capped, path, &fox())
        .refused(402, "key_limit_reached");
    server
        .generation(&scoped, path, &fox())
        .refused(403, "model_not_allowed");
    server
        .get(&format!("{file}0"))
        .refused(403, "invalid_signature");
    server
        .native(&customer, "GET", "/jobs/none")
        .refused(404, "not_found");
    server
        .native(&customer, "GET", path)
        .refused(405, "method_not_allowed");
    server
        .native(&customer, "DELETE", &format!("/jobs/{job}"))
        .refused(409, "conflict");
    server
        .native(&customer, "POST", path)
        .text(&" ".repeat(1_048_577))
        .refused(413, "payload_too_large");
    server
        .native(&customer, "POST", path)
        .bytes("text/plain", b"{}")
        .refused(415, "unsupported_media_type");
    server
        .get(file)
        .header("Range", "bytes=1000000-")
        .refused(416, "range_not_satisfiable");
    server
        .native(&customer, "POST", path)
        .text("{")
        .refused(422, "validation_failed");
    server
        .generation(&customer, path, &fox())
        .idempotent("k")
        .expect(202);
    server
        .generation(&customer, path, &fox_with(json!({"prompt": "b"})))
        .idempotent("k")
        .refused(422, "idempotency_key_reused");
    server.assert_settled();
    server.generator.hold();
    server.create(&customer);
    server.create(&customer);
    server
        .generation(&customer, path, &fox())
        .refused(429, "rate_limited");
    server.pause(&["project"]);
    server
        .generation(&customer, path, &fox())
        .refused(503, "paused");
    server.generator.release_all();
    server.pause(&[]);
    server.assert_settled();
    let key = server.objects().join(server.result_key(&job));
    std::fs::remove_file(key).unwrap();
    server.get(file).refused(410, "gone");
    server.clock.advance(std::time::Duration::from_secs(90_000));
    server.get(file).refused(403, "url_expired");
}

#[test]
fn overloaded_is_503() {
    let server = Server::with(
        Options::new()
            .one_node(OneNode::LiveJobsInAll)
            .set("jobs.max_live", 1),
    );
    server.generator.hold();
    let (one, other) = (server.customer("1.00"), server.customer("1.00"));
    let job = server.create(&one);
    server
        .generation(&other, "/text-generations", &fox())
        .refused(503, "overloaded");
    server.generator.release_all();
    server.job_once(&one, &job, "done");
    server.wait_for_room();
    server.create(&other);
    server.assert_settled();
}

#[test]
fn a_slow_body_is_408() {
    let server = Server::with(Options::new().set("server.body_timeout_seconds", 1));
    let customer = server.customer("1.00");
    let mut wire = crate::support::raw::Wire::open(server.address);
    let head = format!(
        "POST /api/v1/text-generations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{\"prompt\"",
        customer.key
    );
    wire.send(head.as_bytes());
    let answer = wire.answer_to("POST").unwrap();
    answer.assert_problem(408, "request_timeout");
    server.assert_well();
}

#[test]
fn an_unknown_path_is_404() {
    let server = Server::start();
    for path in [
        "/nothing",
        "/api",
        "/api/v10/balance",
        "/admin",
        "/files",
        "/favicon.ico",
    ] {
        server.get(path).refused(404, "not_found");
        server.post(path).json(&fox()).refused(404, "not_found");
    }
}

#[test]
fn the_root_path_redirects_to_the_panel() {
    let server = Server::start();
    for method in ["GET", "HEAD"] {
        let answer = server.call(method, "/").expect(303);
        assert_eq!(answer.header("location"), Some("/panel"));
    }
    server.get("/panel").expect(200);
    for page in ["/panel", "/docs"] {
        let answer = server.get(&format!("{page}/")).expect(307);
        assert_eq!(
            answer.header("location"),
            Some(format!("..{page}").as_str())
        );
    }
    // A proxy removes the prefix from paths.
    let url = "https://pictures.example/a/b/";
    let server = Server::with(Options::new().set("server.public_url", url));
    let answer = server.get("/").expect(303);
    assert_eq!(answer.header("location"), Some("/a/b/panel"));
}

#[test]
fn an_unknown_path_of_an_interface_is_401_without_and_404_with_credentials() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for path in [
        "/nothing",
        "/jobs/",
        "/",
        "",
        "/jobs/a/b",
        "/text-generations/",
        "/nb3/text-generations",
    ] {
        for method in ["GET", "POST", "DELETE", "PUT"] {
            server
                .call(method, &format!("/api/v1{path}"))
                .refused(401, "unauthorized");
            server
                .native(&customer, method, path)
                .refused(404, "not_found");
        }
    }
    for path in ["/nothing", "", "/accounts/", "/keys", "/stuff/1"] {
        for method in ["GET", "POST", "PATCH"] {
            server
                .call(method, &format!("/admin/v1{path}"))
                .refused(401, "unauthorized");
            server.admin(method, path).refused(404, "not_found");
        }
    }
}

#[test]
fn a_wrong_method_is_401_without_and_405_with_credentials() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    server.job_once(&customer, &job, "done");
    let mut routes = ROUTES.to_vec();
    routes.extend([
        ("/readyz", "GET, HEAD"),
        ("/files/results/x.png", "GET, HEAD"),
        ("/", "GET, HEAD"),
        ("/panel", "GET, HEAD"),
        ("/panel/assets/app.js", "GET, HEAD"),
        ("/docs", "GET, HEAD"),
    ]);
    for (path, allow) in routes {
        let path = path
            .replace("/J", &format!("/{job}"))
            .replace("/A", &format!("/{}", customer.account))
            .replace("/K", &format!("/{}", customer.key_id));
        for method in [
            "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY",
        ] {
            if allow.split(", ").any(|it| it == method) {
                continue;
            }
            let bare = server.call(method, &path);
            let call = match path.split('/').nth(1) {
                Some("api") => server.call(method, &path).bearer(&customer.key),
                Some("admin") => server
                    .call(method, &path)
                    .bearer(crate::support::options::ADMIN_TOKEN),
                _ => bare.clone(),
            };
            if path.contains("/v1/") {
                bare.refused(401, "unauthorized");
            }
            let answer = call.refused(405, "method_not_allowed");
            assert_eq!(answer.header("allow"), Some(allow), "{method} {path}");
        }
    }
}

#[test]
fn head_is_get_without_the_body() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    server.job_once(&customer, &job, "done");
    for path in ["/balance".to_owned(), format!("/jobs/{job}")] {
        let got = server.native(&customer, "GET", &path).expect(200);
        let head = server.native(&customer, "HEAD", &path).expect(200);
        assert_eq!(head.header("content-length"), got.header("content-length"));
        assert_eq!(head.header("content-type"), got.header("content-type"));
        assert!(head.body.is_empty());
    }
    for path in ["/panel", "/panel/assets/app.js"] {
        let got = server.get(path).expect(200);
        let head = server.call("HEAD", path).expect(200);
        assert_eq!(head.header("content-length"), got.header("content-length"));
        assert!(head.body.is_empty());
    }
    let refused = server.call("HEAD", "/api/v1/balance").expect(401);
    assert_eq!(
        refused.header("content-type"),
        Some("application/problem+json")
    );
    for (path, ..) in ENDPOINTS {
        let answer = server.native(&customer, "HEAD", path).expect(405);
        assert_eq!(answer.header("allow"), Some("POST"));
    }
}
