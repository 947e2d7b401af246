//! A webhook delivery of a customer that has used all attempts: how an operator notices it.

use crate::support::{Service, until_some};
use tintype_postgres::testing::free_port;

#[test]
fn a_delivery_that_has_used_all_attempts_is_logged() {
    let delays = ("TINTYPE__WEBHOOKS__RETRY_DELAYS_SECONDS", "[]");
    let service = Service::start_alone_with(&[delays]);
    let origin = format!("http://127.0.0.1:{}", free_port());
    let url = format!("{origin}/hooks/path-secret?token=query-secret");
    let added = service.json(&["webhook", "add", &url]);
    let webhook = added["webhook_id"].as_str().unwrap();
    service.run(&["webhook", "test", webhook]);
    let failed = until_some("the delivery has failed", || {
        let found = service.json(&["delivery", "list", "--status", "failed"]);
        found["data"].get(0).cloned()
    });
    let of = |field: &str| failed[field].as_str().unwrap().to_owned();
    let line = until_some("the log reports it", || {
        let mut lines = service.lines().into_iter();
        lines.find(|it| it.contains("a delivery has used all attempts"))
    });
    for part in [
        "WARN",
        &of("delivery_id"),
        &of("account_id"),
        webhook,
        &origin,
        "attempts=1",
        "connection refused",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    for secret in ["path-secret", "query-secret"] {
        assert!(!service.lines().iter().any(|it| it.contains(secret)));
    }
    service.stop();
}
