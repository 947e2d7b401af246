//! Decisions 6: the operator reads the jobs of any account, and the service's status.

use crate::support::clock::START;
use crate::support::poll::until;
use crate::support::{OneNode, Options, Server, fox, fox_with};
use serde_json::{Value, json};
use std::time::Duration;

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
fn stats_report_queue_backends_and_throughput() {
    let server = Server::with(Options::new().one_node(OneNode::Figures));
    let ada = server.customer("10");
    let unseen = server.admin("GET", "/stats").expect(200).json();
    assert_eq!(unseen["backends"][0]["health"], "unknown");
    let done = server.create(&ada);
    server.job_once(&ada, &done, "done");
    server.generator.hold();
    let running = server.create(&ada);
    server.job_once(&ada, &running, "processing");
    let stats = server.admin("GET", "/stats").expect(200).json();
    assert_eq!(stats["running"], 1);
    assert_eq!(stats["live_jobs"], 1);
    assert_eq!(stats["queued"], json!({"fast": 0, "quality": 0, "pro": 0}));
    let counted = &stats["throughput"];
    assert_eq!(
        (&counted["done"], &counted["failed"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(counted["canceled"], 0);
    assert_eq!(counted["window_seconds"], 3_600);
    assert!(counted["since"].is_string(), "{counted}");
    assert_eq!(stats["backends"][0]["name"], "builtin");
    assert_eq!(stats["backends"][0]["health"], "up");
    assert!(stats["backends"][0]["last_answer_at"].is_string());
    assert!(stats["backends"][0]["last_error"].is_null());
    assert_eq!(stats["webhooks_pending"], 0);
    server.generator.release_all();
}

#[test]
fn the_last_export_is_reported_once_it_is_complete() {
    let server = Server::start();
    let exported_at = || server.admin("GET", "/stats").expect(200).json()["last_export_at"].clone();
    assert!(exported_at().is_null());
    server.admin("GET", "/export").expect(200);
    until("the export is on record", || exported_at() == START);
}

#[test]
fn a_backup_counts_when_its_caller_reports_it() {
    let server = Server::start();
    let exported_at = || server.admin("GET", "/stats").expect(200).json()["last_export_at"].clone();
    server.admin("GET", "/export?recorded=false").expect(200);
    // The next export begins after the first has ended.
    until("the export has ended", || {
        server.admin("GET", "/export?recorded=false").send().status == 200
    });
    assert!(exported_at().is_null());
    let report = |at: &str| server.admin("PUT", &format!("/backups/{at}")).expect(204);
    let earlier = "2020-01-01T00:00:00.000Z";
    report(earlier);
    assert_eq!(exported_at(), earlier);
    report("2999-01-01T00:00:00Z");
    assert_eq!(exported_at(), START);
    report(earlier);
    assert_eq!(exported_at(), START);
    server
        .admin("PUT", "/backups/today")
        .refused(404, "not_found");
    server
        .admin("GET", "/export?recorded=no")
        .refused(422, "validation_failed");
}

#[test]
fn throughput_names_the_canceled_ones_among_the_failed_jobs() {
    let options = Options::new().slots(1).one_node(OneNode::Figures);
    let server = Server::with(options);
    let customer = server.customer("10");
    server.generator.hold();
    let running = server.create(&customer);
    server.job_once(&customer, &running, "processing");
    for _ in 0..2 {
        let queued = server.create(&customer);
        server
            .admin("DELETE", &format!("/jobs/{queued}"))
            .expect(200);
    }
    let counted = server.admin("GET", "/stats").expect(200).json()["throughput"].clone();
    assert_eq!(
        (&counted["failed"], &counted["canceled"]),
        (&json!(2), &json!(2))
    );
    server.generator.release_all();
}

#[test]
fn throughput_counts_jobs_when_they_end_regardless_of_their_wait() {
    let server = Server::with(Options::new().one_node(OneNode::Figures));
    let ada = server.customer("10");
    server.generator.hold();
    let waiting = server.create(&ada);
    server.job_once(&ada, &waiting, "processing");
    server.clock.advance(Duration::from_secs(9 * 3_600));
    server.generator.release_all();
    server.job_once(&ada, &waiting, "done");
    let done = || {
        let stats = server.admin("GET", "/stats").expect(200).json();
        stats["throughput"]["done"].clone()
    };
    assert_eq!(done(), 1);
    server.clock.advance(Duration::from_secs(3_601));
    assert_eq!(done(), 0);
}

#[test]
fn jobs_of_all_accounts_are_found_by_their_metadata() {
    let server = Server::start();
    let [ada, bob] = [server.customer("10"), server.customer("10")];
    server.create(&bob);
    let order = |number: u32| fox_with(json!({"metadata": {"order": number}}));
    server
        .generation(&ada, "/text-generations", &order(17))
        .expect(202);
    let wanted = server.generation(&ada, "/text-generations", &order(4_711));
    let wanted = wanted.expect(202).job_id();
    // The ids of two nodes within one millisecond have no order.
    server.clock.advance(Duration::from_secs(1));
    // Long enough that the service stores the prompt apart from the record.
    let long = fox_with(json!({"prompt": "a fox ".repeat(2_000), "metadata": {"order": 4_711}}));
    let apart = server.generation(&bob, "/nb/text-generations", &long);
    let apart = apart.expect(202).job_id();
    let list = |query: &str| {
        let path = format!("/jobs?{query}");
        ids(&server.admin("GET", &path).expect(200).json())
    };
    assert_eq!(
        list("metadata[order]=4711"),
        [apart.as_str(), wanted.as_str()]
    );
    assert_eq!(list("metadata[order]=4711&tier=pro"), [wanted.as_str()]);
    let of_key = format!("key={}&mode=text-to-image", ada.key_id);
    assert_eq!(list(&of_key).len(), 2);
}

#[test]
fn a_done_job_is_listed_with_its_image() {
    let server = Server::start();
    let ada = server.customer("10");
    let job = server.create(&ada);
    server.job_once(&ada, &job, "done");
    let list = server.admin("GET", "/jobs?status=done").expect(200).json();
    let url = list["data"][0]["result"]["image_url"].as_str();
    assert!(url.is_some_and(|it| it.contains(&job)), "{list}");
}

#[test]
fn a_job_is_found_by_its_account_and_under_no_other() {
    let server = Server::start();
    let [ada, bob] = [server.customer("10"), server.customer("10")];
    let job = server.create(&ada);
    let path = |account: &str| format!("/jobs/{job}?account_id={account}");
    let found = server.admin("GET", &path(&ada.account)).expect(200).json();
    assert_eq!(found["job_id"], job);
    server
        .admin("GET", &path(&bob.account))
        .refused(404, "not_found");
    server.admin("GET", &path("ada")).invalid(&["account_id"]);
    // A UUID of a version that job ids never have.
    let foreign = "/jobs/550e8400-e29b-41d4-a716-446655440000";
    server.admin("GET", foreign).refused(404, "not_found");
}

#[test]
fn a_job_is_canceled_while_its_prompt_cannot_be_read() {
    let server = Server::with(Options::new().slots(1));
    server.generator.hold();
    let customer = server.customer("1.00");
    let running = server.create(&customer);
    server.job_once(&customer, &running, "processing");
    let body = fox_with(json!({"prompt": "x".repeat(8_000)}));
    let queued = server.generation(&customer, "/text-generations", &body);
    let queued = queued.expect(202).job_id();
    let place = server.objects();
    std::fs::rename(&place, place.with_extension("aside")).unwrap();
    std::fs::write(&place, "in the way").unwrap();
    let canceled = server.admin("DELETE", &format!("/jobs/{queued}"));
    assert_eq!(canceled.expect(200).json()["status"], "failed");
    std::fs::remove_file(&place).unwrap();
    std::fs::rename(place.with_extension("aside"), &place).unwrap();
    server.generator.release_all();
    server.assert_settled();
}
