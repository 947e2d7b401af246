//! The real binary with its records in PostgreSQL: kills of the service, crashes of the database under load, moves in and out, and
//! rejected configurations.

use crate::bucket::Bucket;
use crate::client::Client;
use crate::kill_load::{
    Memory, acknowledged, configure, create_until_cut, end_exactly, load_and_kill, number, register,
};
use crate::peer::Peer;
use crate::test_directory::{Service, TestDirectory, until};
use rand::SeedableRng as _;
use rand::rngs::SmallRng;
use serde_json::json;
use std::sync::Mutex;
use tintype_postgres::testing::{Server, server};

/// A short run by default.
const KILLS: u64 = 6;

/// The cluster secret.
pub const SECRET: &str = "what-the-nodes-of-a-test-have-in-common";

/// A place with its records in a database and its images in a bucket.
pub fn place(url: &str, bucket: &Bucket) -> TestDirectory {
    let mut place = TestDirectory::with(&[
        ("STORAGE__URL", url),
        ("CLUSTER__SECRET", SECRET),
        ("STORAGE__OBJECTS", "s3://pictures/here"),
    ]);
    use_bucket(&mut place, bucket);
    place
}

/// Configures the bucket.
pub fn use_bucket(place: &mut TestDirectory, bucket: &Bucket) {
    for (name, value) in bucket.variables() {
        place.set_variable(name, value);
    }
}

/// One life of the process: callers call, the database crashes, they continue, and the service is killed.
fn crash_and_kill(
    server: &Server,
    service: &mut Service,
    client: &Client,
    peer: &Peer,
    memory: &Mutex<Memory>,
) {
    let more = |count: usize| {
        let before = acknowledged(memory);
        until("more calls are answered", || {
            (acknowledged(memory) >= before + count).then_some(())
        });
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| create_until_cut(client, peer, memory));
        }
        more(20);
        server.crash();
        more(20);
        service.kill();
    });
}

#[test]
fn kills_and_database_crashes_under_load_lose_no_job_no_cent_and_no_webhook() {
    let Some(server) = Server::start() else {
        return;
    };
    let kills = number("TINTYPE_KILLS").unwrap_or(KILLS);
    let (database, bucket) = (server.database(), Bucket::start());
    let (peer, memory) = (Peer::start(), Mutex::new(Memory::default()));
    let place = place(&database.url(), &bucket);
    configure(&place, &peer);
    let (mut rng, mut key) = (SmallRng::seed_from_u64(1), None);
    for round in 0..kills {
        let mut service = place.serve();
        if key.is_none() {
            key = service.printed_key();
            register(&place, &service, &peer);
        }
        let client = service.client(key.as_deref().expect("a key"));
        match round % 2 {
            0 => crash_and_kill(&server, &mut service, &client, &peer, &memory),
            _ => load_and_kill(&mut service, &client, &peer, &memory, &mut rng),
        }
        let verified = place.run(&["verify"]);
        assert_eq!(verified.code, Some(0), "after kill {round}: {verified:?}");
    }
    let jobs = end_exactly(&place, &peer, key.as_deref().expect("a key"), memory);
    println!("{kills} kills: {jobs} jobs acknowledged, all done and paid once");
}

#[test]
fn records_are_imported_into_a_database_and_exported_while_a_service_uses_it() {
    let Some(server) = server() else { return };
    let (database, bucket) = (server.database(), Bucket::start());
    let before = TestDirectory::new();
    let service = before.serve();
    let key = service.printed_key().expect("a key");
    service.stop();
    let exported = before.run(&["export"]);
    assert_eq!(exported.code, Some(0), "{exported:?}");
    let place = place(&database.url(), &bucket);
    let file = place.path("export.ndjson");
    std::fs::write(&file, &exported.out).expect("a file");
    let file = file.to_str().expect("a path");
    let imported = place.run(&["import", file]);
    assert_eq!(imported.code, Some(0), "{imported:?}");
    let service = place.serve();
    let (balance, _) = service.client(&key).money();
    assert_eq!(balance, "100.00", "the key and the account have moved");
    let again = place.run(&["export"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    let records = |text: &str| {
        let is_record = |line: &&str| line.contains("\"account\"");
        let mut lines: Vec<String> = text.lines().filter(is_record).map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(records(&again.out), records(&exported.out));
    assert_eq!(place.run(&["verify"]).code, Some(0));
    service.stop();
}

#[test]
fn the_log_contains_no_prompt_at_any_level() {
    const PROMPT: &str = "portrait of Erika Mustermann";
    let Some(server) = server() else { return };
    let (database, bucket) = (server.database(), Bucket::start());
    let mut place = place(&database.url(), &bucket);
    place.set("LOG__FILTER", "trace");
    let mut service = place.serve();
    let client = service.client(&service.printed_key().expect("a key"));
    let body = json!({"prompt": PROMPT, "aspect_ratio": "1:1"});
    let job = client.call("POST", "/api/v1/nb/text-generations", Some(&body));
    let job = job.accepted();
    client.job_when(&job, "done");
    let log = service.end();
    assert!(log.contains("TRACE"), "{log}");
    // Drivers print stored values as lists of bytes.
    let bytes = format!("{:?}", PROMPT.as_bytes());
    for prompt in [PROMPT, bytes.trim_matches(['[', ']'])] {
        let line = log.lines().find(|line| line.contains(prompt));
        assert_eq!(line, None);
    }
}

#[test]
fn a_database_url_is_always_masked_and_requires_a_bucket_and_a_secret() {
    let url = "postgres://me:hidden-word@127.0.0.1:1/records";
    let place = TestDirectory::with(&[("STORAGE__URL", url)]);
    place
        .run(&["serve"])
        .assert_fault(&["TINTYPE__STORAGE__URL", "storage.objects", "a bucket"]);
    let mut place = place;
    place.set("STORAGE__OBJECTS", "s3://pictures/here");
    place.run(&["serve"]).assert_fault(&[
        "cluster.secret",
        "TINTYPE_SECRET",
        "openssl rand -hex 32",
    ]);
    place.set("CLUSTER__SECRET", SECRET);
    place.set_variable("AWS_REGION", "us-east-1");
    let shown = place.run_without_data(&["check-config"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(
        shown.out.contains("postgres://me:***@127.0.0.1:1/records"),
        "{shown:?}"
    );
    let refused = place.run(&["serve", "--listen", "127.0.0.1:0"]);
    refused.assert_fault(&[
        "postgres://me:***@127.0.0.1:1/records",
        "Connection refused",
    ]);
    for said in [&shown.out, &shown.err, &refused.out, &refused.err] {
        assert!(!said.contains("hidden-word"), "{said}");
    }
}

#[test]
fn the_schema_is_printed_for_an_administrator() {
    let printed = TestDirectory::new().run_without_data(&["schema"]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    assert!(
        printed
            .out
            .starts_with("CREATE SCHEMA IF NOT EXISTS tintype;"),
        "{printed:?}"
    );
    let Some(server) = server() else { return };
    let database = server.database();
    server.execute(&database.name, &printed.out);
}
