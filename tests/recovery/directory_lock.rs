//! A data directory belongs to one process at a time.

use crate::bucket::Bucket;
use crate::postgres::place;
use crate::test_directory::TestDirectory;
use std::time::Instant;
use tintype_postgres::testing::server;

#[test]
fn hostile_084_a_directory_in_use_is_refused_by_name() {
    let place = TestDirectory::new();
    let service = place.serve();
    let data = place.data();
    let data = data.to_str().expect("a path");
    let refuse = |arguments: &[&str]| {
        let began = Instant::now();
        let ended = place.run(arguments);
        ended.assert_fault(&["tintype: ", data, "in use by another process"]);
        let suggests = ended.err.contains("--server") && ended.err.contains("TINTYPE_KEY");
        assert_eq!(suggests, arguments[0] == "generate", "{ended:?}");
        began.elapsed()
    };
    // In parallel: a server waits ten seconds for the other process to exit, and says so. The commands do not wait.
    let [serve, verify, generate] = std::thread::scope(|scope| {
        let commands = [
            &["serve", "--listen", "127.0.0.1:0"][..],
            &["verify"],
            &["generate", "a fox"],
        ];
        let running = commands.map(|arguments| scope.spawn(|| refuse(arguments)));
        running.map(|it| it.join().expect("a refusal"))
    });
    assert!(
        generate < serve && verify < serve,
        "{serve:?}, {verify:?}, {generate:?}"
    );
    let client = service.client(&service.printed_key().expect("a key"));
    assert_eq!(client.get("/api/v1/balance").status, 200, "it is unharmed");
    service.stop();
}

#[test]
fn a_second_node_with_the_same_data_directory_is_refused() {
    let Some(server) = server() else { return };
    let (database, bucket) = (server.database(), Bucket::start());
    let node = place(&database.url(), &bucket);
    let service = node.serve();
    let data = node.data();
    let data = data.to_str().expect("a path");
    node.run(&["serve", "--listen", "127.0.0.1:0"])
        .assert_fault(&[data, "in use by another process"]);
    // Commands read the database while the node runs.
    assert_eq!(node.run(&["verify"]).code, Some(0));
    service.stop();
    node.serve().stop();
}
