//! Decisions 6: any account's jobs, and how the service is.

use crate::support::{Server, fox, fox_with};
use serde_json::{Value, json};

fn ids(page: &Value) -> Vec<String> {
    let data = page["data"].as_array().unwrap();
    let id = |job: &Value| job["job_id"].as_str().unwrap().to_owned();
    data.iter().map(id).collect()
}

#[test]
fn jobs_of_every_account_are_listed_filtered_and_shown() {
    let server = Server::start();
    let [ada, bob] = [server.customer("10"), server.customer("10")];
    let first = server.create(&ada);
    let body = fox_with(json!({"metadata": {"order": 17, "_own": true}}));
    let second = server.generation(&bob, "/nb/text-generations", &body);
    let second = second.expect(202).job_id();
    server.job_once(&ada, &first, "done");
    server.job_once(&bob, &second, "done");
    let list = |query: &str| {
        let path = format!("/jobs{query}");
        server.admin("GET", &path).expect(200).json()
    };
    assert_eq!(ids(&list("")), [second.as_str(), first.as_str()]);
    assert_eq!(ids(&list("?tier=fast")), [second.as_str()]);
    assert_eq!(ids(&list("?status=failed")), [""; 0]);
    assert_eq!(
        ids(&list(&format!("?account_id={}", ada.account))),
        [first.as_str()]
    );
    assert_eq!(
        ids(&list(&format!("?key_id={}", bob.key_id))),
        [second.as_str()]
    );
    let part = list("?limit=1");
    assert_eq!(ids(&part), [second.as_str()]);
    let rest = format!("?limit=1&cursor={}", part["next_cursor"].as_str().unwrap());
    assert_eq!(ids(&list(&rest)), [first.as_str()]);
    server
        .admin("GET", "/jobs?status=lost&tier=x&colour=red")
        .invalid(&["status", "tier", "colour"]);
    let path = format!("/jobs/{second}");
    let shown = server.admin("GET", &path).expect(200).json();
    assert_eq!(shown["account_id"], bob.account);
    assert_eq!(shown["prompt"], fox()["prompt"]);
    assert_eq!(shown["metadata"], json!({"order": 17, "_own": true}));
    assert_eq!(shown["price"], "0.039");
    assert!(shown["result"]["image_url"].is_string(), "{shown}");
    let missing = format!("/jobs/{}", ada.account);
    server.admin("GET", &missing).refused(404, "not_found");
}

#[test]
fn stats_tell_of_queue_back_ends_and_throughput() {
    let server = Server::start();
    let ada = server.customer("10");
    let done = server.create(&ada);
    server.job_once(&ada, &done, "done");
    server.generator.hold();
    let running = server.create(&ada);
    server.job_once(&ada, &running, "processing");
    let stats = server.admin("GET", "/stats").expect(200).json();
    assert_eq!(stats["running"], 1);
    assert_eq!(stats["live_jobs"], 1);
    assert_eq!(stats["queued"], json!({"fast": 0, "quality": 0, "pro": 0}));
    assert_eq!(
        stats["throughput"],
        json!({"window_seconds": 3_600, "done": 1, "failed": 0})
    );
    assert_eq!(stats["backends"][0]["name"], "builtin");
    assert_eq!(stats["backends"][0]["health"], "up");
    assert_eq!(stats["webhooks_pending"], 0);
    server.generator.release_all();
}
