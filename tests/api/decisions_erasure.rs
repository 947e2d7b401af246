//! Beyond the specification: the operator erases the personal data of a job, and the accounts still add up.

use crate::panel_search::index;
use crate::support::batches::entry_with;
use crate::support::http::Request;
use crate::support::sample_images::png;
use crate::support::{Behaviour, Customer, Options, Origin, Server, Wire, fox_with, origin, until};
use serde_json::{Value, json};
use std::time::Duration;
use tintype_storage::engine::{Direction, KeyRange};
use tintype_storage::store::tables::table_of;

/// The person who asks for erasure.
pub const NAME: &str = "lovelace";

fn has_name(bytes: &[u8]) -> bool {
    let mut parts = bytes.windows(NAME.len());
    parts.any(|it| it.eq_ignore_ascii_case(NAME.as_bytes()))
}

/// The kinds of records that contain the name, and the folders of such objects.
fn traces(server: &Server) -> Vec<String> {
    let engine = server.inside().store.engine();
    let all = engine.scan(&KeyRange::prefix(b""), Direction::Rising, usize::MAX);
    let all = all.wait().unwrap();
    let all = all
        .iter()
        .filter(|(key, value)| has_name(key) || has_name(value));
    let kinds = all.filter_map(|(key, _)| Some(table_of(key)?.name().to_owned()));
    let objects = server.objects_left().into_iter();
    let objects = objects.filter(|it| has_name(&std::fs::read(server.objects().join(it)).unwrap()));
    let folders = objects.filter_map(|it| Some(it.split_once('/')?.0.to_owned()));
    let mut found: Vec<String> = kinds.chain(folders).collect();
    found.sort();
    found.dedup();
    found
}

pub fn content(job: &str) -> String {
    format!("/jobs/{job}/content")
}

pub fn create(server: &Server, customer: &Customer, body: Value) -> String {
    let call = server.generation(customer, "/text-generations", &fox_with(body));
    call.expect(202).job_id()
}

/// A prompt whose words fill half a block of the search index.
fn words(word: &str) -> String {
    let words: Vec<String> = (0..400).map(|at| format!("{word}{at}")).collect();
    words.join(" ")
}

#[test]
fn an_erased_job_leaves_no_text_of_its_caller_and_keeps_its_charge() {
    let long_path = format!("/{NAME}/{}", "a".repeat(500));
    let origin = Origin::with([(long_path.clone(), origin::bytes(png(160, 90)))]);
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("10.00");
    let metadata = json!({"user": NAME, "_note": {"name": NAME}});
    let with = |prompt: String| json!({"prompt": prompt, "metadata": metadata});
    let inline = create(&server, &customer, with(words(NAME)));
    let stored = create(&server, &customer, with(NAME.repeat(900)));
    let other = create(&server, &customer, json!({"prompt": words("babbage")}));
    for job in [&inline, &stored, &other] {
        server.job_once(&customer, job, "done");
    }
    let entry = |id: &str, images: usize| {
        let urls = vec![origin.url(&long_path); images];
        entry_with(
            json!({"custom_id": format!("{NAME}-{id}"), "input_images_urls": urls, "prompt": NAME, "metadata": metadata}),
        )
    };
    let batch = server.submit(&customer, &[entry("one", 1), entry("many", 12)]);
    server.batch_ended(&customer, &batch);
    server
        .generator
        .behave(Behaviour::Refuse("lovelace is not allowed"));
    let failed = create(&server, &customer, json!({"prompt": "a fox"}));
    let refused = server.job_once(&customer, &failed, "failed");
    assert!(has_name(refused["error"].as_str().unwrap().as_bytes()));
    server.clock.advance(Duration::from_secs(11));
    index(&server);
    let members = server.results(&customer, &batch);
    let members = members
        .iter()
        .map(|it| it["job_id"].as_str().unwrap().to_owned());
    let erased: Vec<String> = [inline, stored, failed]
        .into_iter()
        .chain(members)
        .collect();
    let before = server.money(&customer);
    let read = |job: &str| {
        server
            .admin("GET", &format!("/jobs/{job}"))
            .expect(200)
            .json()
    };
    let kept = |job: &Value| {
        let names = [
            "status",
            "price",
            "tier",
            "mode",
            "ratio",
            "resolution",
            "key_id",
        ];
        let times = ["created_at", "started_at", "finished_at", "batch_id"];
        names
            .iter()
            .chain(&times)
            .map(|it| job[it].clone())
            .collect::<Vec<_>>()
    };
    let old: Vec<Vec<Value>> = erased.iter().map(|it| kept(&read(it))).collect();
    assert_eq!(traces(&server), ["ended_job", "search_block", "words"]);

    for job in &erased {
        for _ in 0..2 {
            server.admin("DELETE", &content(job)).expect(204);
        }
    }
    assert_eq!(traces(&server), [""; 0]);
    for (job, old) in erased.iter().zip(old) {
        let new = read(job);
        assert_eq!(kept(&new), old);
        assert_eq!(new["erased"], true);
        for gone in ["prompt", "metadata", "callback_url"] {
            assert_eq!(new[gone], Value::Null, "{gone}");
        }
        let error = match new["status"] == "failed" {
            true => json!("erased"),
            false => Value::Null,
        };
        assert_eq!(new["error"], error);
        assert_eq!(new.get("causes"), None);
    }
    let members = server.results(&customer, &batch);
    assert_eq!(
        (&members[0]["custom_id"], &members[1]["custom_id"]),
        (&json!("0"), &json!("1"))
    );
    let search = format!("/accounts/{}/jobs?prompt=babbage7", customer.account);
    let found = server.operators_browser().call(&server, "GET", &search);
    let found = found.expect(200).json();
    assert_eq!(found["data"][0]["job_id"], other.as_str());
    assert_eq!(server.money(&customer), before);
    let log = server
        .admin("GET", "/audit?action=job.erase")
        .expect(200)
        .json();
    let log = log["data"].as_array().unwrap();
    assert_eq!(log.len(), erased.len(), "one entry per job");
    assert_eq!(log[0]["subject_id"], erased.last().unwrap().as_str());
    assert_eq!(log[0]["before"], json!({"status": "done"}));
    server.assert_settled();
}

#[test]
fn only_an_ended_job_is_erased_and_only_by_the_operator() {
    let server = Server::with(Options::new().slots(1));
    let customer = server.customer("10.00");
    server.generator.hold();
    let job = server.create(&customer);
    let erase = server.admin("DELETE", &content(&job));
    let detail = erase.refused(409, "conflict").json()["detail"].clone();
    assert_eq!(
        detail,
        "the job has not ended; cancel it, or wait until it ends"
    );
    server.generator.release_all();
    server.job_once(&customer, &job, "done");
    let unknown = content(&customer.account);
    server.admin("DELETE", &unknown).refused(404, "not_found");
    let another = server.customer("1.00").account;
    let elsewhere = format!("{}?account_id={another}", content(&job));
    server.admin("DELETE", &elsewhere).refused(404, "not_found");
    let own = server.native(&customer, "DELETE", &content(&job));
    own.refused(404, "not_found");
    assert_eq!(
        server
            .admin("GET", &format!("/jobs/{job}"))
            .expect(200)
            .json()["prompt"],
        "a red fox in the snow"
    );
    // A canceled job keeps its error, which quotes nothing.
    server.generator.hold();
    let running = server.create(&customer);
    server.job_once(&customer, &running, "processing");
    let canceled = server.create(&customer);
    server
        .native(&customer, "DELETE", &format!("/jobs/{canceled}"))
        .expect(200);
    server.admin("DELETE", &content(&canceled)).expect(204);
    assert_eq!(server.job(&customer, &canceled)["error"], "canceled");
    server.generator.release_all();
    server.job_once(&customer, &running, "done");
    server.assert_settled();
}

/// Uploads a file whose name and content contain the name.
pub fn upload(server: &Server, customer: &Customer) -> Request {
    let file = format!(
        "--b\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{NAME}.jsonl\"\r\n\r\n{{\"prompt\": \"{NAME}\"}}\r\n--b--\r\n"
    );
    let call = server.call("POST", "/v1/files").bearer(&customer.key);
    call.bytes("multipart/form-data; boundary=b", file.as_bytes())
}

/// An account whose name, person, webhook, keys, file, jobs and batch all tell who it is.
fn studio(server: &Server) -> (Customer, Vec<String>) {
    let customer = server.customer("10.00");
    let account = format!("/accounts/{}", customer.account);
    let name = json!({"name": NAME});
    server.admin("PATCH", &account).json(&name).expect(200);
    let person = json!({"email": format!("{NAME}@example.com"), "role": "owner"});
    let invite = server.admin("POST", &format!("{account}/people"));
    invite.json(&person).expect(201);
    // A key that was deleted before has a name, too.
    let deleted = server.another_key(&customer.account, name.clone());
    let of_deleted = server.create(&deleted);
    server.job_once(&customer, &of_deleted, "done");
    server
        .admin("DELETE", &format!("/keys/{}", deleted.key_id))
        .expect(204);
    server.another_key(&customer.account, name);
    upload(server, &customer).expect(200);
    let body = json!({"prompt": NAME.repeat(900), "metadata": {"user": NAME}});
    let jobs: Vec<String> = (0..3)
        .map(|_| create(server, &customer, body.clone()))
        .collect();
    for job in &jobs {
        server.job_once(&customer, job, "done");
    }
    let batch =
        json!({"requests": [entry_with(json!({"prompt": NAME}))], "metadata": {"user": NAME}});
    let batch = server.batch_call(&customer, &batch).expect(202).json();
    server.batch_ended(&customer, &batch);
    (customer, jobs)
}

/// The traces but the audit log, whose entries are never changed.
pub fn traces_outside_of_the_log(server: &Server) -> Vec<String> {
    let mut found = traces(server);
    found.retain(|it| it != "audit_entry");
    found
}

#[test]
fn an_erased_account_keeps_its_ledger_and_nothing_that_names_a_person() {
    let server = Server::start();
    let (customer, jobs) = studio(&server);
    let found = traces_outside_of_the_log(&server);
    for kind in [
        "account",
        "api_key",
        "batch",
        "deleted_api_key",
        "ended_job",
        "person",
        "uploaded_file",
        "uploads",
        "words",
    ] {
        assert!(found.iter().any(|it| it == kind), "{kind}: {found:?}");
    }
    let account = format!("/accounts/{}", customer.account);
    let ledger = || {
        server
            .admin("GET", &format!("{account}/transactions"))
            .expect(200)
            .json()
    };
    let read = || server.admin("GET", &account).expect(200).json();
    let (old_ledger, old) = (ledger(), read());
    let erase = |query: &str| server.admin("DELETE", &format!("{account}/content?limit=2{query}"));

    // Interrupted after a step, it begins again.
    let first = erase("").expect(200).json();
    assert_eq!(first["jobs"], 2);
    assert!(first["next_cursor"].is_string());
    assert_eq!(read()["active"], false);
    assert_eq!(read()["name"], NAME, "not complete yet");
    server
        .native(&customer, "GET", "/balance")
        .refused(401, "unauthorized");
    for _ in 0..2 {
        let (mut count, mut cursor) = (0, String::new());
        loop {
            let step = erase(&cursor).expect(200).json();
            count += step["jobs"].as_u64().unwrap();
            let Some(next) = step["next_cursor"].as_str() else {
                break;
            };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(count, 5, "all jobs");
        assert_eq!(traces_outside_of_the_log(&server), [""; 0]);
    }
    let erased = read();
    // The first digits of an id are its time: accounts of the same minute share them.
    let name = format!("erased-{}", &customer.account[28..]);
    assert_eq!(erased["name"], name.as_str());
    assert_eq!(erased["balance"], old["balance"]);
    assert_eq!(ledger(), old_ledger);
    let job = server
        .admin("GET", &format!("/jobs/{}", jobs[0]))
        .expect(200)
        .json();
    assert_eq!(
        (&job["status"], &job["prompt"]),
        (&json!("done"), &Value::Null)
    );
    for list in ["/people", "/webhooks", "/keys"] {
        let list = server
            .admin("GET", &format!("{account}{list}"))
            .expect(200)
            .json();
        assert_eq!(list["data"], json!([]));
    }
    let log = server
        .admin("GET", "/audit?action=account.erase")
        .expect(200)
        .json();
    let log = log["data"].as_array().unwrap();
    assert_eq!(log.len(), 1, "{log:?}");
    assert_eq!(
        (&log[0]["before"], &log[0]["after"]),
        (&Value::Null, &json!({"name": name}))
    );
    server.assert_settled();
}

#[test]
fn an_account_with_a_live_job_is_not_erased() {
    let server = Server::start();
    let customer = server.customer("10.00");
    server.generator.hold();
    let job = server.create(&customer);
    let path = format!("/accounts/{}", customer.account);
    let erase = server.admin("DELETE", &format!("{path}/content"));
    erase.refused(409, "conflict");
    let account = server.admin("GET", &path).expect(200).json();
    assert_eq!(account.get("active"), None, "nothing has changed");
    server.generator.release_all();
    server.job_once(&customer, &job, "done");
    let done = erase.expect(200).json();
    assert_eq!(done, json!({"jobs": 1, "next_cursor": null}));
    server.assert_settled();
}

/// Erases an account in steps of one record, with `between` after the first step. Returns the number of steps.
fn erase_in_steps(server: &Server, account: &str, between: impl FnOnce()) -> usize {
    let step = |cursor: &str| {
        let call = format!("/accounts/{account}/content?limit=1{cursor}");
        let step = server.admin("DELETE", &call).expect(200).json();
        let next = step["next_cursor"].as_str();
        next.map(|next| format!("&cursor={next}"))
    };
    let mut cursor = step("");
    between();
    for steps in 1..20 {
        match cursor {
            Some(next) => cursor = step(&next),
            None => return steps,
        }
    }
    panic!("the erasure does not end");
}

/// Otherwise the client gives up on a call that takes too long, and begins again.
#[test]
fn a_call_erases_a_bounded_number_of_batches() {
    let server = Server::start();
    let customer = server.customer("10.00");
    for _ in 0..3 {
        let entry = entry_with(json!({"prompt": NAME}));
        let batch = json!({"requests": [entry], "metadata": {"user": NAME}});
        let batch = server.batch_call(&customer, &batch).expect(202).json();
        server.batch_ended(&customer, &batch);
    }
    let steps = erase_in_steps(&server, &customer.account, || ());
    assert_eq!(steps, 6, "one for each job and each batch");
    assert_eq!(traces_outside_of_the_log(&server), [""; 0]);
    server.assert_settled();
}

#[test]
fn an_account_is_not_called_erased_while_a_newer_job_has_its_content() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let done = || {
        let job = create(&server, &customer, json!({"prompt": NAME}));
        server.job_once(&customer, &job, "done");
    };
    done();
    done();
    let account = format!("/accounts/{}", customer.account);
    erase_in_steps(&server, &customer.account, || {
        let active = server.admin("PATCH", &account);
        active.json(&json!({"active": true})).expect(200);
        done();
    });
    let erased = server.admin("GET", &account).expect(200).json();
    assert!(erased["name"].as_str().unwrap().starts_with("erased-"));
    assert_eq!(traces_outside_of_the_log(&server), [""; 0]);
    server.assert_settled();
}

#[test]
fn an_upload_that_ends_after_the_erasure_of_its_account_is_refused() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let bytes = upload(&server, &customer).wire();
    let (most, rest) = bytes.split_at(bytes.len() - 5);
    server.clock.advance(Duration::from_millis(1));
    let began = server.inside().now();
    let mut wire = Wire::begin(server.address, most);
    let key = customer.key_id.parse().unwrap();
    let keys = &server.instance().accounts.auth.api_keys;
    until("the key is read", || keys.last_use(key) == Some(began));
    erase_in_steps(&server, &customer.account, || ());
    wire.send(rest);
    let refused = wire.answer_to("POST").expect("an answer");
    assert_eq!(refused.status, 401, "{}", refused.text());
    assert_eq!(traces_outside_of_the_log(&server), [""; 0]);
    server.assert_settled();
}

#[test]
fn an_erasure_begins_again_if_the_account_was_active_in_between() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let done = || {
        let job = create(&server, &customer, json!({"prompt": NAME}));
        server.job_once(&customer, &job, "done");
        job
    };
    done();
    done();
    let account = format!("/accounts/{}", customer.account);
    erase_in_steps(&server, &customer.account, || {
        let active = server.admin("PATCH", &account);
        active.json(&json!({"active": true})).expect(200);
        done();
        // The newest job is erased already.
        let newest = done();
        server.admin("DELETE", &content(&newest)).expect(204);
    });
    assert_eq!(traces_outside_of_the_log(&server), [""; 0]);
    server.assert_settled();
}
