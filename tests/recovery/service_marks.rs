//! The mark of a service in its object store: a start with another object store, and copies of the records.

use crate::bucket::Bucket;
use crate::client::Client;
use crate::move_command::good;
use crate::postgres::{SECRET, use_bucket};
use crate::test_directory::{BINARY, TestDirectory, until};
use std::fs;
use tintype_postgres::testing::server;

const BUCKET: &str = "s3://pictures/here";

/// Runs a job to its end.
fn make(client: &Client) {
    let job = client.create_small_now("fox").accepted();
    client.job_when(&job, "done");
}

#[test]
fn an_object_store_without_the_objects_on_record_is_rejected() {
    let bucket = Bucket::start();
    let mut place = TestDirectory::new();
    let start = |place: &TestDirectory| place.run(&["serve", "--listen", "127.0.0.1:0"]);
    let service = place.serve();
    let key = service.printed_key().expect("a key");
    let [mark] = &place.objects("services")[..] else {
        panic!("no mark");
    };
    service.stop();
    let [objects, aside] = ["data/objects", "aside"].map(|it| place.path(it));
    fs::rename(&objects, &aside).expect("moved");
    // No record names an object yet.
    let service = place.serve();
    make(&service.client(&key));
    service.stop();
    assert!(mark.exists());
    place.serve().stop();
    fs::remove_dir_all(&objects).expect("removed");
    let name = mark.file_name().expect("a name").to_str().expect("text");
    let words = ["`[storage] objects`", name, "previous value", "aws s3 sync"];
    start(&place).assert_fault(&words);
    place
        .run(&["generate", "a fox"])
        .assert_fault(&["`[storage] objects`"]);
    // The operator accepts the loss.
    fs::create_dir_all(mark.parent().expect("a directory")).expect("a directory");
    fs::write(mark, "").expect("an empty mark");
    place.serve().stop();

    use_bucket(&mut place, &bucket);
    place.set("STORAGE__OBJECTS", BUCKET);
    start(&place).assert_fault(&[BUCKET, name]);
    place.set_variable("AWS_ENDPOINT_URL", "http://127.0.0.1:9");
    let mut service = place.begin_to_serve(place.command(BINARY));
    until("the start is reported", || {
        assert_eq!(service.status(), None, "it waits for the bucket");
        service.output().contains("is not ready").then_some(())
    });
    service.stop();
}

#[test]
fn records_that_leave_their_images_in_the_bucket_keep_their_mark() {
    let Some(server) = server() else { return };
    let (database, bucket) = (server.database(), Bucket::start());
    let mut place = TestDirectory::with(&[("STORAGE__OBJECTS", BUCKET)]);
    use_bucket(&mut place, &bucket);
    place.set_variable("TINTYPE_SECRET", SECRET);
    let service = place.serve();
    make(&service.client(&service.printed_key().expect("a key")));
    service.stop();
    let moved = good(place.run(&["move", "--to", &database.url()]));
    assert!(moved.contains("images: not moved"), "{moved}");
    place.set("STORAGE__URL", &database.url());
    place.set("STORAGE__OBJECTS", "s3://pictures/elsewhere");
    let start = place.run(&["serve", "--listen", "127.0.0.1:0"]);
    start.assert_fault(&["`[storage] objects`", "s3://pictures/elsewhere"]);
    place.set("STORAGE__OBJECTS", BUCKET);
    let mut service = place.serve();
    service.terminate();
    assert_eq!(service.code(), Some(0));
    let log = service.end();
    assert!(!log.contains("another copy of the records"), "{log}");
}

#[test]
fn imported_records_do_not_take_over_a_mark_without_the_operator() {
    let bucket = Bucket::start();
    for objects in ["", BUCKET] {
        let mut place = TestDirectory::with(&[("STORAGE__OBJECTS", objects)]);
        use_bucket(&mut place, &bucket);
        place.serve().stop();
        let [export, data, aside] = ["export.jsonl", "data", "aside"].map(|it| place.path(it));
        let file = export.to_str().expect("a path");
        good(place.run(&["export", "--output", file]));
        fs::rename(&data, &aside).expect("moved");
        good(place.run(&["import", file]));
        if objects.is_empty() {
            fs::rename(aside.join("objects"), data.join("objects")).expect("moved");
        }
        let mut service = place.serve();
        service.terminate();
        assert_eq!(service.code(), Some(0));
        let log = service.end();
        for words in ["another copy of the records", "services/", "empty object"] {
            // No other service uses a local directory.
            assert_eq!(log.contains(words), !objects.is_empty(), "{log}");
        }
    }
}

#[test]
fn a_database_does_not_hide_the_records_of_a_data_directory() {
    let Some(server) = server() else { return };
    let (database, bucket) = (server.database(), Bucket::start());
    let mut place = TestDirectory::new();
    place.serve().stop();
    use_bucket(&mut place, &bucket);
    place.set_variable("TINTYPE_SECRET", SECRET);
    place.set("STORAGE__URL", &database.url());
    place.set("STORAGE__OBJECTS", BUCKET);
    let start = || place.run(&["serve", "--listen", "127.0.0.1:0"]);
    start().assert_fault(&["tintype move --to", "data/store", "another --data-dir"]);
    fs::rename(place.data().join("store"), place.path("aside")).expect("moved");
    place.serve().stop();
    // Now the database has records.
    fs::rename(place.path("aside"), place.data().join("store")).expect("moved");
    place.serve().stop();
}

#[test]
fn a_node_without_its_database_warns_that_it_starts_as_a_new_service() {
    let place = TestDirectory::new();
    fs::create_dir(place.data()).expect("a directory");
    fs::write(place.data().join("node-lock"), "").expect("a lock");
    let warns = || {
        let mut service = place.serve();
        service.terminate();
        assert_eq!(service.code(), Some(0));
        service.end().contains("`[storage] url` is not set")
    };
    assert!(warns());
    assert!(!warns(), "it has records of its own");
}
