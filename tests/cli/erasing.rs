//! `tintype job erase` and `tintype account erase`.

use crate::support::{Service, run, until_some};
use serde_json::{Value, json};

/// Creates a job with this metadata, and waits until it is done.
pub fn done(service: &Service, user: &str) -> String {
    let (status, job) = post(
        service,
        &json!({"prompt": "a fox", "aspect_ratio": "1:1", "metadata": {"user": user}}),
    );
    assert_eq!(status, "202", "{job}");
    let id = job["job_id"].as_str().unwrap().to_owned();
    until_some("the job is done", || {
        let shown = service.json(&["job", "show", &id]);
        (shown["status"] == "done").then_some(())
    });
    id
}

fn post(service: &Service, body: &Value) -> (String, Value) {
    let host = service.url.trim_start_matches("http://");
    let (body, key) = (body.to_string(), &service.key);
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    let head = format!(
        "POST /api/v1/nb/text-generations HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut stream, &mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().to_owned();
    (status, serde_json::from_str(body).unwrap())
}

#[test]
fn the_jobs_of_a_person_are_erased_after_a_confirmation() {
    let service = Service::start();
    let [first, second, other, one] = ["42", "42", "43", "44"].map(|user| done(&service, user));
    let of_person = [
        "job",
        "erase",
        "--account",
        "default",
        "--metadata",
        "user=42",
    ];
    let with = |option: &'static str| [&of_person[..], &[option]].concat();
    let refused = run(service.command(&of_person), b"").failure();
    assert!(
        refused.contains("2 ended jobs match; add --yes"),
        "{refused}"
    );
    let listed = service.json(&with("--dry-run"));
    let ids = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["job_id"]);
    let mut ids: Vec<&Value> = ids.collect();
    ids.reverse();
    assert_eq!(ids, [&json!(first), &json!(second)]);
    let shown = |id: &str| service.json(&["job", "show", id]);
    assert_eq!(shown(&first)["prompt"], "a fox");

    let erased = service.run(&with("--yes"));
    assert_eq!(erased, "erased the content of 2 jobs\n");
    for id in [&first, &second] {
        let job = shown(id);
        assert_eq!(
            (&job["prompt"], &job["status"]),
            (&Value::Null, &json!("done"))
        );
    }
    assert_eq!(
        service.json(&with("--yes")),
        json!({"erased": 0, "not_ended": 0})
    );
    for options in [&with("--yes"), &of_person.to_vec()] {
        let nothing = service.run(options);
        assert_eq!(
            nothing,
            "no job of the account default matches; nothing is erased\n"
        );
    }
    let single = service.run(&["job", "erase", &one]);
    assert_eq!(single, format!("erased the content of {one}\n"));
    assert_eq!(shown(&one)["prompt"], Value::Null);
    assert_eq!(shown(&other)["prompt"], "a fox");
    for wrong in [&["job", "erase"][..], &["job", "erase", &one, "--yes"]] {
        assert_eq!(run(service.command(wrong), b"").code, Some(2));
    }
    service.stop_and_run(&["verify", "--data-dir", "data"]);
}

#[test]
fn an_account_is_erased_after_a_confirmation() {
    let service = Service::start();
    let jobs = [1, 2].map(|_| done(&service, "42"));
    let account = service.json(&["account", "show", "default"]);
    let id = account["account_id"].as_str().unwrap();
    let refused = run(service.command(&["account", "erase", "default"]), b"").failure();
    assert!(refused.contains("add --yes to confirm"), "{refused}");
    assert!(refused.contains(id), "{refused}");
    assert!(refused.contains("its balance of 99.922 stays"), "{refused}");
    let erased = service.run(&["account", "erase", "default", "--yes"]);
    let balance = "its balance of 99.922 stays on record";
    assert_eq!(erased, format!("erased {id} with 2 jobs; {balance}\n"));
    let shown = service.json(&["account", "show", id]);
    assert_eq!(
        (&shown["name"], &shown["active"]),
        (&json!(format!("erased-{}", &id[28..])), &json!(false))
    );
    for job in &jobs {
        assert_eq!(service.json(&["job", "show", job])["prompt"], Value::Null);
    }
    let again = service.json(&["account", "erase", id, "--yes"]);
    assert_eq!(
        again,
        json!({"account_id": id, "jobs": 2, "balance": "99.922"})
    );
    service.stop_and_run(&["verify", "--data-dir", "data"]);
}
