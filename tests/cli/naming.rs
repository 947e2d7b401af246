//! How arguments name things, and how errors name arguments.

use crate::support::{Service, run, tintype};
use serde_json::json;
use std::fs::File;
use std::sync::{Arc, Mutex};
use tintype_egress::testing::server::{Reply, ScriptedServer, response};

#[test]
fn keys_and_people_are_found_by_name_and_email() {
    let service = Service::start();
    let key = service.json(&["key", "add", "tour"]);
    let (id, text) = (
        key["key_id"].as_str().unwrap(),
        key["api_key"].as_str().unwrap(),
    );
    assert_eq!(service.json(&["key", "show", "tour"])["key_id"], id);
    let changed = service.json(&["key", "change", "tour", "--models", "fast"]);
    assert_eq!(changed["models"], json!(["fast"]));
    let jobs = service.json(&["job", "list", "--key", "tour"]);
    assert_eq!(jobs["data"], json!([]));
    let refused = |arguments: &[&str]| run(service.command(arguments), b"").failure();
    let output = refused(&["key", "show", text]);
    assert!(!output.contains(text), "{output}");
    assert!(output.contains(key["prefix"].as_str().unwrap()), "{output}");
    let output = refused(&["key", "show", "absent"]);
    assert!(output.contains("there is no key `absent`"), "{output}");
    service.run(&["key", "add", "tour"]);
    let output = refused(&["key", "rm", "tour"]);
    assert!(
        output.contains("choose one by id") && output.contains(id),
        "{output}"
    );
    let invited = service.json(&["person", "invite", "ada@shop.example", "--role", "owner"]);
    let shown = service.json(&["person", "show", "Ada@shop.example"]);
    assert_eq!(shown["person_id"], invited["person_id"]);
    let output = refused(&["person", "show", "bob@shop.example"]);
    assert!(output.contains("no person `bob@shop.example`"), "{output}");
    let code = run(service.command(&["person", "show", "ada"]), b"").code;
    assert_eq!(code, Some(2));
    service.stop();
}

#[test]
fn a_second_account_of_the_same_name_is_warned_about() {
    let service = Service::start();
    let first = run(service.command(&["account", "add", "studio"]), b"");
    assert_eq!(first.err, "");
    let id = service.json(&["account", "show", "studio"])["account_id"].clone();
    let id = id.as_str().unwrap();
    first.success();
    let second = run(service.command(&["account", "add", "studio"]), b"");
    assert!(
        second.err.contains("another account is named `studio`"),
        "{second:?}"
    );
    for words in [id, "`tintype deposit add AMOUNT --account ID`"] {
        assert!(second.err.contains(words), "{second:?}");
    }
    second.success();
    let renamed = service.command(&["account", "rename", "default", "studio"]);
    let renamed = run(renamed, b"");
    assert!(
        renamed.err.contains("another account is named `studio`"),
        "{renamed:?}"
    );
    assert!(renamed.err.contains("`tintype account rename ID NAME`"));
    renamed.success();
    service.stop();
}

#[test]
fn a_key_that_could_not_be_printed_is_rotated_again() {
    let service = Service::start();
    service.run(&["key", "add", "ci"]);
    let mut rotate = service.command(&["key", "rotate", "ci", "--overlap", "0"]);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = rotate.stdout(full).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    for words in [
        "the command was executed",
        "`tintype key rotate`",
        "No space left",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    service.stop();
}

#[test]
fn errors_name_the_option_and_its_value() {
    let service = Service::start();
    for (arguments, expected) in [
        (
            &["key", "add", "x", "--models", "fast,nb2"][..],
            "--models `nb2`: must be one of fast, quality, pro",
        ),
        (
            &["account", "add", "x", "--rate-limit", "5/0"],
            "--rate-limit `5/0`: burst must be a whole number",
        ),
        (
            &["account", "add", "x", "--balance", "-5"],
            "--balance `-5`: ",
        ),
        (
            &["deposit", "add", "-5000"],
            "amount `-5000`: the balance may not fall below",
        ),
        (&["key", "list", "--account", ""], "accounts: default ("),
        (&["job", "list", "--cursor", "x"], "--cursor `x`: "),
    ] {
        let output = run(service.command(arguments), b"").failure();
        assert!(output.starts_with("tintype: "), "{output}");
        assert!(output.contains(expected), "{arguments:?}: {output}");
        assert_eq!(output.lines().count(), 1, "{output}");
    }
    let auto = ["generate", "a fox", "--aspect-ratio", "auto"];
    let output = run(tintype(service.directory.path(), &auto), b"").failure();
    assert!(output.contains("--input"), "{output}");
    service.stop();
}

/// As of a store with more accounts than a command reads.
#[test]
fn a_name_is_found_with_one_call_and_a_list_without_end_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let id = "01a1fa95-0000-7000-8000-000000000000";
    let account = format!(
        r#"{{"account_id": "{id}", "name": "a & b", "balance": "0.00", "reserved": "0.00", "available": "0.00", "created_at": "t"}}"#
    );
    let paths: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&paths);
    let server = ScriptedServer::start(move |request| {
        let path = request.target.clone();
        let body = if path.contains("name=a+%26+b") {
            format!(r#"{{"data": [{account}], "next_cursor": null}}"#)
        } else if path.contains('?') {
            let cursor = "0".repeat(32);
            format!(r#"{{"data": [], "next_cursor": "{cursor}"}}"#)
        } else {
            account.clone()
        };
        seen.lock().unwrap().push(path);
        Reply::Raw(response("200 OK", "", body.as_bytes()))
    });
    let url = server.url("");
    let command = |arguments: &[&str]| {
        let access = ["--server", &url, "--token", "a-token"];
        run(
            tintype(directory.path(), &[arguments, &access].concat()),
            b"",
        )
    };
    let shown = command(&["account", "show", "a & b"]).success();
    assert!(shown.contains(id), "{shown}");
    let paths = std::mem::take(&mut *paths.lock().unwrap());
    let wanted = [
        "/admin/v1/accounts?name=a+%26+b&limit=100".to_owned(),
        format!("/admin/v1/accounts/{id}"),
    ];
    assert_eq!(paths, wanted);
    let listed = command(&["account", "list"]).failure();
    assert!(listed.contains("longer than a command reads"), "{listed}");
    let default = command(&["account", "show"]).failure();
    assert!(default.contains("longer than a command reads"), "{default}");
}
