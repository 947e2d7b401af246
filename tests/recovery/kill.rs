//! The process is killed while it starts.

use crate::test_directory::{Service, TestDirectory, until};

/// Starts the service and kills it while it opens the store or recovers jobs.
pub fn kill_at_start(place: &TestDirectory) {
    let mut service = place.begin_to_serve(place.command(crate::test_directory::BINARY));
    let files = format!("/proc/{}/fd", service.pid());
    let log = place.data().join("store/db");
    until("the store is being opened", || {
        let open = std::fs::read_dir(&files).ok()?.flatten();
        open.filter_map(|file| std::fs::read_link(file.path()).ok())
            .find(|file| *file == log)
    });
    service.kill();
}

/// Kills the service repeatedly as soon as it answers, with a job in the queue.
#[test]
fn hostile_090_kills_in_a_row_lose_nothing() {
    let place = TestDirectory::with(&[("JOBS__MAX_RUNS", "100")]);
    let mut service = place.serve();
    let key = service.printed_key().expect("a key");
    let id = service.client(&key).create_slow("4K");
    service.kill();
    for _ in 0..8 {
        kill_at_start(&place);
        let mut service: Service = place.serve();
        let job = service.client(&key).job(&id);
        assert!(
            job["status"] == "queued" || job["status"] == "processing",
            "{job}"
        );
        service.kill();
    }
    let verified = place.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    assert!(verified.out.contains("1 live job,"), "{verified:?}");
}
