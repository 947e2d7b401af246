//! Every outbound request, 57 to 67: input images, their redirects, `fileUri` and webhooks, each with hundreds of forbidden
//! addresses, as numbers and behind names. The service charges and stores nothing and never connects to a listener on
//! loopback.
//!
//! `tests/api/packets.py` proves that no packet leaves for any of them: it runs these tests under a trace of their system
//! calls.

mod cases;

use crate::support::{Customer, Options, Origin, Server, fox_with, origin, sample_images};
use cases::{faulty_urls, refused_addresses, refused_urls};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::json;
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use tintype_egress::{AddressGate, Resolve};

/// The maximum of input images in one request.
const AT_ONCE: usize = 14;

/// A resolver with fixed addresses.
#[derive(Clone, Default)]
struct Names(Arc<HashMap<String, Vec<IpAddr>>>);

impl Resolve for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let found = self.0.get(host).cloned().unwrap_or_default();
        async move { Ok(found) }.boxed()
    }
}

/// A listener that must not get a connection. It prints its address for the trace. It lives as long as the process, so that no
/// later listener of these tests gets its port: the trace cannot tell the two apart.
fn trap_at(host: &str) -> &'static Origin {
    let trap = Box::leak(Box::new(Origin::trap_at(host)));
    println!("never: {host}:{}", trap.port());
    trap
}

fn trap() -> &'static Origin {
    trap_at("127.0.0.1")
}

fn assert_untouched(server: &Server, customer: &Customer, trap: &Origin) {
    assert_eq!(trap.accepted(), 0);
    assert_eq!(server.generator.runs(), 0);
    server.assert_money(customer, "1.00", "0.00", "1.00");
    assert_eq!(server.objects_left(), [""; 0]);
    server.assert_well();
}

/// Sends the URLs as input images, as many as one call may have.
fn assert_rejected_as_inputs(server: &Server, customer: &Customer, urls: &[String]) {
    for urls in urls.chunks(AT_ONCE) {
        let body = fox_with(json!({"input_images_urls": urls}));
        let answer = server.generate(customer, "/url-generations", &body);
        assert_eq!(answer.status, 422, "{urls:?}: {}", answer.text());
        let named: Vec<String> = (0..urls.len())
            .map(|at| format!("input_images_urls[{at}]"))
            .collect();
        assert_eq!(answer.faulty_fields(), named, "{urls:?}");
    }
}

fn assert_rejected_as_file_uris(server: &Server, customer: &Customer, urls: &[String]) {
    for url in urls {
        let parts = json!([{"text": "make it blue"}, {"fileData": {"fileUri": url}}]);
        let answer = server
            .post("/v1beta/models/fast:generateContent")
            .header("x-goog-api-key", &customer.key)
            .json(&json!({"contents": [{"parts": parts}]}))
            .send();
        assert_eq!(answer.status, 400, "{url}: {}", answer.text());
        let error = answer.json();
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains("fileUri"), "{url}: {message}");
    }
}

fn assert_rejected_as_webhooks(server: &Server, customer: &Customer, urls: &[String]) {
    let path = format!("/accounts/{}/webhooks", customer.account);
    for url in urls {
        let answer = server
            .admin("POST", &path)
            .json(&json!({"url": url}))
            .send();
        assert_eq!(answer.status, 422, "{url}: {}", answer.text());
        assert_eq!(answer.faulty_fields(), ["url"], "{url}");
    }
}

#[test]
fn hostile_57_58_59_63_no_outgoing_request_reaches_a_denied_address() {
    let (server, trap) = (Server::start(), trap());
    let customer = server.customer("1.00");
    let (refused, faulty) = (refused_urls(trap.port()), faulty_urls());
    let count = refused.len() + faulty.len();
    assert!(count >= 450, "only {count} URLs");
    assert_rejected_as_inputs(&server, &customer, &refused);
    // One by one: the service reports faults of the body before it resolves any name in it.
    for url in faulty.chunks(1) {
        assert_rejected_as_inputs(&server, &customer, url);
    }
    for urls in [&refused, &faulty] {
        assert_rejected_as_file_uris(&server, &customer, urls);
        assert_rejected_as_webhooks(&server, &customer, urls);
    }
    assert_untouched(&server, &customer, trap);
}

#[test]
fn hostile_62_no_redirect_leads_to_a_denied_address() {
    // The redirecting listener plays a public server; every other address of loopback stays blocked.
    let trap = trap_at("127.0.0.2");
    let gate = AddressGate::new(vec!["127.0.0.1/32".parse().unwrap()], vec![]);
    let shut = |url: &String| gate.check_host(&url.parse().unwrap()).is_err();
    let targets: Vec<String> = refused_urls(trap.port()).into_iter().filter(shut).collect();
    assert!(targets.len() >= 300, "only {} targets", targets.len());
    let statuses = ["301 A", "302 B", "303 C", "307 D", "308 E"];
    let routes = targets.iter().enumerate().map(|(at, target)| {
        let location = format!("Location: {target}\r\n");
        (format!("/{at}"), origin::status(statuses[at % 5], location))
    });
    let origin = Origin::with(routes);
    let server = Server::with(Options::new().set("egress.allow", vec!["127.0.0.1/32"]));
    let customer = server.customer("1.00");
    let urls: Vec<String> = (0..targets.len())
        .map(|at| origin.url(&format!("/{at}")))
        .collect();
    for (url, target) in urls.iter().zip(&targets) {
        let body = fox_with(json!({"input_images_urls": [url]}));
        let answer = server.generate(&customer, "/url-generations", &body);
        answer.assert_problem(422, "validation_failed");
        assert!(
            answer.text().contains("redirects to a host"),
            "{target}: {}",
            answer.text()
        );
    }
    assert_rejected_as_file_uris(&server, &customer, &urls[..50]);
    assert_eq!(origin.accepted(), urls.len() + 50);
    assert_untouched(&server, &customer, trap);
}

/// A name for each forbidden address, with other addresses before and after it in the DNS answer.
fn named(refused: &[IpAddr], before: &[IpAddr], after: &[IpAddr]) -> Names {
    let answer = |ip: &IpAddr| [before, &[*ip], after].concat();
    let names = refused.iter().enumerate();
    Names(Arc::new(
        names
            .map(|(at, ip)| (format!("n{at}.example"), answer(ip)))
            .collect(),
    ))
}

fn urls_of_names(count: usize, port: u16) -> Vec<String> {
    (0..count)
        .map(|at| format!("http://n{at}.example:{port}/a.png"))
        .collect()
}

#[test]
fn hostile_64_no_outgoing_request_reaches_a_name_of_a_denied_address() {
    let trap = trap();
    let refused = refused_addresses();
    let server = Server::with(Options::new().resolving(named(&refused, &[], &[])));
    let customer = server.customer("1.00");
    let urls = urls_of_names(refused.len(), trap.port());
    // One by one: of several URLs that the service resolves, the error may name only those that failed first.
    for url in &urls {
        assert_rejected_as_inputs(&server, &customer, std::slice::from_ref(url));
    }
    assert_rejected_as_file_uris(&server, &customer, &urls);
    assert_rejected_as_webhooks(&server, &customer, &urls);
    assert_untouched(&server, &customer, trap);
}

#[test]
fn hostile_60_only_the_public_address_of_a_mixed_dns_response_is_used() {
    let trap = trap_at("127.0.0.2");
    let open: IpAddr = [127, 0, 0, 1].into();
    let gate = AddressGate::new(vec!["127.0.0.1/32".parse().unwrap()], vec![]);
    let mut refused = refused_addresses();
    refused.retain(|ip| gate.check(*ip).is_err());
    assert!(refused.len() >= 200, "only {} addresses", refused.len());
    let origin = Origin::start([("/a.png", origin::bytes(sample_images::png(2, 2)))]);
    for (before, after) in [(&[open][..], &[][..]), (&[], &[open])] {
        let options = Options::new().set("egress.allow", vec!["127.0.0.1/32"]);
        let server = Server::with(options.resolving(named(&refused, before, after)));
        let customer = server.customer("100.00");
        let reached = origin.accepted();
        for urls in urls_of_names(refused.len(), origin.port()).chunks(AT_ONCE) {
            let body = fox_with(json!({"input_images_urls": urls}));
            server
                .generation(&customer, "/url-generations", &body)
                .expect(202);
        }
        assert_eq!(origin.accepted() - reached, refused.len());
        server.assert_settled();
    }
    assert_eq!(trap.accepted(), 0);
}

/// The bridge of a container runtime, and the service's own listener.
#[test]
fn hostile_66_neither_a_bridge_nor_the_service_itself_is_reachable() {
    let server = Server::start();
    let (customer, trap) = (server.customer("1.00"), trap());
    let own = server.address.port();
    let urls = [
        "http://172.17.0.1/".to_owned(),
        "http://172.17.0.1:2375/containers/json".to_owned(),
        format!("http://{}/admin/v1/stats", server.address),
        format!("http://localhost:{own}/metrics"),
        format!("http://[::ffff:127.0.0.1]:{own}/healthz"),
    ];
    assert_rejected_as_inputs(&server, &customer, &urls);
    assert_rejected_as_file_uris(&server, &customer, &urls);
    assert_rejected_as_webhooks(&server, &customer, &urls);
    assert_untouched(&server, &customer, trap);
}

/// A host name that would add lines to the head of the request.
#[test]
fn hostile_65_no_host_adds_a_line_to_the_request() {
    let trap = trap();
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("1.00");
    let port = trap.port();
    let urls = [
        format!("http://127.0.0.1:{port}\r\nX-Evil: 1/"),
        format!("http://127.0.0.1\r\nHost: evil.example:{port}/"),
        format!("http://127.0.0.1%0d%0aX-Evil:1:{port}/"),
        format!("http://a%0d%0aHost%3a%20evil.example:{port}/"),
        format!("http://evil\u{2028}.example:{port}/"),
    ];
    assert_rejected_as_inputs(&server, &customer, &urls);
    assert_rejected_as_file_uris(&server, &customer, &urls);
    assert_rejected_as_webhooks(&server, &customer, &urls);
    assert_untouched(&server, &customer, trap);
}
