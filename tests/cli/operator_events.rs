//! Events for the operator: how an operator notices a lost one, and receives it on this machine.

use crate::support::{Running, Service, until_some};
use serde_json::Value;
use tintype_postgres::testing::free_port;

const SECRET: &str = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

/// A service whose operator webhook has no receiver yet.
fn service(port: u16) -> Service {
    let url = format!("http://127.0.0.1:{port}/ops/path-secret");
    Service::start_alone_with(&[
        ("TINTYPE__OPERATOR__WEBHOOK_URL", &url),
        ("TINTYPE__OPERATOR__WEBHOOK_SECRET", SECRET),
        ("TINTYPE__WEBHOOKS__RETRY_DELAYS_SECONDS", "[]"),
        // No event of a machine whose disk is nearly full.
        ("TINTYPE__OPERATOR__DISK_LOW_BYTES", "0"),
    ])
}

/// Reports a low balance; returns the failed delivery of the event.
fn failed_event(service: &Service) -> Value {
    service.run(&["account", "low-balance", "default", "1000"]);
    until_some("the event has failed", || {
        let found = service.json(&["delivery", "list", "--status", "failed"]);
        found["data"].get(0).cloned()
    })
}

#[test]
fn an_event_that_the_operator_does_not_receive_is_logged_and_named() {
    let port = free_port();
    let service = service(port);
    let event = failed_event(&service);
    let id = event["delivery_id"].as_str().unwrap();
    for (field, expected) in [
        ("kind", "operator".into()),
        ("event_type", "account.low_balance".into()),
        ("account_id", Value::Null),
        ("webhook_id", Value::Null),
    ] {
        assert_eq!(event[field], expected, "{field}");
    }
    let line = until_some("the log reports it", || {
        let mut lines = service.lines().into_iter();
        lines.find(|it| it.contains("operator event was not delivered"))
    });
    for part in [
        "WARN",
        "account.low_balance",
        &format!("http://127.0.0.1:{port}"),
        "connection refused",
        "webhook_url in [operator]",
        &format!("tintype delivery redeliver {id}"),
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(!line.contains("path-secret"), "{line}");
    let listed = service.run(&["delivery", "list"]);
    assert!(listed.contains("account.low_balance"), "{listed}");
    let shown = service.run(&["delivery", "show", id]);
    assert!(shown.contains("account.low_balance"), "{shown}");
    assert!(!shown.contains("00000000-0000"), "{shown}");
    service.stop();
}

#[test]
fn a_local_receiver_knows_the_events_and_the_secret_of_the_operator() {
    let port = free_port();
    let service = service(port);
    let event = failed_event(&service);
    let id = event["delivery_id"].as_str().unwrap();
    let mut command = service.command(&["webhook", "listen", "--port", &port.to_string()]);
    command.env("TINTYPE__OPERATOR__WEBHOOK_SECRET", SECRET);
    command.env("TINTYPE__OPERATOR__WEBHOOK_URL", "http://127.0.0.1/");
    let receiver = Running::start(command);
    receiver.after("Verifying operator events");
    service.run(&["delivery", "redeliver", id]);
    receiver.line("the data", |line| {
        line.contains(r#""low_balance":"1000.00""#).then_some(())
    });
    receiver.line("the signature", |line| {
        (line == "  X-Signature: verifies").then_some(())
    });
    let lines = receiver.lines();
    let has = |text: &str| lines.iter().any(|line| line.contains(text));
    assert!(has("event     account.low_balance"), "{lines:#?}");
    assert!(
        !has("not a payload") && !has("does not verify"),
        "{lines:#?}"
    );
    assert_eq!(receiver.stop(), Some(0));
    service.stop();
}
