//! What commands report of a response that does not tell whether the server executed the request.

use crate::support::{run, tintype};
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::iter::repeat_with;
use std::net::TcpListener;

const DEPOSIT: [&str; 7] = [
    "deposit",
    "add",
    "5",
    "--account",
    "01a1fa95-0000-7000-8000-000000000000",
    "--token",
    "a-token",
];

const ACCOUNT: &str = r#"{"account_id": "01a1fa95-0000-7000-8000-000000000000", "name": "studio", "balance": "0.00", "reserved": "0.00", "available": "0.00", "created_at": "t"}"#;

/// Answers one request. Returns its idempotency key.
fn answer(listener: &TcpListener, status: &str, body: &str) -> Option<String> {
    let (mut stream, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let lines = reader.by_ref().lines().map(Result::unwrap);
    let head: HashMap<String, String> = lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| {
            Some(line.split_once(": ")?)
                .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        })
        .collect();
    let length = head
        .get("content-length")
        .map_or(0, |it| it.parse().unwrap());
    reader.read_exact(&mut vec![0; length]).unwrap();
    let key = head.get("idempotency-key").cloned();
    // A command looks up the account of a deposit first.
    let (status, body) = match key {
        Some(_) => (status, body),
        None => ("200 OK", ACCOUNT),
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all((head + body).as_bytes()).unwrap();
    key
}

#[test]
fn a_response_that_does_not_tell_the_outcome_is_reported_with_the_key() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("one.jsonl");
    std::fs::write(file, r#"{"model": "fast", "prompt": "a fox"}"#).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let account = ["account", "add", "studio", "--balance", "5"];
    let commands = [
        ["generate", "a fox", "--key", "tt_x"].to_vec(),
        ["batch", "submit", "one.jsonl", "--key", "tt_x"].to_vec(),
        DEPOSIT.to_vec(),
        [&account[..], &["--token", "a-token"]].concat(),
    ];
    let problem = r#"{"title": "A title", "detail": "a detail", "errors": []}"#;
    for command in commands {
        for (status, body, text, has_key) in [
            (
                "503 Service Unavailable",
                problem,
                "A title: a detail",
                true,
            ),
            ("504 Gateway Timeout", "<html>", "status 504", true),
            ("202 Accepted", "<html>", "not from Tintype", true),
            (
                "422 Unprocessable Content",
                problem,
                "A title: a detail",
                false,
            ),
            ("401 Unauthorized", problem, "", false),
        ] {
            let arguments = [&command[..], &["--server", &server]].concat();
            let (output, key) = std::thread::scope(|scope| {
                let answered = scope.spawn(|| {
                    let mut answers = repeat_with(|| answer(&listener, status, body));
                    answers.find_map(|key| key).unwrap()
                });
                let output = run(tintype(directory.path(), &arguments), b"").failure();
                (output, answered.join().unwrap())
            });
            assert!(output.contains(text), "{arguments:?}, {status}: {output}");
            let advice = format!("repeat the command with --idempotency-key {key}");
            assert_eq!(
                output.contains(&advice),
                has_key,
                "{arguments:?}, {status}: {output}"
            );
        }
    }
}
