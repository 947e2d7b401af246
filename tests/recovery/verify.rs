//! `verify` on deliberately damaged records.

use crate::client::Client;
use crate::test_directory::TestDirectory;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[test]
fn a_missing_or_truncated_image_is_a_fault() {
    let place = TestDirectory::new();
    let made = place.run(&["generate", "a fox", "--tier", "fast"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let clean = place.run(&["verify"]);
    assert_eq!(clean.code, Some(0), "{clean:?}");
    assert!(clean.out.contains("1 image\n"), "{clean:?}");

    let image = place.objects("results").remove(0);
    let name = image
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    let bytes = fs::read(&image).expect("it");
    let read = place.run(&["verify", "--read-images"]);
    assert_eq!(read.code, Some(0), "{read:?}");
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    fs::write(&image, flipped).expect("a flipped bit");
    assert_eq!(place.run(&["verify"]).code, Some(0), "it is not read");
    let read = place.run(&["verify", "--read-images"]);
    assert_eq!(read.code, Some(1), "{read:?}");
    let line = format!("{name} is damaged\n1 fault\n");
    assert!(read.out.ends_with(&line), "{read:?}");
    fs::write(&image, &bytes[1..]).expect("cut");
    let cut = place.run(&["verify"]);
    assert_eq!(cut.code, Some(1), "{cut:?}");
    let fault = |line: &&str| line.starts_with("FAULT ") && line.contains(&name);
    assert_eq!(cut.out.lines().filter(fault).count(), 1, "{cut:?}");

    fs::remove_file(&image).expect("gone");
    let gone = place.run(&["verify"]);
    assert_eq!(gone.code, Some(1), "{gone:?}");
    assert_eq!(gone.out.lines().filter(fault).count(), 1, "{gone:?}");
    assert!(gone.out.ends_with("1 fault\n"), "{gone:?}");
}

#[test]
fn a_missing_text_of_a_job_and_a_missing_key_of_secrets_are_faults() {
    let place = TestDirectory::with(&[("EGRESS__ALLOW", "[\"127.0.0.0/8\"]")]);
    let service = place.serve();
    let client = service.client(&service.printed_key().expect("a key"));
    // Too long for the record, so it is stored as a separate object.
    let body = json!({"prompt": "a fox ".repeat(2_000), "aspect_ratio": "1:1"});
    let accepted = client.call("POST", "/api/v1/nb/text-generations", Some(&body));
    client.job_when(&accepted.accepted(), "done");
    let operator = Client::new(&service.address(), &place.token());
    let accounts = operator.get("/admin/v1/accounts").json();
    let account = accounts["data"][0]["account_id"].as_str().expect("an id");
    let path = format!("/admin/v1/accounts/{account}/webhooks");
    let body = json!({"url": "http://127.0.0.1:9/"});
    assert_eq!(operator.call("POST", &path, Some(&body)).status, 201);
    service.stop();
    let clean = place.run(&["verify"]);
    assert_eq!(clean.code, Some(0), "{clean:?}");

    fs::remove_file(place.objects("words").remove(0)).expect("the text");
    fs::remove_file(place.data().join("secrets-key")).expect("the key");
    let found = place.run(&["verify"]);
    assert_eq!(found.code, Some(1), "{found:?}");
    let faults = found.out.lines().filter(|it| it.starts_with("FAULT "));
    let faults: Vec<&str> = faults.collect();
    assert_eq!(faults.len(), 2, "{found:?}");
    assert!(faults[0].contains("the text of a job: "), "{found:?}");
    assert!(faults[1].contains("secrets-key is missing"), "{found:?}");
    assert!(!place.data().join("secrets-key").exists(), "none is made");

    fs::write(place.data().join("file-signing-key"), "short").expect("a damaged key");
    fs::write(place.data().join("admin-token"), "").expect("an empty token");
    let found = place.run(&["verify"]);
    for part in ["file-signing-key", "admin-token: it is empty", "4 faults"] {
        assert!(found.out.contains(part), "{part}: {found:?}");
    }
}

#[test]
fn each_webhook_secret_must_decrypt() {
    let place = TestDirectory::with(&[("EGRESS__ALLOW", "[\"127.0.0.0/8\"]")]);
    let service = place.serve();
    let operator = Client::new(&service.address(), &place.token());
    let accounts = operator.get("/admin/v1/accounts").json();
    let account = accounts["data"][0]["account_id"].as_str().expect("an id");
    let path = format!("/admin/v1/accounts/{account}/webhooks");
    let add = |number| {
        let body = json!({"url": format!("http://127.0.0.1:9/{number}")});
        let added = operator.call("POST", &path, Some(&body));
        assert_eq!(added.status, 201);
        let id = added.json()["webhook_id"]
            .as_str()
            .expect("an id")
            .to_owned();
        let rotate = format!("/admin/v1/webhooks/{id}/rotate-secret");
        assert_eq!(operator.call("POST", &rotate, None).status, 200);
        id
    };
    let [first, second, third] = [1, 2, 3].map(add);
    service.stop();
    let exported = place.run(&["export"]).out;
    let read = |line: &str| serde_json::from_str::<Value>(line).expect("JSON");
    let is_of = |line: &str, id: &str| line.contains("\"kind\":\"webhook\"") && line.contains(id);
    let own = exported.lines().find(|line| is_of(line, &first));
    let foreign = read(own.expect("a webhook"))["record"]["secret"].clone();
    // The secret of one webhook, and a replaced secret of another one, now belong to a third webhook.
    let mut damaged = String::new();
    for line in exported.lines() {
        let mut value = read(line);
        if is_of(line, &second) {
            value["record"]["secret"] = foreign.clone();
        } else if is_of(line, &third) {
            value["record"]["retired"][0]["secret"] = foreign.clone();
        } else if let Some(digest) = value.get_mut("sha256") {
            *digest = hex::encode(Sha256::digest(&damaged)).into();
        }
        damaged += &format!("{value}\n");
    }
    let there = TestDirectory::new();
    fs::write(there.path("records.jsonl"), damaged).expect("a file");
    let imported = there.run(&["import", "records.jsonl"]);
    assert_eq!(imported.code, Some(0), "{imported:?}");
    for name in ["secrets-key", "file-signing-key", "admin-token"] {
        fs::rename(place.data().join(name), there.data().join(name)).expect("moved");
    }
    let found = there.run(&["verify"]);
    assert_eq!(found.code, Some(1), "{found:?}");
    let faults = found.out.lines().filter(|it| it.starts_with("FAULT "));
    let faults: Vec<&str> = faults.collect();
    assert_eq!(faults.len(), 2, "{found:?}");
    for (fault, id) in faults.iter().zip([&second, &third]) {
        assert!(fault.contains(id.as_str()), "{found:?}");
        assert!(fault.contains("cannot be decrypted"), "{found:?}");
    }
}

/// Every file and directory with the metadata that `verify` must not change.
fn traces(directory: &Path) -> BTreeMap<PathBuf, (u64, u32, u64, SystemTime, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).expect("list") {
        let path = entry.expect("an entry").path();
        let data = fs::metadata(&path).expect("metadata");
        let content = match data.is_dir() {
            true => {
                found.extend(traces(&path));
                Vec::new()
            }
            false => fs::read(&path).expect("read"),
        };
        let modified = data.modified().expect("a time");
        found.insert(
            path,
            (data.ino(), data.mode(), data.len(), modified, content),
        );
    }
    found
}

/// Root runs `verify` on another user's directory: the service could not write to files that root creates there.
#[test]
fn verification_does_not_change_the_directory() {
    let place = TestDirectory::new();
    let made = place.run(&["generate", "a fox", "--tier", "fast"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let before = traces(&place.data());
    for _ in 0..2 {
        let verified = place.run(&["verify"]);
        assert_eq!(verified.code, Some(0), "{verified:?}");
    }
    let after = traces(&place.data());
    assert!(before.keys().eq(after.keys()), "{:?}", after.keys());
    for (path, trace) in &before {
        assert!(after[path] == *trace, "{} was changed", path.display());
    }
}
