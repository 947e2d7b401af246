//! What commands report of a response that does not tell whether the server executed the request.

use crate::support::{run, tintype};
use std::sync::{Arc, Mutex};
use tintype_egress::testing::server::{ReceivedRequest, Reply, ScriptedServer, response};

const ACCOUNT_ID: &str = "01a1fa95-0000-7000-8000-000000000000";
const PROBLEM: &str = r#"{"title": "A title", "detail": "a detail", "errors": []}"#;

/// What a server answers to a creation, and the key of the last creation.
#[derive(Default)]
struct Script {
    status: &'static str,
    body: &'static str,
    key: Option<String>,
}

fn answer(request: &ReceivedRequest, script: &Mutex<Script>) -> Reply {
    let mut script = script.lock().unwrap();
    let (status, body) = match request.header("idempotency-key") {
        Some(key) => {
            script.key = Some(key.to_owned());
            (script.status, script.body.to_owned())
        }
        // The account of a deposit is looked up first.
        None => (
            "200 OK",
            format!(
                r#"{{"account_id": "{ACCOUNT_ID}", "name": "studio", "balance": "0.00", "reserved": "0.00", "available": "0.00", "created_at": "t"}}"#
            ),
        ),
    };
    Reply::Raw(response(status, "", body.as_bytes()))
}

#[test]
fn a_response_that_does_not_tell_the_outcome_is_reported_with_the_key() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("one.jsonl");
    std::fs::write(file, r#"{"model": "fast", "prompt": "a fox"}"#).unwrap();
    let script: Arc<Mutex<Script>> = Arc::default();
    let serving = Arc::clone(&script);
    let server = ScriptedServer::start(move |request| answer(request, &serving));
    let url = server.url("");
    let commands = [
        &["generate", "a fox", "--key", "tt_x"][..],
        &["batch", "submit", "one.jsonl", "--key", "tt_x"],
        &["account", "add", "studio", "--token", "a-token"],
        &[
            "deposit",
            "add",
            "5",
            "--account",
            ACCOUNT_ID,
            "--token",
            "a-token",
        ],
    ];
    for command in commands {
        for (status, body, text, has_key) in [
            ("503 Service Unavailable", PROBLEM, "A title", true),
            ("504 Gateway Timeout", "<html>", "status 504", true),
            ("202 Accepted", "<html>", "not from Tintype", true),
            ("422 Unprocessable Content", PROBLEM, "A title", false),
            ("401 Unauthorized", PROBLEM, "", false),
        ] {
            *script.lock().unwrap() = Script {
                status,
                body,
                key: None,
            };
            let arguments = [command, &["--server", &url]].concat();
            let output = run(tintype(directory.path(), &arguments), b"").failure();
            let key = script.lock().unwrap().key.take().expect("a creation");
            let what = format!("{arguments:?}, {status}: {output}");
            assert!(output.contains(text), "{what}");
            let advice = format!("repeat the command with --idempotency-key {key}");
            assert_eq!(output.contains(&advice), has_key, "{what}");
            assert_eq!(output.contains("--idempotency-key"), has_key, "{what}");
        }
    }
}
