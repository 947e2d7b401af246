//! A failed start prints the cause with the faulty value, and exits with 1.

use crate::backup::{files_below, small};
use crate::client::Client;
use crate::test_directory::{BINARY, CommandOutput, Service, TestDirectory};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};

#[test]
fn a_file_at_the_path_of_the_data_directory_is_an_error() {
    let place = TestDirectory::new();
    fs::write(place.data(), "not a directory").expect("a file");
    let data = place.data();
    let data = data.to_str().expect("a path");
    let listen = ["serve", "--listen", "127.0.0.1:0"];
    place.run(&listen).assert_fault(&["tintype: ", data]);
    place.run(&["generate", "a fox"]).assert_fault(&[data]);
    place.run(&["verify"]).assert_fault(&[data]);
    assert_eq!(fs::read(data).expect("the file"), b"not a directory");
}

#[test]
fn a_data_directory_that_cannot_be_created_is_an_error() {
    let mut place = TestDirectory::new();
    place.set("STORAGE__DATA_DIR", "/dev/null/data");
    let mut command = place.command(BINARY);
    let output = command.args(["serve", "--listen", "127.0.0.1:0"]).output();
    CommandOutput::of(output.expect("the binary")).assert_fault(&["/dev/null/data"]);
}

#[test]
fn an_empty_directory_is_no_data_directory_to_verify() {
    let place = TestDirectory::new();
    let data = place.data();
    let named = [
        "not a Tintype data directory",
        data.to_str().expect("a path"),
    ];
    place.run(&["verify"]).assert_fault(&named);
    assert!(!data.exists(), "verify makes nothing");
}

#[test]
fn an_unknown_key_and_a_missing_configuration_file_are_errors() {
    let place = TestDirectory::new();
    fs::write(place.path("config.toml"), "[server]\nlisten_on = \"x\"\n").expect("a file");
    let serve = place.run(&["serve"]);
    serve.assert_fault(&["config.toml", "listen_on"]);
    place
        .run(&["serve", "--config", "elsewhere.toml"])
        .assert_fault(&["elsewhere.toml"]);
    assert!(!place.data().exists(), "nothing was made");
}

#[test]
fn a_missing_key_of_webhook_secrets_is_an_error_and_not_replaced() {
    let place = TestDirectory::with(&[("EGRESS__ALLOW", "[\"127.0.0.0/8\"]")]);
    let service = place.serve();
    let operator = Client::new(&service.address(), &place.token());
    let accounts = operator.get("/admin/v1/accounts").json();
    let account = accounts["data"][0]["account_id"].as_str().expect("an id");
    let path = format!("/admin/v1/accounts/{account}/webhooks");
    let body = serde_json::json!({"url": "http://127.0.0.1:9/"});
    assert_eq!(operator.call("POST", &path, Some(&body)).status, 201);
    service.stop();
    let (key, aside) = (place.data().join("secrets-key"), place.path("aside"));
    fs::rename(&key, &aside).expect("the key");
    let start = || place.run(&["serve", "--listen", "127.0.0.1:0"]);
    start().assert_fault(&["secrets-key", "is missing", "backup"]);
    assert!(!key.exists(), "none is made");
    let reset = |extra: &[&str]| place.run(&[&["webhook", "reset-secrets"], extra].concat());
    reset(&[]).assert_fault(&["1 webhook", "--yes"]);
    assert!(!key.exists(), "none is made");
    fs::rename(&aside, &key).expect("the key");
    let kept = reset(&["--yes"]);
    assert!(kept.out.contains("nothing is changed"), "{kept:?}");
    place.serve().stop();
}

#[test]
fn webhooks_get_new_secrets_after_the_loss_of_their_key() {
    let place = TestDirectory::with(&[("EGRESS__ALLOW", "[\"127.0.0.0/8\"]")]);
    let service = place.serve();
    let webhooks = |service: &Service| {
        let operator = Client::new(&service.address(), &place.token());
        let accounts = operator.get("/admin/v1/accounts").json();
        let account = accounts["data"][0]["account_id"].as_str().expect("an id");
        let path = format!("/admin/v1/accounts/{account}/webhooks");
        (operator, path)
    };
    let (operator, path) = webhooks(&service);
    let body = serde_json::json!({"url": "http://127.0.0.1:9/"});
    let old = operator.call("POST", &path, Some(&body)).json();
    service.stop();
    fs::write(place.data().join("secrets-key"), [7; 32]).expect("another key");
    let start = || place.run(&["serve", "--listen", "127.0.0.1:0"]);
    start().assert_fault(&["is not the key", "tintype webhook reset-secrets"]);
    fs::remove_file(place.data().join("secrets-key")).expect("the key");
    start().assert_fault(&["is missing", "tintype webhook reset-secrets"]);
    let reset = place.run(&["webhook", "reset-secrets", "--yes"]);
    assert_eq!(reset.code, Some(0), "{reset:?}");
    let id = old["webhook_id"].as_str().expect("an id");
    for words in [id, "http://127.0.0.1:9/", "1 webhook got a new secret"] {
        assert!(reset.out.contains(words), "{words}: {reset:?}");
    }
    let verified = place.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let service = place.serve();
    let (operator, path) = webhooks(&service);
    let listed = operator.get(&path).json();
    let new = &listed["data"][0];
    assert_eq!(new["webhook_id"], old["webhook_id"]);
    assert_ne!(new["secret"], old["secret"]);
    service.stop();
}

#[test]
fn a_directory_that_has_lost_its_records_is_not_started_as_a_new_service() {
    let place = small();
    let (store, aside) = (place.data().join("store"), place.path("aside"));
    fs::rename(&store, &aside).expect("the store");
    let start = || place.run(&["serve", "--listen", "127.0.0.1:0"]);
    start().assert_fault(&["secrets-key", "no records in store", "mount"]);
    // A volume that is not mounted.
    fs::create_dir(&store).expect("an empty store");
    start().assert_fault(&["secrets-key", "no records in store"]);
    fs::remove_file(place.data().join("secrets-key")).expect("the key");
    start().assert_fault(&["images in objects", "no records in store"]);
    fs::remove_dir(&store).expect("still empty");
    fs::rename(&aside, &store).expect("the store");
    place.serve().stop();
}

/// As after a crash of the first start, which creates the store first.
#[test]
fn an_interrupted_first_start_can_be_repeated() {
    let place = TestDirectory::new();
    fs::create_dir_all(place.data().join("store")).expect("an empty store");
    fs::create_dir_all(place.data().join("objects")).expect("no images");
    assert!(place.serve().printed_key().is_some());
}

#[test]
fn a_damaged_operator_token_is_named_with_its_file() {
    let place = small();
    let file = place.data().join("admin-token");
    let short = "0".repeat(31);
    for content in [&b"\n"[..], b"\xff\xfe", b"hi\n", short.as_bytes()] {
        fs::write(&file, content).expect("a token");
        let start = place.run(&["serve", "--listen", "127.0.0.1:0"]);
        start.assert_fault(&["admin-token", "remove the file"]);
        assert!(!start.err.contains("--data-dir"), "{start:?}");
    }
    fs::remove_file(&file).expect("the token");
    place.serve().stop();
    assert_eq!(place.token().len(), 64);
}

#[test]
fn a_secret_file_that_others_can_access_is_refused_with_the_command_to_run() {
    let place = small();
    for name in ["admin-token", "file-signing-key", "secrets-key"] {
        let file = place.data().join(name);
        let set = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode));
        set(0o644).expect("the mode");
        let start = place.run(&["serve", "--listen", "127.0.0.1:0"]);
        start.assert_fault(&["0644", "chmod 600", &file.display().to_string()]);
        assert!(!start.err.contains("remove the file"), "{start:?}");
        set(0o600).expect("the mode");
    }
    place.serve().stop();
}

/// Root could open the records, but the server could not open the files that root would create.
#[test]
fn the_records_of_another_user_are_read_but_not_written() {
    let place = small();
    let store = place.data().join("store");
    // Only root can give the records to another user.
    if chown(&store, Some(4_000_000), None).is_err() {
        return;
    }
    let advice = ["#4000000", "sudo -u"];
    place
        .run(&["serve", "--listen", "127.0.0.1:0"])
        .assert_fault(&advice);
    place.run(&["generate", "a fox"]).assert_fault(&advice);
    let before = files_below(&store);
    for reading in [&["verify"][..], &["backup", "backups"], &["export"]] {
        let outcome = place.run(reading);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
    }
    assert_eq!(files_below(&store), before);
    // The same holds for an empty directory that is to be filled, and for a location of backups.
    let [empty, backups] = ["empty", "backups"].map(|it| place.path(it));
    fs::create_dir(&empty).expect("a directory");
    for directory in [&empty, &backups] {
        chown(directory, Some(4_000_000), None).expect("root");
    }
    let empty = empty.to_str().expect("a path");
    let fill = ["restore", "backups", "--data-dir", empty];
    place.run_without_data(&fill).assert_fault(&advice);
    let advice = [&advice[..], &["backup location"]].concat();
    place.run(&["backup", "backups"]).assert_fault(&advice);
    let prune = ["backup", "prune", "backups", "--keep", "1"];
    place.run_without_data(&prune).assert_fault(&advice);
    let verify = ["verify", "--backup", "backups"];
    let verified = place.run_without_data(&verify);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

/// Linux mounts a failing disk so.
#[test]
fn records_on_a_read_only_file_system_can_be_backed_up() {
    let place = small();
    let in_read_only = |script: &str| {
        let mount = "mount --bind data data && mount -o remount,bind,ro data && ";
        let mut command = place.command("unshare");
        command.args(["--mount", "sh", "-c", &format!("{mount}{script}")]);
        command.args([BINARY, "--data-dir", "data"]);
        command.output().map(CommandOutput::of)
    };
    // Only root can mount, and not in every container.
    if !in_read_only("true").is_ok_and(|it| it.code == Some(0)) {
        return;
    }
    for (command, code) in [
        ("touch data/file", 1),
        ("\"$0\" serve --listen 127.0.0.1:0 \"$@\"", 1),
        ("\"$0\" verify \"$@\"", 0),
        ("\"$0\" backup backups \"$@\"", 0),
        ("\"$0\" export \"$@\"", 0),
    ] {
        let outcome = in_read_only(command).expect("unshare");
        assert_eq!(outcome.code, Some(code), "{command}: {outcome:?}");
    }
    let checked = place.run_without_data(&["verify", "--backup", "backups"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
}

#[test]
fn addresses_that_cannot_be_listened_on() {
    let place = TestDirectory::new();
    for address in ["127.0.0.1:99999", "127.0.0.1", "nonsense", "192.0.2.1:1"] {
        place
            .run(&["serve", "--listen", address])
            .assert_fault(&[address]);
    }
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address").to_string();
    let outcome = place.run(&["serve", "--listen", &address]);
    outcome.assert_fault(&[&address, "in use", "--listen"]);
    assert!(!place.data().exists(), "nothing was made");
}
