//! What commands report of a response that does not tell whether the server executed the request.

use crate::support::{run, tintype};
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

const ACCOUNT_ID: &str = "01a1fa95-0000-7000-8000-000000000000";
const PROBLEM: &str = r#"{"title": "A title", "detail": "a detail", "errors": []}"#;

/// What a server answers to a creation, and the key of the last creation.
#[derive(Default)]
struct Script {
    status: &'static str,
    body: &'static str,
    key: Option<String>,
}

fn answer(mut stream: TcpStream, script: &Mutex<Script>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let lines = reader.by_ref().lines().map(Result::unwrap);
    let headers: HashMap<String, String> = lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| {
            let (name, value) = line.split_once(": ")?;
            Some((name.to_lowercase(), value.to_owned()))
        })
        .collect();
    let length = headers.get("content-length");
    let length = length.map_or(0, |it| it.parse().unwrap());
    reader.read_exact(&mut vec![0; length]).unwrap();
    let mut script = script.lock().unwrap();
    let (status, body) = match headers.get("idempotency-key") {
        Some(key) => {
            script.key = Some(key.clone());
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
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all((head + &body).as_bytes()).unwrap();
}

#[test]
fn a_response_that_does_not_tell_the_outcome_is_reported_with_the_key() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("one.jsonl");
    std::fs::write(file, r#"{"model": "fast", "prompt": "a fox"}"#).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let script: Arc<Mutex<Script>> = Arc::default();
    thread::spawn({
        let script = Arc::clone(&script);
        move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &script);
            }
        }
    });
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
            let arguments = [command, &["--server", &server]].concat();
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
