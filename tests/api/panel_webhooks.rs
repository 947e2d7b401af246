//! The webhook console verifies a received delivery, and counts failed deliveries before it resends them.

use crate::support::{Options, Server, until};
use serde_json::{Value, json};
use tintype_storage::webhook_wire::secret::WebhookSecret;
use tintype_storage::webhook_wire::signature::x_signature;

const BODY: &str = r#"{"error":null}"#;

struct Console {
    server: Server,
    account: String,
    webhooks: Vec<Value>,
}

impl Console {
    /// An account with two webhooks whose receivers do not listen.
    fn new() -> Self {
        let none = toml::Value::Array(Vec::new());
        let options = Options::new().allow_loopback();
        let server = Server::with(options.set("webhooks.retry_delays_seconds", none));
        let account = server.customer("10").account;
        let path = format!("/accounts/{account}/webhooks");
        let webhooks = ["first", "second"].map(|name| {
            let url = json!({"url": format!("http://127.0.0.1:9/{name}")});
            server.admin("POST", &path).json(&url).expect(201).json()
        });
        Self {
            server,
            account,
            webhooks: webhooks.into(),
        }
    }

    fn path(&self, at: usize, what: &str) -> String {
        let id = self.webhooks[at]["webhook_id"].as_str().unwrap();
        format!("/accounts/{}/webhooks/{id}/{what}", self.account)
    }

    fn signature(&self, at: usize, seconds: i64) -> String {
        let secret = WebhookSecret::parse(self.webhooks[at]["secret"].as_str().unwrap()).unwrap();
        x_signature(&secret, seconds, BODY)
    }

    fn verify(&self, delivery: &str) -> Value {
        let browser = self.server.operators_browser();
        let call = browser.call(&self.server, "POST", &self.path(0, "verify"));
        let call = call.json(&json!({"delivery": delivery}));
        call.expect(200).json()
    }
}

#[test]
fn a_received_delivery_is_verified_and_its_faults_are_reported() {
    let console = Console::new();
    // The current time of the test clock.
    let now = console.server.clock.seconds();
    let (right, other) = (console.signature(0, now), console.signature(1, now));
    let good =
        format!("POST / HTTP/1.1\r\nX-Signature: {right}\r\nX-Timestamp: {now}\r\n\r\n{BODY}\n");
    let found = console.verify(&good);
    assert_eq!(found["verifies"], true, "{found}");
    assert_eq!(
        found["checks"][0],
        json!({"header": "X-Signature", "verifies": true, "words": "verifies"})
    );
    assert_eq!(
        found["checks"][1]["words"],
        "not checked: the header webhook-id is missing"
    );
    let changed = console.verify(&good.replace("null", "true"));
    assert_eq!(changed["verifies"], false);
    let words = changed["checks"][0]["words"].as_str().unwrap();
    assert!(words.contains("another secret signed it"), "{words}");
    assert_eq!(changed["signed_by"], Value::Null);
    let mixed = console.verify(&good.replace(&right, &other));
    assert_eq!(mixed["signed_by"], console.webhooks[1]["url"]);
    let old = console.signature(0, now - 4_000);
    let late = format!("X-Signature: {old}\nX-Timestamp: {}\n\n{BODY}", now - 4_000);
    let late = console.verify(&late);
    let words = late["checks"][0]["words"].as_str().unwrap();
    assert!(words.contains("4000 s ago"), "{words}");
    assert_eq!([&late["is_stale"], &mixed["is_stale"]], [true, false]);
    let browser = console.server.operators_browser();
    let call = browser.call(&console.server, "POST", &console.path(0, "verify"));
    call.json(&json!({"delivery": BODY})).invalid(&["delivery"]);
}

#[test]
fn failed_deliveries_are_counted_by_webhook_and_time() {
    let console = Console::new();
    let browser = console.server.operators_browser();
    assert_eq!(count_of(&console), 0);
    let test = browser.call(&console.server, "POST", &console.path(0, "test"));
    test.expect(202);
    until("the delivery has failed", || count_of(&console) == 1);
    let count = |at: usize, query: &str| {
        let path = console.path(at, &format!("redeliver{query}"));
        browser
            .call(&console.server, "GET", &path)
            .expect(200)
            .json()
    };
    assert_eq!(count(1, "")["failed"], 0);
    assert_eq!(count(0, "?from=2030-01-01T00:00:00Z")["failed"], 0);
    assert_eq!(count(0, "?to=2020-01-01T00:00:00Z")["failed"], 0);
    let path = console.path(0, "redeliver?from=soon");
    browser
        .call(&console.server, "GET", &path)
        .invalid(&["from"]);
}

fn count_of(console: &Console) -> u64 {
    let browser = console.server.operators_browser();
    let call = browser.call(&console.server, "GET", &console.path(0, "redeliver"));
    call.expect(200).json()["failed"].as_u64().unwrap()
}
