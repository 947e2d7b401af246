//! Decisions 1, "Beyond the specification": `GET /jobs`, the account's jobs.

use crate::support::{Behaviour, Customer, Server, fox, fox_with, options::Options};
use serde_json::{Value, json};
use std::time::Duration;
use tintype::server::sweeps::record_ids_ahead;

const PRO: &str = "/text-generations";

fn list_jobs(server: &Server, customer: &Customer, query: &str) -> Value {
    let path = format!("/jobs{query}");
    server.native(customer, "GET", &path).expect(200).json()
}

fn ids(page: &Value) -> Vec<String> {
    let data = page["data"].as_array().unwrap().iter();
    data.map(|job| job["job_id"].as_str().unwrap().to_owned())
        .collect()
}

/// Reads all pages of a list.
fn list_all_pages(server: &Server, customer: &Customer, query: &str) -> Vec<String> {
    let (mut found, mut cursor) = (Vec::new(), String::new());
    for _ in 0..1_000 {
        let page = list_jobs(server, customer, &format!("?{query}{cursor}"));
        found.extend(ids(&page));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return found,
        }
    }
    panic!("the list has no end");
}

fn reversed(mut ids: Vec<String>) -> Vec<String> {
    ids.reverse();
    ids
}

#[test]
fn live_and_ended_jobs_are_in_one_list_newest_first() {
    let server = Server::with(Options::new().slots(1));
    let customer = server.customer("10.00");
    let mut jobs: Vec<String> = (0..3).map(|_| server.create(&customer)).collect();
    server.assert_settled();
    server.generator.hold();
    jobs.extend((0..4).map(|_| server.create(&customer)));
    server.job_once(&customer, &jobs[3], "processing");
    // Cancels one, so that an ended job lies between live ones.
    let path = format!("/jobs/{}", jobs[5]);
    server.native(&customer, "DELETE", &path).expect(200);
    let page = list_jobs(&server, &customer, "");
    assert_eq!(ids(&page), reversed(jobs));
    assert!(page["next_cursor"].is_null());
    let statuses: Vec<&str> = page["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| job["status"].as_str().unwrap())
        .collect();
    assert_eq!(
        statuses,
        [
            "queued",
            "failed",
            "queued",
            "processing",
            "done",
            "done",
            "done"
        ]
    );
    server.generator.release_all();
}

#[test]
fn an_entry_is_the_job_with_its_request() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let body = fox_with(json!({"aspect_ratio": "16:9", "resolution": "2K"}));
    let job = server
        .generation(&customer, "/nb2/text-generations", &body)
        .expect(202)
        .job_id();
    let mut looked_up = server.job_once(&customer, &job, "done");
    let mut entry = list_jobs(&server, &customer, "")["data"][0].take();
    let added = json!({
        "tier": "quality", "mode": "text-to-image", "aspect_ratio": "16:9", "resolution": "2K", "price": "0.101",
        "key_id": customer.key_id, "batch_id": null, "custom_id": null,
    });
    for (name, value) in added.as_object().unwrap() {
        assert_eq!(
            entry.as_object_mut().unwrap().remove(name).as_ref(),
            Some(value)
        );
    }
    assert_eq!(entry["result"].take(), looked_up["result"].take());
    assert_eq!(entry, looked_up);
}

#[test]
fn pages_of_any_size_have_no_gaps_and_no_repeats() {
    let server = Server::start();
    let customer = server.customer("100.00");
    server.generator.hold();
    let mut jobs: Vec<String> = (0..60).map(|_| server.create(&customer)).collect();
    server.generator.release_all();
    server.assert_settled();
    server.generator.hold();
    jobs.extend((0..47).map(|_| server.create(&customer)));
    let wanted = reversed(jobs);
    for limit in [1, 7, 20, 99, 100] {
        assert_eq!(
            list_all_pages(&server, &customer, &format!("limit={limit}")),
            wanted
        );
    }
    assert_eq!(ids(&list_jobs(&server, &customer, "")).len(), 20);
    server.generator.release_all();
}

#[test]
fn jobs_of_another_account_are_never_listed() {
    let server = Server::start();
    let (mine, other) = (server.customer("1.00"), server.customer("1.00"));
    let (job, foreign) = (server.create(&mine), server.create(&other));
    assert_eq!(
        list_all_pages(&server, &mine, ""),
        std::slice::from_ref(&job)
    );
    // Another key of the account lists the same jobs.
    let colleague = server.another_key(&mine.account, json!({}));
    assert_eq!(list_all_pages(&server, &colleague, ""), [job]);
    // A foreign job id as a cursor is only a position in the list, and a foreign key lists no job of this account.
    let cursor = format!("?cursor={}", foreign.replace('-', ""));
    assert!(!ids(&list_jobs(&server, &mine, &cursor)).contains(&foreign));
    assert_eq!(
        list_all_pages(&server, &mine, &format!("key={}", other.key_id)),
        Vec::<String>::new()
    );
}

#[test]
fn filters_return_only_matching_jobs() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let second = server.another_key(&customer.account, json!({}));
    let done = server.create(&customer);
    server.job_once(&customer, &done, "done");
    server.generator.behave(Behaviour::Refuse("no"));
    let body = fox();
    let failed = server
        .generation(&second, "/nb/text-generations", &body)
        .expect(202)
        .job_id();
    server.job_once(&customer, &failed, "failed");
    server.generator.hold();
    let live = server
        .generation(&second, "/nb2/text-generations", &body)
        .expect(202)
        .job_id();
    server.job_once(&customer, &live, "processing");
    let (second, first) = (second.key_id.as_str(), customer.key_id.as_str());
    for (query, wanted) in [
        ("status=done".to_owned(), vec![&done]),
        ("status=failed".to_owned(), vec![&failed]),
        ("status=processing".to_owned(), vec![&live]),
        ("status=queued".to_owned(), vec![]),
        ("tier=pro".to_owned(), vec![&done]),
        ("tier=fast".to_owned(), vec![&failed]),
        ("tier=quality".to_owned(), vec![&live]),
        ("mode=text-to-image".to_owned(), vec![&live, &failed, &done]),
        ("mode=image-to-image".to_owned(), vec![]),
        (format!("key={first}"), vec![&done]),
        (format!("key={second}"), vec![&live, &failed]),
        (
            format!("key={second}&status=failed&tier=fast"),
            vec![&failed],
        ),
        (format!("key={second}&status=done"), vec![]),
    ] {
        let wanted: Vec<String> = wanted.into_iter().cloned().collect();
        assert_eq!(
            list_all_pages(&server, &customer, &query),
            wanted,
            "{query}"
        );
        assert_eq!(
            list_all_pages(&server, &customer, &format!("{query}&limit=1")),
            wanted,
            "{query}"
        );
    }
    server.generator.release_all();
}

#[test]
fn a_time_range_includes_its_start_and_excludes_its_end() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let mut jobs = Vec::new();
    let mut moments = Vec::new();
    for _ in 0..4 {
        let job = server.create(&customer);
        let job = server.job(&customer, &job);
        moments.push(job["created_at"].as_str().unwrap().to_owned());
        jobs.push(job["job_id"].as_str().unwrap().to_owned());
        server.clock.advance(Duration::from_secs(60));
    }
    let list = |query: String| reversed(list_all_pages(&server, &customer, &query));
    assert_eq!(list(format!("created_after={}", moments[1])), jobs[1..]);
    assert_eq!(list(format!("created_before={}", moments[2])), jobs[..2]);
    let tiles = [(0, 2), (2, 3)].map(|(from, to)| {
        list(format!(
            "created_after={}&created_before={}",
            moments[from], moments[to]
        ))
    });
    assert_eq!(tiles.concat(), jobs[..3]);
    let (first, last) = (&moments[0], &moments[3]);
    assert!(list(format!("created_after={last}&created_before={first}")).is_empty());
    assert!(list("created_before=1970-01-01T00:00:00Z".into()).is_empty());
    assert!(list("created_after=9999-12-31T23:59:59.999Z".into()).is_empty());
    assert_eq!(
        list("created_after=2026-01-01T00:00:00%2B02:00".into()),
        jobs
    );
    // Within a range the cursor works as it does without.
    let all_of_them = list_all_pages(
        &server,
        &customer,
        &format!("created_before={last}&limit=1"),
    );
    assert_eq!(reversed(all_of_them), jobs[..3]);
}

#[test]
fn a_time_range_includes_jobs_accepted_after_the_clock_was_set_back() {
    let server = Server::start();
    let customer = server.customer("10.00");
    server.clock.advance(Duration::from_secs(600));
    server.create(&customer);
    server.clock.set_back(Duration::from_secs(600));
    let job = server.create(&customer);
    let query = "created_before=2026-11-18T11:06:41Z";
    assert_eq!(list_all_pages(&server, &customer, query), [job]);
}

/// A clock that was a year ahead once.
#[test]
fn a_time_range_includes_records_whose_ids_are_ahead_of_the_clock() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let year = Duration::from_secs(365 * 86_400);
    server.clock.advance(year);
    let ahead = server.create(&customer);
    server.job_once(&customer, &ahead, "done");
    server.clock.set_back(year);
    let system = actix_web::rt::System::new();
    for node in server.nodes() {
        system.block_on(record_ids_ahead(node.inside()));
    }
    let job = server.create(&customer);
    server.job_once(&customer, &job, "done");
    let query = "created_before=2026-11-18T11:06:41Z";
    assert_eq!(
        list_all_pages(&server, &customer, query),
        std::slice::from_ref(&job)
    );
    let ledger = format!(
        "/accounts/{}/transactions?kind=charge&to=2026-11-18T11:06:41Z",
        customer.account
    );
    let ledger = server.admin("GET", &ledger).expect(200).json();
    let jobs: Vec<&str> = ledger["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["job_id"].as_str().unwrap())
        .collect();
    assert_eq!(jobs, [job]);
}

#[test]
fn a_lost_request_text_hides_no_other_job_and_a_storage_error_is_502() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let large = || {
        let long = json!({"prompt": "x".repeat(20_000), "metadata": {"order": "4711"}});
        let body = fox_with(long);
        let accepted = server.generation(&customer, PRO, &body).expect(202);
        let job = accepted.job_id();
        server.job_once(&customer, &job, "done");
        job
    };
    let lost = large();
    let words = server.objects().join("words");
    std::fs::remove_dir_all(&words).unwrap();
    let kept = large();
    assert_eq!(
        list_all_pages(&server, &customer, "metadata[order]=4711"),
        [kept.as_str()]
    );
    let shown = |job: &str| server.admin("GET", &format!("/jobs/{job}"));
    assert_eq!(shown(&lost).expect(200).json()["prompt"], Value::Null);
    assert!(shown(&kept).expect(200).json()["prompt"].is_string());
    // A storage error differs from a missing object: the service must not report the prompt as deleted.
    std::fs::remove_dir_all(&words).unwrap();
    std::fs::write(&words, "in the way").unwrap();
    server
        .native(&customer, "GET", "/jobs?metadata[order]=4711")
        .refused(502, "storage_unavailable");
    shown(&kept).refused(502, "storage_unavailable");
    let listed = server.admin("GET", "/jobs").expect(200).json();
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(2));
}

#[test]
fn metadata_is_found_by_its_members() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let with = |metadata: Value| {
        let body = fox_with(json!({"metadata": metadata}));
        server
            .generation(&customer, PRO, &body)
            .expect(202)
            .job_id()
    };
    let order = with(json!({"order": "4711", "rush": true, "a=b": "c&d", "note": "\u{e9}"}));
    let text = r#"{"prompt": "a fox", "aspect_ratio": "1:1", "metadata":
        {"order": 4711, "rush": false, "half": 1.50, "nothing": null}}"#;
    let number = server
        .native(&customer, "POST", PRO)
        .text(text)
        .expect(202)
        .job_id();
    let nested = with(json!({"order": {"id": "4711"}, "rush": ["true"], "_own": "x"}));
    server.create(&customer);
    for (query, wanted) in [
        ("metadata[order]=4711", vec![&number, &order]),
        ("metadata%5Border%5D=4711", vec![&number, &order]),
        ("metadata[rush]=true", vec![&order]),
        ("metadata[rush]=false&metadata[order]=4711", vec![&number]),
        ("metadata[rush]=true&metadata[half]=1.5", vec![]),
        ("metadata[half]=1.50", vec![&number]),
        ("metadata[nothing]=null", vec![&number]),
        ("metadata[a%3Db]=c%26d", vec![&order]),
        ("metadata[note]=%C3%A9", vec![&order]),
        ("metadata[note]=%E9", vec![]),
        ("metadata[_own]=x", vec![&nested]),
        ("metadata[order]=", vec![]),
        ("metadata[]=4711", vec![]),
        ("metadata[order.id]=4711", vec![]),
        ("metadata[order]=4711&tier=fast", vec![]),
    ] {
        let wanted: Vec<String> = wanted.into_iter().cloned().collect();
        assert_eq!(list_all_pages(&server, &customer, query), wanted, "{query}");
    }
}

#[test]
fn metadata_of_a_large_request_is_found_as_well() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let body = fox_with(json!({"prompt": "x".repeat(20_000), "metadata": {"order": "7"}}));
    let job = server
        .generation(&customer, PRO, &body)
        .expect(202)
        .job_id();
    server.create(&customer);
    assert_eq!(
        list_all_pages(&server, &customer, "metadata[order]=7"),
        std::slice::from_ref(&job)
    );
    server.assert_settled();
    assert_eq!(
        list_all_pages(&server, &customer, "metadata[order]=7"),
        [job]
    );
}

#[test]
fn a_page_scans_a_bounded_number_of_jobs_and_its_cursor_continues() {
    let server = Server::start();
    let customer = server.customer("1000.00");
    let fast = "/nb/text-generations";
    let first = server
        .generation(&customer, fast, &fox())
        .expect(202)
        .job_id();
    let mut session = crate::support::http::Session::open(server.address);
    let other = server.generation(&customer, PRO, &fox());
    for _ in 0..2_100 {
        assert_eq!(session.send(&other).status, 202);
    }
    let page = list_jobs(&server, &customer, "?tier=fast");
    assert_eq!(ids(&page), Vec::<String>::new());
    let next = page["next_cursor"].as_str().unwrap();
    let page = list_jobs(&server, &customer, &format!("?tier=fast&cursor={next}"));
    assert_eq!(ids(&page), [first]);
    assert!(page["next_cursor"].is_null());
    server.assert_settled();
}

#[test]
fn a_bad_parameter_is_422_by_its_name() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server.create(&customer);
    let long = "9".repeat(6_000);
    for (query, fields) in [
        ("limit=0", &["limit"][..]),
        ("limit=101", &["limit"]),
        ("limit=-1", &["limit"]),
        ("limit=1e1", &["limit"]),
        ("limit=", &["limit"]),
        ("limit=20%00", &["limit"]),
        ("limit=18446744073709551616", &["limit"]),
        (&format!("limit={long}"), &["limit"]),
        ("cursor=", &["cursor"]),
        ("cursor=null", &["cursor"]),
        ("cursor=../../etc", &["cursor"]),
        (&format!("cursor={long}"), &["cursor"]),
        ("status=Done", &["status"]),
        ("status=", &["status"]),
        ("status=done,failed", &["status"]),
        ("tier=nb2", &["tier"]),
        ("mode=image", &["mode"]),
        ("key=mine", &["key"]),
        ("created_after=yesterday", &["created_after"]),
        ("created_after=2026-11-18", &["created_after"]),
        (
            "created_after=2026-01-01T00:00:00+02:00",
            &["created_after"],
        ),
        ("created_before=1795000000", &["created_before"]),
        ("created_before=2026-13-01T00:00:00Z", &["created_before"]),
        ("metadata=x", &["metadata"]),
        ("metadata[x=1", &["metadata[x"]),
        ("status[x]=done", &["status[x]"]),
        ("offset=20", &["offset"]),
        ("Limit=5", &["Limit"]),
        ("limit=5&limit=5", &["limit"]),
        ("status=done&status=failed", &["status"]),
        ("metadata[a]=1&metadata[a]=2", &["metadata[a]"]),
        (
            "limit=0&cursor=x&tier=y&who=me",
            &["limit", "cursor", "tier", "who"],
        ),
    ] {
        server
            .native(&customer, "GET", &format!("/jobs?{query}"))
            .invalid(fields);
    }
    let many: Vec<String> = (0..11).map(|at| format!("metadata[m{at}]=1")).collect();
    let path = format!("/jobs?{}", many.join("&"));
    server
        .native(&customer, "GET", &path)
        .invalid(&["metadata[m10]"]);
    // The answer stays small, however many faults there are.
    let many: Vec<String> = (0..900).map(|at| format!("x{at}=1")).collect();
    let path = format!("/jobs?{}", many.join("&"));
    let answer = server
        .native(&customer, "GET", &path)
        .refused(422, "validation_failed");
    assert!(answer.body.len() < 10_000);
}

#[test]
fn an_empty_history_is_an_empty_list() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let answer = server.native(&customer, "GET", "/jobs").expect(200);
    assert_eq!(answer.json(), json!({"data": [], "next_cursor": null}));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    server.get("/api/v1/jobs").refused(401, "unauthorized");
    let answer = server
        .native(&customer, "POST", "/jobs")
        .refused(405, "method_not_allowed");
    assert_eq!(answer.header("allow"), Some("GET, HEAD"));
}
