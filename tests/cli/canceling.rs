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
        "canceled 0 queued jobs; nothing is charged for them\n"
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
