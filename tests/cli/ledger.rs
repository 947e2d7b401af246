//! `tintype account ledger`.

use crate::erasing::done;
use crate::support::{Service, run};
use serde_json::Value;

#[test]
fn a_ledger_as_a_table_in_pages_and_as_csv() {
    let service = Service::start();
    for amount in ["1.00", "2.00", "-0.50"] {
        service.run(&["deposit", "add", amount, "--reference", "a, b"]);
    }
    let listed = service.run(&["account", "ledger"]);
    assert!(listed.starts_with("TIME"), "{listed}");
    assert_eq!(listed.lines().count(), 5);
    let part = service.json(&["account", "ledger", "--limit", "2"]);
    let cursor = part["next_cursor"].as_str().expect("more of it");
    let rest = service.json(&["account", "ledger", "--cursor", cursor]);
    assert_eq!(rest["data"].as_array().unwrap().len(), 2);
    assert_eq!(rest["next_cursor"], Value::Null);
    let short = service.command(&["account", "ledger", "--limit", "2"]);
    let short = run(short, b"");
    assert!(short.err.contains(cursor), "{short:?}");
    let file = service.run(&["account", "ledger", "--csv", "--kind", "adjustment"]);
    let lines: Vec<&str> = file.lines().collect();
    assert_eq!(lines.len(), 2, "{file}");
    assert!(
        lines[1].contains(",adjustment,-0.50,102.50,,\"a, b\","),
        "{file}"
    );
    service.stop();
}

#[test]
fn the_ledger_of_a_job() {
    let service = Service::start();
    let [first, second] = ["42", "43"].map(|user| done(&service, user));
    let refund = ["deposit", "add", "--refund-of", &first];
    service.run(&refund);
    let of_job = |job: &str| {
        let found = service.json(&["account", "ledger", "--job", job]);
        assert_eq!(found["next_cursor"], Value::Null);
        let entries = found["data"].as_array().unwrap().iter();
        assert!(entries.clone().all(|it| it["job_id"] == *job));
        entries.map(|it| it["kind"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(of_job(&first), ["deposit", "charge"]);
    assert_eq!(of_job(&second), ["charge"]);
    let file = service.run(&["account", "ledger", "--csv", "--job", &second]);
    assert_eq!(file.lines().count(), 2, "{file}");
    service.stop();
}
