//! Beyond the specification: the image of a job is deleted on demand, by the account or the operator.

use crate::support::{Behaviour, Browser, Customer, OneNode, Options, Server};
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use std::time::Duration;
use tintype::application::caller::Caller;
use tintype::application::images::deletion;
use tintype::server::sweeps::{SweepLimits, Sweeps};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::commit_and_wait;
use tintype_storage::store::tables::DELETIONS_COMPLETE;

fn done(server: &Server, customer: &Customer) -> Value {
    let job = server.create(customer);
    server.job_once(customer, &job, "done")
}

fn path(job: &Value) -> String {
    format!("/jobs/{}/image", job["job_id"].as_str().unwrap())
}

/// What a deletion leaves that ends after its commit: the process dies, or the object store refuses.
fn record_deletion(server: &Server, customer: &Customer, job: &Value, at: Timestamp) {
    let store = &server.inside().store;
    let job = job["job_id"].as_str().unwrap().parse().unwrap();
    let account = customer.account.parse().unwrap();
    let mark = store.put_deleted_image(account, job, at);
    commit_and_wait(&**store.engine(), mark).unwrap();
}

/// The path and query of a job's image.
fn image(job: &Value) -> &str {
    let url = job["result"]["image_url"].as_str().unwrap();
    &url[url.find("/files/").unwrap()..]
}

#[test]
fn a_deleted_image_is_gone_with_its_views_and_the_charge_stays() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let (job, other) = (done(&server, &customer), done(&server, &customer));
    let view = format!("{}&width=512", image(&job));
    server.get(image(&job)).expect(200);
    server.get(&view).expect(200);
    // The store removes an empty directory.
    let views = || {
        let found = std::fs::read_dir(server.objects().join("thumbnails"));
        found.map_or(0, Iterator::count)
    };
    assert_eq!(views(), 1);

    let delete = server.native(&customer, "DELETE", &path(&job));
    assert!(delete.expect(204).body.is_empty());
    for url in [image(&job), &view] {
        server.get(url).refused(410, "gone");
    }
    assert_eq!(views(), 0);
    // Repeated, it does the same.
    delete.expect(204);
    let again = server.job(&customer, job["job_id"].as_str().unwrap());
    assert_eq!(
        (&again["status"], &again["error"]),
        (&json!("done"), &Value::Null)
    );
    server.get(image(&again)).refused(410, "gone");
    server.get(image(&other)).expect(200);
    server.assert_money(&customer, "0.732", "0.00", "0.732");
    server.assert_settled();
}

#[test]
fn a_deletion_removes_images_that_interrupted_runs_have_left() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let [job, other] = [done(&server, &customer), done(&server, &customer)];
    let key = server.result_key(job["job_id"].as_str().unwrap());
    for extension in ["jpg", "webp"] {
        let left = server.objects().join(key.replace("png", extension));
        std::fs::write(left, "an image").unwrap();
    }
    server.native(&customer, "DELETE", &path(&job)).expect(204);
    let kept = server.result_key(other["job_id"].as_str().unwrap());
    assert_eq!(server.objects_left(), [kept]);
}

#[test]
fn a_repeated_deletion_does_not_hold_the_lock_of_favourites_while_it_deletes_objects() {
    let options = Options::new().one_node(OneNode::Alone);
    // The lock of nodes is a record, which no poll takes at once.
    if options.is_on_postgres() {
        return;
    }
    let server = Server::with(options);
    let customer = server.customer("1.00");
    let job = done(&server, &customer);
    record_deletion(&server, &customer, &job, server.inside().now());
    let [account, id] = [&json!(customer.account), &job["job_id"]];
    let account = account.as_str().unwrap().parse().unwrap();
    let id = id.as_str().unwrap().parse().unwrap();
    let (jobs, caller) = (&server.instance().jobs, Caller::service());
    let content = &server.inside().locks.content;
    let system = actix_web::rt::System::new();
    system.block_on(async {
        let mut deletion = Box::pin(deletion::delete(jobs, &caller, account, id));
        let deleted = loop {
            if let Some(deleted) = deletion.as_mut().now_or_never() {
                break deleted;
            }
            // The deletion cannot continue meanwhile, so it waits for the object store or has not begun.
            tokio::task::yield_now().await;
            assert!(content.lock().now_or_never().is_some());
        };
        deleted.expect("a deletion");
    });
    server.get(image(&job)).refused(410, "gone");
}

#[test]
fn only_a_job_with_an_image_has_one_to_delete() {
    let server = Server::with(Options::new().slots(1));
    let customer = server.customer("10.00");
    server.generator.hold();
    let running = server.create(&customer);
    let running = server.job_once(&customer, &running, "processing");
    let queued = server.create(&customer);
    let queued = server.job(&customer, &queued);
    for job in [&queued, &running] {
        let delete = server.native(&customer, "DELETE", &path(job));
        delete.refused(409, "conflict");
    }
    server.generator.behave(Behaviour::Refuse("no"));
    server.generator.release_all();
    let failed = server.job_once(&customer, queued["job_id"].as_str().unwrap(), "failed");
    let delete = server.native(&customer, "DELETE", &path(&failed));
    delete.refused(409, "conflict");

    let job = path(&running);
    let other = server.customer("1.00");
    server
        .native(&other, "DELETE", &job)
        .refused(404, "not_found");
    let missing = format!("/jobs/{}/image", customer.account);
    server
        .native(&customer, "DELETE", &missing)
        .refused(404, "not_found");
    server
        .native(&customer, "GET", &job)
        .refused(405, "method_not_allowed");
    server.assert_settled();
}

#[test]
fn the_operator_deletes_an_image_and_the_audit_log_names_the_job() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let job = done(&server, &customer);
    server.clock.advance(Duration::from_secs(1));
    for _ in 0..2 {
        server.admin("DELETE", &path(&job)).expect(204);
    }
    server.get(image(&job)).refused(410, "gone");
    let log = server.admin("GET", "/audit?limit=2").expect(200).json();
    let line = &log["data"][0];
    assert_eq!(line["action"], "job.delete_image");
    assert_eq!(line["account_id"], customer.account);
    assert_eq!(line["subject_id"], job["job_id"]);
    assert!(line["before"]["width"].is_u64(), "{line}");
    assert_eq!(line["after"], Value::Null);
    assert_ne!(log["data"][1]["action"], line["action"], "one entry");
    server.assert_settled();
}

#[test]
fn owners_delete_images_in_the_panel_and_viewers_do_not() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let job = done(&server, &customer);
    let id = job["job_id"].as_str().unwrap();
    let account = format!("/accounts/{}", customer.account);
    let call = |browser: &Browser, method: &str, path: &str| {
        let path = format!("{account}/jobs/{id}{path}");
        browser.call(&server, method, &path).send()
    };
    let owner = server.person(&customer.account, "owner@a.example", "owner");
    let viewer = server.person(&customer.account, "viewer@a.example", "viewer");
    assert_eq!(call(&owner, "PUT", "/favourite").status, 204);
    call(&viewer, "DELETE", "/picture").assert_problem(403, "forbidden");
    assert_eq!(call(&viewer, "GET", "/picture").status, 200);
    assert_eq!(call(&viewer, "GET", "").json()["image_deleted"], false);

    assert_eq!(call(&owner, "DELETE", "/picture").status, 204);
    call(&viewer, "GET", "/picture").assert_problem(410, "gone");
    let shown = call(&viewer, "GET", "").json();
    let marks = (&shown["image_deleted"], &shown["favourite"]);
    assert_eq!(marks, (&json!(true), &json!(false)));
    call(&owner, "PUT", "/favourite").assert_problem(410, "gone");
    server.assert_settled();
}

#[test]
fn a_browser_shows_no_image_from_its_cache_before_it_has_asked() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let job = done(&server, &customer);
    let picture = format!(
        "/accounts/{}/jobs/{}/picture",
        customer.account,
        job["job_id"].as_str().unwrap()
    );
    let owner = server.person(&customer.account, "owner@a.example", "owner");
    let viewer = server.person(&customer.account, "viewer@a.example", "viewer");
    let call = |browser: &Browser, query: &str, tag: &str| {
        let call = browser.call(&server, "GET", &format!("{picture}{query}"));
        call.header("If-None-Match", tag).send()
    };
    let shown = ["", "?width=256"].map(|query| {
        let first = call(&viewer, query, "\"another\"");
        let tag = first.header("etag").unwrap().to_owned();
        let again = call(&viewer, query, &tag);
        assert_eq!((first.status, again.status), (200, 304));
        assert_eq!(again.body, b"");
        for answer in [&first, &again] {
            assert_eq!(answer.header("cache-control"), Some("private, no-cache"));
            assert_eq!(answer.header("etag"), Some(&*tag));
        }
        (query, tag)
    });
    viewer.call(&server, "DELETE", "/session").expect(204);
    for (query, tag) in &shown {
        assert_eq!(call(&viewer, query, tag).status, 401);
        assert_eq!(call(&owner, query, tag).status, 304);
    }
    owner.call(&server, "DELETE", &picture).expect(204);
    for (query, tag) in &shown {
        call(&owner, query, tag).assert_problem(410, "gone");
    }
}

#[test]
fn a_deletion_that_was_interrupted_is_shown_as_open_and_completed_by_maintenance() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let [job, old] = [done(&server, &customer), done(&server, &customer)];
    let preview = format!("{}&width=512", image(&job));
    server.get(&preview).expect(200);
    let now = server.inside().now();
    record_deletion(&server, &customer, &job, now);
    let two_days = Duration::from_secs(2 * 86_400);
    record_deletion(&server, &customer, &old, now.minus(two_days));
    // An earlier process has completed the older one.
    let completed = DELETIONS_COMPLETE.put(&(), &now.minus(Duration::from_secs(3_600)));
    let engine = server.inside().store.engine();
    commit_and_wait(&**engine, vec![completed]).unwrap();

    let account = format!("/accounts/{}", customer.account);
    let browser = server.operators_browser();
    let panel = format!("{account}/jobs/{}", job["job_id"].as_str().unwrap());
    let show = || browser.call(&server, "GET", &panel).expect(200).json();
    server.get(image(&job)).expect(200);
    assert_eq!(show()["image_deleted"], false, "it can be repeated");
    let favourite = format!("{panel}/favourite");
    let favourite = browser.call(&server, "PUT", &favourite).send();
    favourite.assert_problem(410, "gone");
    let shown = server.admin("GET", &format!("/jobs/{}", job["job_id"].as_str().unwrap()));
    assert_eq!(shown.expect(200).json()["image_deleted"], true);

    let key = server.result_key(job["job_id"].as_str().unwrap());
    let file = server.objects().join(key);
    let content = std::fs::read(&file).unwrap();
    let complete = |sweeps: &mut Sweeps| {
        let runtime = actix_web::rt::System::new();
        runtime.block_on(sweeps.complete_deletions(&server.instance().jobs));
    };
    let limits = SweepLimits { step: 9, steps: 9 };
    let mut sweeps = Sweeps::new(limits);
    complete(&mut sweeps);
    for url in [image(&job), &preview] {
        server.get(url).refused(410, "gone");
    }
    assert!(!server.objects().join("thumbnails").exists());
    assert_eq!(show()["image_deleted"], true);
    server.get(image(&old)).expect(200);

    // After a power failure, the file is there again. The service was off for long.
    let put_back = || {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &content).unwrap();
    };
    put_back();
    server.clock.advance(two_days);
    complete(&mut Sweeps::new(limits));
    assert!(!file.exists());
    // Without a restart, completed deletions are not repeated.
    put_back();
    complete(&mut sweeps);
    assert!(!file.exists(), "the last call was two days ago");
    put_back();
    complete(&mut sweeps);
    assert!(file.exists());
    // A restart repeats only those of the day before the completed ones, however long ago the newest deletion was.
    complete(&mut Sweeps::new(limits));
    assert!(file.exists());
}

#[test]
fn a_sweep_while_the_clock_is_ahead_completes_no_later_deletion() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let jobs = [(); 3].map(|()| done(&server, &customer));
    let system = actix_web::rt::System::new();
    let complete = |sweeps: &mut Sweeps| {
        system.block_on(sweeps.complete_deletions(&server.instance().jobs));
    };
    let is_gone = |job: &Value| {
        let key = server.result_key(job["job_id"].as_str().unwrap());
        !server.objects().join(key).exists()
    };
    let limits = SweepLimits { step: 9, steps: 9 };
    let (hour, ahead) = (Duration::from_secs(3_600), Duration::from_secs(3 * 86_400));
    let mut sweeps = Sweeps::new(limits);
    server.clock.advance(ahead);
    complete(&mut sweeps);
    server.clock.set_back(ahead);
    let delete_at = |job: &Value, age: Duration| {
        let at = server.inside().now().minus(age);
        record_deletion(&server, &customer, job, at);
    };
    delete_at(&jobs[0], 2 * hour);
    // The same process.
    complete(&mut sweeps);
    assert!(is_gone(&jobs[0]));
    server.clock.advance(ahead);
    complete(&mut Sweeps::new(limits));
    server.clock.set_back(ahead);
    delete_at(&jobs[1], 2 * hour);
    // After a restart.
    complete(&mut Sweeps::new(limits));
    assert!(is_gone(&jobs[1]));
    // That sweep has corrected the mark: deletions are repeated however late the next start is.
    delete_at(&jobs[2], 2 * hour);
    server.clock.advance(2 * ahead);
    complete(&mut Sweeps::new(limits));
    assert!(is_gone(&jobs[2]));
}
