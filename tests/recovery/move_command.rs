//! `tintype move`: from a data directory into a database and back, with images and webhook secrets.

use crate::bucket::{Bucket, SECRET_KEY};
use crate::client::Client;
use crate::kill_load::{configure, register};
use crate::peer::Peer;
use crate::postgres::{SECRET, use_bucket};
use crate::test_directory::{CommandOutput, Service, TestDirectory, until};
use serde_json::json;
use std::fs;
use tintype_postgres::testing::server;

const BUCKET: &str = "s3://pictures/here";

/// Configures the bucket and the cluster secret.
fn equip(place: &mut TestDirectory, bucket: &Bucket) {
    use_bucket(place, bucket);
    place.set_variable("TINTYPE_SECRET", SECRET);
}

pub fn good(ended: CommandOutput) -> String {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.out
}

/// Checks that no command that changes records uses those that were moved to `destination`, and that the others still read them.
fn assert_marked_as_moved(place: &TestDirectory, destination: &str, again: &[&str]) {
    let moved = format!("were moved to {destination} at ");
    for arguments in [
        &["serve", "--listen", "127.0.0.1:0"],
        &["webhook", "reset-secrets", "--yes"],
        again,
    ] {
        let refused = place.run(arguments);
        refused.assert_fault(&[&moved, "`tintype move --reopen`"]);
    }
    good(place.run(&["verify"]));
    good(place.run(&["export"]));
    good(place.run(&["backup", "backups"]));
}

/// Runs a job and waits for its delivery.
pub fn make(service: &Service, peer: &Peer, key: &str, name: &str) -> String {
    let client = service.client(key);
    let job = client.create_small_now(name).accepted();
    client.job_when(&job, "done");
    until("the receiver hears of the end", || {
        peer.delivered().contains_key(&job).then_some(())
    });
    job
}

/// Runs a job whose delivery goes to a port without a listener.
fn leave_a_delivery_pending(place: &TestDirectory, service: &Service, key: &str) {
    let url = "http://127.0.0.1:9/closed";
    let operator = Client::new(&service.address(), &place.token());
    let accounts = operator.get("/admin/v1/accounts").json();
    let account = accounts["data"][0]["account_id"].as_str().expect("an id");
    let path = format!("/admin/v1/accounts/{account}/webhooks");
    let registered = operator.call("POST", &path, Some(&json!({"url": url})));
    assert_eq!(registered.status, 201, "{}", registered.json());
    let body = json!({"prompt": "a fox", "aspect_ratio": "1:1", "callback_url": url});
    let client = service.client(key);
    let made = client.call("POST", "/api/v1/nb/text-generations", Some(&body));
    client.job_when(&made.accepted(), "done");
}

fn exported(place: &TestDirectory) -> Vec<String> {
    let text = good(place.run(&["export"]));
    let is_account = |line: &&str| line.contains("\"kind\":\"account\"");
    text.lines().filter(is_account).map(str::to_owned).collect()
}

#[test]
fn records_images_and_secrets_move_into_a_database_and_back() {
    let Some(server) = server() else { return };
    let (database, bucket, peer) = (server.database(), Bucket::start(), Peer::start());
    let mut place = TestDirectory::new();
    equip(&mut place, &bucket);
    configure(&place, &peer);
    let service = place.serve();
    let key = service.printed_key().expect("a key");
    register(&place, &service, &peer);
    let first = make(&service, &peer, &key, "first");
    let deleted = make(&service, &peer, &key, "deleted");
    let path = format!("/api/v1/jobs/{deleted}/image");
    let answer = service.client(&key).call("DELETE", &path, None);
    assert_eq!(answer.status, 204);
    service.stop();
    let accounts = exported(&place);

    let said = good(place.run(&["move", "--to", &database.url(), "--objects", BUCKET]));
    for part in [
        "images: 1 copied",
        "1 deleted by retention or by their owner",
    ] {
        assert!(said.contains(part), "{said}");
    }
    for line in [&format!("url = \"{}\"", database.url()), "TINTYPE_SECRET"] {
        assert!(said.contains(line), "{said}");
    }
    let again = ["move", "--to", &database.url(), "--objects", BUCKET];
    assert_marked_as_moved(&place, &database.url(), &again);
    place.set("STORAGE__URL", &database.url());
    place.set("STORAGE__OBJECTS", BUCKET);
    let unmarked = place.run(&["move", "--reopen"]);
    unmarked.assert_fault(&["not marked as moved", "restore the former url"]);
    place.set("STORAGE__URL", "");
    place.set("STORAGE__OBJECTS", "");
    place
        .run(&["generate", "a fox"])
        .assert_fault(&["were moved to"]);
    let reopened = good(place.run(&["move", "--reopen"]));
    for words in ["moved to", "Start no server on the other copy"] {
        assert!(reopened.contains(words), "{reopened}");
    }
    place.run(&again).assert_fault(&["holds records already"]);
    place
        .run(&["move", "--reopen"])
        .assert_fault(&["not marked as moved"]);
    place.serve().stop();
    place.set("STORAGE__URL", &database.url());
    place.set("STORAGE__OBJECTS", BUCKET);
    good(place.run(&["verify"]));
    assert_eq!(exported(&place), accounts);
    let service = place.serve();
    assert_eq!(service.client(&key).job(&first)["status"], "done");
    let second = make(&service, &peer, &key, "second");
    let mut back = TestDirectory::new();
    let to = back.data();
    let to = to.to_str().expect("a path");
    place
        .run(&["move", "--to", to, "--objects", "local"])
        .assert_fault(&["stop"]);
    assert!(!back.data().exists());
    leave_a_delivery_pending(&place, &service, &key);
    service.stop();
    let accounts = exported(&place);

    let said = good(place.run(&["move", "--to", to, "--objects", "local"]));
    for part in ["images: 3 copied", "pending webhook deliveries: 1"] {
        assert!(said.contains(part), "{said}");
    }
    assert!(said.contains(&format!("data_dir = \"{to}\"")), "{said}");
    let again = ["move", "--to", "elsewhere", "--objects", "local"];
    assert_marked_as_moved(&place, to, &again);
    assert!(!place.path("elsewhere").exists());
    let reopened = good(place.run(&["move", "--reopen"]));
    let named = format!("the database {}", database.url());
    assert!(reopened.contains(&named), "{reopened}");
    place.serve().stop();
    equip(&mut back, &bucket);
    configure(&back, &peer);
    good(back.run(&["verify"]));
    assert_eq!(exported(&back), accounts);
    let service = back.serve();
    for job in [first, second] {
        assert_eq!(service.client(&key).job(&job)["status"], "done");
    }
    make(&service, &peer, &key, "third");
    service.stop();
    good(back.run(&["verify"]));
}

#[test]
fn a_rejected_move_leaves_source_and_target_unchanged() {
    let Some(server) = server() else { return };
    let (database, bucket) = (server.database(), Bucket::start());
    let url = database.url();
    let mut place = TestDirectory::new();
    let moving = |place: &TestDirectory, to: &str, objects: &[&str]| {
        place.run(&[&["move", "--to", to], objects].concat())
    };
    let here = ["--objects", BUCKET];
    moving(&place, &url, &here).assert_fault(&["not a Tintype data directory"]);
    good(place.run(&["generate", "a fox", "--tier", "fast"]));
    moving(&place, &url, &here).assert_fault(&["TINTYPE_SECRET", "openssl rand -hex 32"]);
    equip(&mut place, &bucket);
    let service = place.serve();
    moving(&place, &url, &here).assert_fault(&["in use by another process", "while a server"]);
    service.stop();
    moving(&place, &url, &[]).assert_fault(&["--objects s3://bucket/prefix"]);
    moving(&place, &url, &["--objects", "local"]).assert_fault(&["--objects local", "a bucket"]);
    moving(&place, "elsewhere", &[]).assert_fault(&["copy the directory"]);
    place.set_variable("AWS_SECRET_ACCESS_KEY", "not that of the bucket");
    moving(&place, &url, &here).assert_fault(&["cannot write images", "s3://pictures/here"]);
    place.set_variable("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    let image = place.objects("results").pop().expect("an image");
    let aside = place.path("aside");
    fs::rename(&image, &aside).expect("moved");
    moving(&place, &url, &here).assert_fault(&["lacks 1 image of", "--even-with-faults"]);
    fs::rename(&aside, &image).expect("moved");
    good(place.run(&["verify"]));
    good(moving(&place, &url, &here));
}

#[test]
fn a_database_that_was_filled_in_part_is_refused_by_every_command() {
    let Some(server) = server() else { return };
    let (database, bucket) = (server.database(), Bucket::start());
    let place = TestDirectory::new();
    good(place.run(&["generate", "a fox", "--tier", "fast"]));
    let text = good(place.run(&["export"]));
    let (records, _) = text.trim_end().rsplit_once('\n').expect("lines");
    let mut there = TestDirectory::with(&[
        ("STORAGE__URL", &database.url()),
        ("STORAGE__OBJECTS", BUCKET),
    ]);
    equip(&mut there, &bucket);
    let file = there.path("records.jsonl");
    fs::write(&file, records).expect("a file");
    let file = file.to_str().expect("a path");
    there.run(&["import", file]).assert_fault(&["cut off"]);
    fs::remove_dir_all(there.data()).expect("removed");
    for words in [
        &["verify"][..],
        &["export"],
        &["serve", "--listen", "127.0.0.1:0"],
    ] {
        there
            .run(words)
            .assert_fault(&["interrupted", "DROP SCHEMA tintype"]);
    }
    fs::remove_dir_all(there.data()).ok();
    there
        .run(&["import", file])
        .assert_fault(&["holds records already", "DROP SCHEMA tintype"]);
}
