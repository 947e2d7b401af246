//! `tintype import`, `restore` and `backup` with records in PostgreSQL: refusals that change nothing, and the keys of nodes.

use crate::backup::small;
use crate::bucket::Bucket;
use crate::kill_load::{configure, register};
use crate::move_command::{good, make};
use crate::peer::Peer;
use crate::postgres::{SECRET, place};
use crate::test_directory::TestDirectory;
use serde_json::Value;
use std::fs;
use tintype_postgres::testing::server;

fn text(path: &std::path::Path) -> &str {
    path.to_str().expect("a path")
}

#[test]
fn a_refused_import_or_restore_leaves_nothing_behind() {
    let Some(server) = server() else { return };
    let (database, bucket) = (server.database(), Bucket::start());
    let source = small();
    good(source.run(&["export", "--output", "records.jsonl"]));
    good(source.run(&["backup", "backups"]));
    let (records, backups) = (source.path("records.jsonl"), source.path("backups"));
    let commands = [["import", text(&records)], ["restore", text(&backups)]];

    let node = place(&database.url(), &bucket);
    let service = node.serve();
    let refuse = |reason: &str| {
        for command in &commands {
            let there = place(&database.url(), &bucket);
            there.run(command).assert_fault(&[reason]);
            assert!(!there.data().exists(), "{command:?}");
            fs::create_dir(there.data()).expect("a directory");
            there.run(command).assert_fault(&[reason]);
            let left = fs::read_dir(there.data()).expect("the directory").count();
            assert_eq!(left, 0, "{command:?}");
        }
    };
    refuse("several nodes use it");
    service.stop();
    refuse("holds records already");

    let mut there = place(&server.database().url(), &bucket);
    there.set("STORAGE__OBJECTS", "az://pictures/here");
    there
        .run(&commands[1])
        .assert_fault(&["AZURE_STORAGE_ACCOUNT_NAME"]);
    assert!(!there.data().exists());
    node.serve().stop();
}

#[test]
fn a_backup_of_nodes_is_restored_with_their_secret() {
    let Some(server) = server() else { return };
    let (database, bucket, peer) = (server.database(), Bucket::start(), Peer::start());
    let node = place(&database.url(), &bucket);
    configure(&node, &peer);
    let service = node.serve();
    let key = service.printed_key().expect("a key");
    register(&node, &service, &peer);
    make(&service, &peer, &key, "first");
    let said = good(node.run(&["backup", "backups"]));
    for words in ["key files: none", "TINTYPE_SECRET"] {
        assert!(said.contains(words), "{said}");
    }
    assert!(!said.contains("act as the server"), "{said}");
    let at = format!("http://{}", service.address());
    let stats = good(node.run(&["stats", "--json", "--server", &at]));
    let stats: Value = serde_json::from_str(&stats).expect("JSON");
    assert!(stats["last_export_at"].is_string(), "{stats}");
    service.stop();
    let backups = node.path("backups");
    let restore = ["restore", text(&backups)];

    let mut single = TestDirectory::new();
    configure(&single, &peer);
    let said = good(single.run(&restore));
    assert!(said.contains("TINTYPE_SECRET"), "{said}");
    assert!(!said.contains("secrets-key"), "{said}");
    let refused = single.run(&["serve", "--listen", "127.0.0.1:0"]);
    refused.assert_fault(&["TINTYPE_SECRET", "webhook secrets"]);
    assert!(!refused.err.contains("secrets-key"), "{refused:?}");
    let verified = single.run(&["verify"]);
    assert_eq!(verified.code, Some(1), "{verified:?}");
    let fault = "FAULT the webhook secrets on record are encrypted with";
    assert!(verified.out.contains(fault), "{verified:?}");
    single.set_variable("TINTYPE_SECRET", SECRET);
    let service = single.serve();
    make(&service, &peer, &key, "second");
    service.stop();

    let other = server.database();
    let there = place(&other.url(), &bucket);
    configure(&there, &peer);
    let said = good(there.run(&restore));
    for words in [&other.url(), "TINTYPE_SECRET"] {
        assert!(said.contains(words), "{said}");
    }
    let service = there.serve();
    make(&service, &peer, &key, "third");
    service.stop();

    let mut there = there;
    there.set(
        "CLUSTER__SECRET",
        "the-secret-after-the-loss-of-the-old-one",
    );
    let refused = there.run(&["serve", "--listen", "127.0.0.1:0"]);
    refused.assert_fault(&["tintype webhook reset-secrets"]);
    there
        .run(&["webhook", "reset-secrets"])
        .assert_fault(&["--yes"]);
    let said = good(there.run(&["webhook", "reset-secrets", "--yes"]));
    assert!(said.contains("1 webhook got a new secret"), "{said}");
    let service = there.serve();
    make(&service, &peer, &key, "fourth");
    service.stop();
}

#[test]
fn a_single_process_is_restored_or_imported_into_a_database() {
    let Some(server) = server() else { return };
    let (bucket, peer) = (Bucket::start(), Peer::start());
    let source = TestDirectory::new();
    configure(&source, &peer);
    let service = source.serve();
    let key = service.printed_key().expect("a key");
    register(&source, &service, &peer);
    make(&service, &peer, &key, "first");
    service.stop();
    good(source.run(&["export", "--output", "records.jsonl"]));
    good(source.run(&["backup", "with-keys"]));
    good(source.run(&["backup", "without-keys", "--without-keys"]));
    let node = |url: &str| {
        let place = place(url, &bucket);
        configure(&place, &peer);
        place
    };

    // The restore has stored the key of the webhook secrets in the database, so any node can start first.
    let database = server.database();
    let restored = node(&database.url());
    let said = good(restored.run(&["restore", text(&source.path("with-keys"))]));
    assert!(!said.contains("secrets-key"), "{said}");
    let first = node(&database.url());
    let service = first.serve();
    make(&service, &peer, &key, "second");
    service.stop();

    let database = server.database();
    let restored = node(&database.url());
    let said = good(restored.run(&["restore", text(&source.path("without-keys"))]));
    let advice = format!(
        "start the first node with --data-dir {}",
        restored.data().display()
    );
    for words in ["copy it to", &advice] {
        assert!(said.contains(words), "{said}");
    }

    let database = server.database();
    let imported = node(&database.url());
    let said = good(imported.run(&["import", text(&source.path("records.jsonl"))]));
    for words in ["s3://pictures/here", "copy secrets-key", "the first node"] {
        assert!(said.contains(words), "{said}");
    }
    assert!(!said.contains("admin-token"), "{said}");
    fs::copy(
        source.data().join("secrets-key"),
        imported.data().join("secrets-key"),
    )
    .expect("the key");
    let service = imported.serve();
    make(&service, &peer, &key, "third");
    service.stop();
}
