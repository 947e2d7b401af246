//! A job that was running when the process was killed.

use crate::test_directory::TestDirectory;

/// More restarts than needed: a run lost before its commit starts again without being counted.
const MAX_RESTARTS: usize = 12;

#[test]
fn a_killed_run_is_repeated_until_the_allowed_runs_are_used_up() {
    let place = TestDirectory::with(&[("JOBS__MAX_RUNS", "2")]);
    let mut service = place.serve();
    let key = service.printed_key().expect("a key");
    let client = service.client(&key);
    let id = client.create_slow("4K");
    let began = client.job_when(&id, "processing")["started_at"].clone();
    assert_eq!(client.money(), ("100.00".into(), "0.24".into()));
    let mut restarts = 0;
    let failed = loop {
        // The answer follows a commit, which also makes the account's earlier decision durable: the start of the run.
        let other = format!("other-{restarts}");
        service.client(&key).create_small_now(&other).accepted();
        let job = service.client(&key).job(&id);
        assert_eq!(job["started_at"], began, "{job}");
        if job["status"] == "failed" {
            break job;
        }
        assert_eq!(job["status"], "processing", "{job}");
        assert!(restarts < MAX_RESTARTS, "begun again and again");
        service.kill();
        service = place.serve();
        restarts += 1;
    };
    assert!(restarts >= 2, "failed after restart {restarts}");
    assert_eq!(failed["error"], "interrupted");
    assert_eq!(failed["result"], serde_json::Value::Null);
    service.kill();
    let verified = place.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}
