//! The first start on an empty directory does what its greeting promises; then a second start.

use crate::client::Client;
use crate::test_directory::{BINARY, TestDirectory, until};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Parses the printed curl command: URL, headers, body.
fn curl_line(greeting: &str) -> (String, Vec<(String, String)>, String) {
    let from = greeting.find("curl -s ").expect("a curl line");
    let text = greeting[from..].replace("\\\n", " ");
    let end = text.find('\n').expect("its end");
    let mut words = Vec::new();
    for (at, part) in text[..end].split('\'').enumerate() {
        match at % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    let (mut headers, mut body) = (Vec::new(), String::new());
    let url = words[2].clone();
    for pair in words[3..].chunks(2) {
        match pair[0].as_str() {
            "-H" => {
                let (name, value) = pair[1].split_once(": ").expect("a header");
                headers.push((name.to_owned(), value.to_owned()));
            }
            "-d" => body = pair[1].clone(),
            other => panic!("the curl line has {other}"),
        }
    }
    (url, headers, body)
}

#[test]
fn the_printed_curl_line_generates_an_image_and_later_starts_print_no_key() {
    let place = TestDirectory::new();
    let service = place.serve();
    let address = service.address();
    let key = service.printed_key().expect("a key");
    let (url, headers, body) = curl_line(&service.greeting);
    let path = url
        .strip_prefix(&format!("http://{address}"))
        .expect("our address");
    let header = |name: &str| {
        let named = headers.iter().find(|(it, _)| it == name);
        named.map(|(_, value)| value.as_str()).expect("the header")
    };
    assert_eq!(header("Authorization"), format!("Bearer {key}"));
    assert_eq!(header("Content-Type"), "application/json");
    let client = service.client(&key);
    let body = serde_json::from_str(&body).expect("JSON");
    let answer = client.call("POST", path, Some(&body));
    let id = answer.accepted();

    let mut seen = vec!["queued".to_owned()];
    let job = until("the job is done", || {
        let job = client.job(&id);
        let status = job["status"].as_str().expect("a status").to_owned();
        if seen.last() != Some(&status) {
            seen.push(status);
        }
        Some(job).filter(|job| job["status"] == "done")
    });
    assert_eq!(seen, ["queued", "processing", "done"]);
    assert!(job["started_at"].as_str() >= job["created_at"].as_str());
    assert!(job["finished_at"].as_str() > job["started_at"].as_str());
    opens(&client, &job["result"]["image_url"]);
    assert_eq!(client.money(), ("99.866".into(), "0.00".into()));

    let first = client.create_small_now("once");
    let again = client.create_small_now("once");
    assert_eq!(first.accepted(), again.accepted());
    assert_eq!(first.header("Idempotent-Replayed"), None);
    assert_eq!(again.header("Idempotent-Replayed"), Some("true"));

    let token_file = place.data().join("admin-token");
    let mode = std::fs::metadata(&token_file).expect("the token's file");
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    assert!(
        service
            .greeting
            .contains(token_file.to_str().expect("a path"))
    );
    let operator = service.client(&place.token());
    assert_eq!(operator.get("/admin/v1/accounts").status, 200);
    client.job_when(&first.accepted(), "done");
    service.stop();

    let service = place.serve();
    assert_eq!(service.printed_key(), None, "{}", service.greeting);
    assert!(!service.greeting.contains("curl"));
    let client = service.client(&key);
    assert_eq!(client.create_small_now("once").accepted(), first.accepted());
    opens(&client, &client.job(&id)["result"]["image_url"]);
    assert_eq!(client.money(), ("99.827".into(), "0.00".into()));
    service.stop();
    let verified = place.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

fn opens(client: &Client, url: &serde_json::Value) {
    let url = url.as_str().expect("a URL");
    let path = url
        .strip_prefix(&format!("http://{}", client.address))
        .expect("our address");
    let answer = Client::new(&client.address, "no key is needed").get(path);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("Content-Type"), Some("image/png"));
    assert!(answer.body.starts_with(b"\x89PNG\r\n\x1a\n"));
}

/// All files and directories below a directory that the group or others can read.
fn open_to_others(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            let metadata = fs::metadata(&path).expect("its mode");
            if metadata.permissions().mode() & 0o077 != 0 {
                found.push(path.clone());
            }
            if metadata.is_dir() {
                directories.push(path);
            }
        }
    }
    found
}

#[test]
fn the_data_directory_is_private_and_the_saved_image_is_not() {
    let place = TestDirectory::new();
    let line = format!("umask 022; exec {BINARY} generate \"a fox\" -o fox.png --data-dir own");
    let status = Command::new("sh")
        .args(["-c", &line])
        .current_dir(place.path("."))
        .status()
        .expect("a shell");
    assert!(status.success());
    let mode = |name: &str| {
        let metadata = fs::metadata(place.path(name)).expect(name);
        metadata.permissions().mode() & 0o777
    };
    assert_eq!((mode("own"), mode("fox.png")), (0o700, 0o644));
    assert_eq!(open_to_others(&place.path("own")), Vec::<PathBuf>::new());
}
