//! `tintype job cancel` of all queued jobs of an API key.

use crate::support::{Service, run};
use serde_json::json;

#[test]
fn the_queued_jobs_of_a_deleted_key_are_canceled() {
    let service = Service::start();
    let keys = service.json(&["key", "list"]);
    let key = keys["data"][0]["key_id"].as_str().unwrap().to_owned();
    let mut table = "model,prompt,aspect_ratio\n".to_owned();
    (0..100).for_each(|at| table.push_str(&format!("quality,fox {at},1:1\n")));
    let mut submit = service.command(&["batch", "submit", "-", "--csv"]);
    submit.env("TINTYPE_KEY", &service.key);
    run(submit, table.as_bytes()).success();
    let queued = || {
        let listed = service.json(&["job", "list", "--key", &key, "--status", "queued"]);
        listed["data"].as_array().unwrap().len()
    };
    assert!(queued() > 0);
    service.run(&["key", "rm", &key]);
    let by_name = run(service.command(&["job", "cancel", "--key", "default"]), b"").failure();
    assert!(by_name.contains("tintype audit list"), "{by_name}");
    assert!(queued() > 0, "a deleted key keeps its queued jobs");

    let canceled = service.json(&["job", "cancel", "--key", &key]);
    assert!(canceled["canceled"].as_u64().unwrap() > 50, "{canceled}");
    assert_eq!(queued(), 0);
    let again = service.run(&["job", "cancel", "--key", &key]);
    assert_eq!(
        again,
        format!("the key {key} has no queued jobs; nothing is canceled\n")
    );
    let none = service.json(&["job", "cancel", "--key", &key, "--account", "default"]);
    assert_eq!(none, json!({"canceled": 0, "started": 0}));
    for wrong in [
        &["job", "cancel"][..],
        &["job", "cancel", &key, "--key", &key],
    ] {
        let refused = run(service.command(wrong), b"");
        assert_eq!(refused.code, Some(2), "{refused:?}");
    }
    service.stop();
}

#[test]
fn an_id_that_is_no_key_is_not_reported_as_a_key_without_queued_jobs() {
    let service = Service::start();
    let account = service.json(&["account", "list"])["data"][0]["account_id"].clone();
    let account = account.as_str().unwrap();
    let refused = |arguments: &[&str]| {
        let command = [&["job", "cancel", "--key"], arguments].concat();
        run(service.command(&command), b"").failure()
    };
    for wrong in [account, "0198c0de-0000-7000-8000-000000000001"] {
        let message = refused(&[wrong]);
        for words in [wrong, "no key", "tintype key list", "tintype audit list"] {
            assert!(message.contains(words), "{words}: {message}");
        }
    }

    service.run(&["account", "add", "other"]);
    let key = service.json(&["key", "add", "ci", "--account", "default"]);
    let key = key["key_id"].as_str().unwrap();
    let message = refused(&[key, "--account", "other"]);
    assert!(message.contains(account), "{message}");
    let text = format!("the key {key} has no queued jobs; nothing is canceled\n");
    assert_eq!(service.run(&["job", "cancel", "--key", key]), text);
    let by_name = ["job", "cancel", "--key", "ci", "--account", "default"];
    assert_eq!(service.run(&by_name), text);
    service.run(&["key", "rm", key]);
    assert_eq!(service.run(&["job", "cancel", "--key", key]), text);
    assert!(refused(&[key, "--account", "other"]).contains("no key"));
    let json = service.json(&["job", "cancel", "--key", key]);
    assert_eq!(json, json!({"canceled": 0, "started": 0}));
    service.stop();
}
