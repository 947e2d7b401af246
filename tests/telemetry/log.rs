//! The request log: one line per call, in two formats, at configurable levels.

use crate::collector::Collector;
use crate::support::http::all_at_once;
use crate::support::poll::{until, until_some};
use crate::support::process::{Process, ProcessExit};
use crate::support::raw::Wire;
use crate::support::{Answer, fox};
use serde_json::{Value, json};
use std::fs;
use std::net::TcpListener;

/// Starts the program with these settings, makes a few calls, and returns the log and the accepted job.
fn logged(settings: &[(&str, &str)], environment: &[(&str, &str)]) -> (String, Answer) {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Process::command(dir.path(), settings);
    command.envs(environment.iter().copied());
    let process = Process::start_from(command, true);
    let key = process.first_key.clone().unwrap();
    let call = |method: &str, target: &str| process.call(method, target).bearer(&key);
    let accepted = call("POST", "/api/v1/nb/text-generations")
        .header("X-Request-Id", "the-first")
        .json(&fox())
        .expect(202);
    let path = format!("/api/v1/jobs/{}?wait=30&note=zeppelin", accepted.job_id());
    call("GET", &path)
        .header("X-Request-Id", "the-second")
        .expect(200);
    process
        .call("GET", &format!("/v1beta/models?key={key}"))
        .header("X-Request-Id", "the-third")
        .expect(200);
    process
        .call("GET", "/api/v1/nothing")
        .header("X-Request-Id", "the-fourth")
        .expect(401);
    let ProcessExit { status, log } = process.terminate();
    assert_eq!(status, Some(0), "{log}");
    assert!(!log.contains(&key) && !log.contains("zeppelin"), "{log}");
    (log, accepted)
}

#[test]
fn each_call_is_logged_with_caller_request_and_duration() {
    let settings = [("LOG__FILTER", "info"), ("LOG__FORMAT", "json")];
    let (log, accepted) = logged(&settings, &[]);
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let line = |id: &str| {
        let mut found = lines.iter().filter(|line| line["request_id"] == id);
        let line = found
            .next()
            .unwrap_or_else(|| panic!("no line of {id} in {log}"));
        assert!(found.next().is_none(), "one line for {id}");
        assert_eq!(
            (&line["target"], &line["level"]),
            (&"tintype::requests".into(), &"INFO".into())
        );
        assert!(
            line["timestamp"].is_string() && line["message"] == "answered",
            "{line}"
        );
        assert!(line["duration_ms"].as_f64().unwrap() > 0.0, "{line}");
        line.clone()
    };
    let (first, second) = (line("the-first"), line("the-second"));
    let job = accepted.job_id();
    assert_eq!(first["method"], "POST");
    assert_eq!(first["route"], "/api/v1/nb/text-generations");
    assert_eq!(
        (&first["status"], &first["job"]),
        (&202.into(), &job.as_str().into())
    );
    let account = first["account"].as_str().unwrap();
    assert_eq!(account.len(), 36);
    assert_eq!(second["route"], "/api/v1/jobs/{job_id}");
    assert_eq!(second["path"], format!("/api/v1/jobs/{job}"));
    assert_eq!(
        (&second["job"], &second["account"]),
        (&job.as_str().into(), &account.into())
    );
    assert_eq!(
        (&line("the-third")["account"], &line("the-third")["status"]),
        (&account.into(), &200.into())
    );
    assert_eq!(line("the-third")["route"], "/{version}/models");
    let fourth = line("the-fourth");
    assert_eq!(
        (&fourth["status"], fourth.get("account")),
        (&401.into(), None)
    );
}

#[test]
fn successful_calls_are_not_logged_by_default() {
    let (log, _) = logged(&[], &[]);
    assert!(!log.contains("tintype::requests"), "{log}");
    assert!(!log.contains("actix"), "{log}");
    assert!(log.contains("stopped"), "{log}");
}

#[test]
fn a_failed_call_is_logged_with_its_account_by_default() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::start_from(
        Process::command(dir.path(), &[("LOG__FORMAT", "json")]),
        true,
    );
    let key = process.first_key.clone().unwrap();
    let objects = dir.path().join("data/objects");
    std::fs::remove_dir_all(&objects).unwrap();
    std::fs::write(&objects, "in the way").unwrap();
    // Too long for the record, so it is stored as a separate object.
    let mut body = fox();
    body["prompt"] = "x".repeat(20_000).into();
    process
        .call("POST", "/api/v1/nb/text-generations")
        .bearer(&key)
        .header("X-Request-Id", "the-failed-one")
        .json(&body)
        .expect(502);
    let ProcessExit { log, .. } = process.terminate();
    let line = log.lines().find(|it| it.contains("\"answered\"")).unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["request_id"], "the-failed-one");
    assert_eq!(
        (&line["level"], &line["status"]),
        (&"WARN".into(), &502.into())
    );
    assert_eq!(line["route"], "/api/v1/nb/text-generations");
    assert_eq!(line["account"].as_str().map(str::len), Some(36), "{line}");
}

#[test]
fn a_timeout_that_the_caller_chose_is_no_warning() {
    // Accepts connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", silent.local_addr().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let settings = [
        ("LOG__FORMAT", "json"),
        ("LOG__FILTER", "info"),
        ("SERVER__SHUTDOWN_GRACE_SECONDS", "0"),
        ("COMPAT__TIMEOUT_SECONDS", "1"),
        ("BACKENDS__SLOW__KIND", "openai"),
        ("BACKENDS__SLOW__BASE_URL", &url),
        ("TIERS__FAST__BACKENDS", "[{ name = \"slow\" }]"),
    ];
    let process = Process::start(dir.path(), &settings);
    let key = process.first_key.clone().unwrap();
    let body = json!({"contents": [{"parts": [{"text": "a red fox"}]}]});
    let call = process.call("POST", "/v1beta/models/fast:generateContent");
    let call = call.bearer(&key).json(&body);
    for (id, timeout) in [("chosen", "0.1"), ("configured", "9")] {
        let call = call.clone().header("X-Request-Id", id);
        call.header("X-Server-Timeout", timeout).expect(504);
    }
    let ProcessExit { log, .. } = process.terminate();
    let level = |id: &str| {
        let mut lines = log.lines().filter(|it| it.contains("\"answered\""));
        let line = lines.find(|it| it.contains(&format!("\"{id}\"")));
        let line: Value = serde_json::from_str(line.unwrap_or_else(|| panic!("{log}"))).unwrap();
        line["level"].clone()
    };
    assert_eq!(level("chosen"), "INFO", "{log}");
    assert_eq!(level("configured"), "WARN", "{log}");
}

#[test]
fn a_job_that_continues_after_its_caller_has_disconnected_is_logged() {
    // Accepts connections and never answers, so the job runs until the process stops.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", silent.local_addr().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let settings = [
        ("LOG__FORMAT", "json"),
        ("LOG__FILTER", "info"),
        ("SERVER__SHUTDOWN_GRACE_SECONDS", "0"),
        ("BACKENDS__SLOW__KIND", "openai"),
        ("BACKENDS__SLOW__BASE_URL", &url),
        ("TIERS__FAST__BACKENDS", "[{ name = \"slow\" }]"),
    ];
    let process = Process::start(dir.path(), &settings);
    let key = process.first_key.clone().unwrap();
    let body = json!({"contents": [{"parts": [{"text": "a red fox"}]}]});
    let call = process.call("POST", "/v1beta/models/fast:generateContent");
    let call = call.bearer(&key).json(&body);
    let caller = Wire::begin(process.address, &call.wire());
    let job = until_some("the job runs", || {
        let running = process.call("GET", "/api/v1/jobs?status=processing");
        let running = running.bearer(&key).expect(200).json();
        running["data"][0]["job_id"].as_str().map(str::to_owned)
    });
    drop(caller);
    let line = until_some("the disconnect is logged", || {
        let lines = process.logged();
        let line = lines.iter().find(|it| it.contains("the job continues"))?;
        Some(serde_json::from_str::<Value>(line).unwrap())
    });
    assert_eq!(
        line["message"],
        "the caller has disconnected; the job continues"
    );
    assert_eq!(
        (&line["level"], &line["job"]),
        (&"INFO".into(), &job.into()),
        "{line}"
    );
    assert_eq!(line["account"].as_str().map(str::len), Some(36), "{line}");
    process.terminate();
}

#[test]
fn an_object_store_that_fails_every_call_does_not_fill_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::start(dir.path(), &[]);
    let key = process.first_key.clone().unwrap();
    let objects = dir.path().join("data/objects");
    std::fs::remove_dir_all(&objects).unwrap();
    std::fs::write(&objects, "in the way").unwrap();
    let mut body = fox();
    body["prompt"] = "x".repeat(20_000).into();
    let call = process.call("POST", "/api/v1/nb/text-generations");
    let call = call.bearer(&key).json(&body);
    let calls = vec![call; 200];
    assert!(all_at_once(&calls).iter().all(|it| it.status == 502));
    let ProcessExit { log, .. } = process.terminate();
    let lines = log.matches("could not store the text of a request").count();
    assert!((1..200).contains(&lines), "{lines} lines");
}

#[test]
fn a_delivery_that_the_object_store_delays_is_logged_as_its_error() {
    let token = "a-token-of-the-operator-with-32-characters";
    let receiver = Collector::start();
    let dir = tempfile::tempdir().unwrap();
    let settings = [
        ("LOG__FORMAT", "json"),
        ("ADMIN__TOKEN", token),
        ("EGRESS__ALLOW", "[\"127.0.0.0/8\"]"),
    ];
    let process = Process::start(dir.path(), &settings);
    let key = process.first_key.clone().unwrap();
    let admin = |method: &str, path: &str| {
        let target = format!("/admin/v1{path}");
        process.call(method, &target).bearer(token)
    };
    let accounts = admin("GET", "/accounts").expect(200).json();
    let account = accounts["data"][0]["account_id"].as_str().unwrap();
    let webhook = json!({"url": receiver.url("/hook")});
    let webhooks = format!("/accounts/{account}/webhooks");
    admin("POST", &webhooks).json(&webhook).expect(201);
    // Too long for the record, so its event reads it from the object store.
    let mut body = fox();
    body["prompt"] = "x".repeat(20_000).into();
    let call = process.call("POST", "/api/v1/nb/text-generations");
    call.bearer(&key).json(&body).expect(202);
    let delivery = until_some("the event is delivered", || {
        let deliveries = admin("GET", "/deliveries").expect(200).json();
        let delivery = &deliveries["data"][0];
        (delivery["status"] == "delivered").then(|| delivery["delivery_id"].clone())
    });
    let objects = dir.path().join("data/objects");
    std::fs::remove_dir_all(&objects).unwrap();
    std::fs::write(&objects, "in the way").unwrap();
    let again = format!("/deliveries/{}/redeliver", delivery.as_str().unwrap());
    admin("POST", &again).expect(202);
    until("the attempt is delayed", || {
        let metrics = process.call("GET", "/metrics").expect(200).text();
        metrics.contains("tintype_webhook_attempts_not_sent_total 1\n")
    });
    let ProcessExit { log, .. } = process.terminate();
    let mut lines = log.lines().filter(|it| it.contains("retrying later"));
    let line: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!(line["target"], "tintype::object_store", "{line}");
    assert_eq!(line["delivery"], delivery, "{line}");
}

#[test]
fn rust_log_sets_levels_unless_the_specific_variable_does() {
    let (log, _) = logged(&[], &[("RUST_LOG", "warn,tintype::requests=info")]);
    // Without the calls of the check of the responses, which the first test of the process makes.
    let is_own = |it: &&str| it.contains("tintype::requests") && it.contains("\"the-");
    assert_eq!(log.lines().filter(is_own).count(), 4, "{log}");
    assert!(!log.contains("stopped"), "{log}");
    let settings = [("LOG__FILTER", "off")];
    let (log, _) = logged(&settings, &[("RUST_LOG", "trace")]);
    assert_eq!(log, "");
}

#[test]
fn text_for_a_file_has_no_colours() {
    let (log, accepted) = logged(&[("LOG__FILTER", "info")], &[]);
    assert!(!log.contains('\u{1b}'), "{log}");
    let line = log.lines().find(|line| line.contains("the-first")).unwrap();
    assert!(
        line.contains(&format!("job={}", accepted.job_id())),
        "{line}"
    );
}

#[test]
fn a_failed_job_is_logged_once_with_its_id_and_the_answers_of_its_backends() {
    let dir = tempfile::tempdir().unwrap();
    let settings = [
        ("LOG__FORMAT", "json"),
        ("BACKENDS__GONE__KIND", "openai"),
        ("BACKENDS__GONE__BASE_URL", "http://127.0.0.1:9/v1"),
        ("BACKENDS__GONE__RETRIES", "1"),
        ("TIERS__FAST__BACKENDS", "[{ name = \"gone\" }]"),
    ];
    let process = Process::start(dir.path(), &settings);
    let key = process.first_key.clone().unwrap();
    let accepted = process
        .call("POST", "/api/v1/nb/text-generations")
        .bearer(&key)
        .json(&fox())
        .expect(202);
    let path = format!("/api/v1/jobs/{}?wait=30", accepted.job_id());
    let ended = process.call("GET", &path).bearer(&key).expect(200);
    assert_eq!(ended.json()["status"], "failed");
    let ProcessExit { log, .. } = process.terminate();
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |message: &str| -> Vec<&Value> {
        let found = lines.iter().filter(|it| it["message"] == message);
        found.collect()
    };
    let failed = of("the job failed");
    assert_eq!(failed.len(), 1, "{log}");
    assert_eq!(
        (&failed[0]["job"], &failed[0]["level"], &failed[0]["model"]),
        (&accepted.job_id().into(), &"WARN".into(), &"fast".into())
    );
    assert_eq!(failed[0]["outcome"], "unavailable");
    let tries = of("an attempt failed");
    assert_eq!(tries.len(), 2, "{log}");
    assert_eq!(tries[0]["backend"], "gone");
    let cause = tries[0]["cause"].as_str().unwrap();
    assert!(cause.contains("no connection"), "{log}");
}

#[test]
fn the_reason_of_an_exit_is_a_line_of_json_too() {
    let dir = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let exit = |format: &str| {
        let settings = [("LOG__FORMAT", format), ("SERVER__LISTEN", &address)];
        let output = Process::command(dir.path(), &settings)
            .arg("serve")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let log = exit("json");
    let events = log.lines().filter(|line| line.starts_with('{'));
    let events: Vec<Value> = events
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(events.len(), 1, "{log}");
    assert_eq!(events[0]["level"], "ERROR", "{log}");
    let reason = events[0]["reason"].as_str().unwrap();
    let expected = format!("cannot listen on {address}");
    assert!(reason.starts_with(&expected), "{log}");
    let text = format!("tintype: {reason}\n");
    assert!(log.ends_with(&text), "{log}");
    assert_eq!(exit("text"), text, "a person reads it once");
}

#[test]
fn the_start_and_a_disk_that_is_nearly_full_are_logged() {
    let settings = [
        ("LOG__FORMAT", "json"),
        ("OPERATOR__DISK_LOW_BYTES", "1152921504606846976"),
    ];
    let (log, _) = logged(&settings, &[]);
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |message: &str| {
        let mut found = lines
            .iter()
            .filter(|it| it["message"].as_str().unwrap().starts_with(message));
        let line = found
            .next()
            .unwrap_or_else(|| panic!("{message} is not in {log}"));
        assert!(found.next().is_none(), "{message}: one line\n{log}");
        line
    };
    let started = of("started");
    assert_eq!(started["version"], env!("CARGO_PKG_VERSION"));
    assert!(
        started["listen"]
            .as_str()
            .unwrap()
            .starts_with("127.0.0.1:"),
        "{started}"
    );
    let low = of("the disk is nearly full");
    assert_eq!(
        (&low["level"], &low["low_bytes"]),
        (&"WARN".into(), &1_152_921_504_606_846_976_u64.into())
    );
    assert!(low["free_bytes"].as_u64().unwrap() > 0, "{low}");
}

#[test]
fn a_backend_that_is_paused_is_logged_at_startup() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::start(dir.path(), &[]);
    let token = fs::read_to_string(dir.path().join("data/admin-token")).unwrap();
    let call = process.call("PATCH", "/admin/v1/pause");
    let pause = json!({"backends": ["builtin"], "reason": "new driver"});
    call.bearer(token.trim()).json(&pause).expect(200);
    process.terminate();
    let ProcessExit { log, .. } = Process::start(dir.path(), &[]).terminate();
    let line = log.lines().find(|it| it.contains("the backend is paused"));
    let line = line.unwrap_or_else(|| panic!("no line in {log}"));
    assert!(
        line.contains("builtin") && line.contains("new driver"),
        "{line}"
    );
}
