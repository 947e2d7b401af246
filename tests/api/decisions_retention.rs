//! Beyond the decisions: `[jobs] retention_days` deletes ended jobs and batches. By default they are kept.

use crate::support::batches::{batch_of, entry};
use crate::support::{Customer, Options, Server, fox};
use std::fs;
use std::sync::Arc;
use std::time::Duration;
use tempfile::NamedTempFile;
use tintype::server::sweeps::{SweepLimits, Sweeps};
use tintype_storage::engine::commit_and_wait;
use tintype_storage::store::tables::JOB_REFUNDS;

const DAY: Duration = Duration::from_secs(86_400);

/// Runs the daily sweeps until nothing is left to delete.
fn sweep(server: &Server) {
    let runtime = actix_web::rt::System::new();
    let mut sweeps = Sweeps::new(SweepLimits {
        step: 100,
        steps: 100,
    });
    let (core, settings) = (server.inside(), &server.instance().settings);
    runtime.block_on(async {
        sweeps.delete_expired_idempotency_keys(core).await;
        sweeps.delete_old_deliveries(core, settings).await;
        sweeps.delete_old_jobs(core, settings).await;
    });
}

fn ids(server: &Server, customer: &Customer) -> Vec<String> {
    let list = server.native(customer, "GET", "/jobs").expect(200).json();
    let id = |job: &serde_json::Value| job["job_id"].as_str().unwrap().to_owned();
    list["data"].as_array().unwrap().iter().map(id).collect()
}

/// Creates a job under a key, and waits for its end.
fn done_job(server: &Server, customer: &Customer, key: &str) -> String {
    let call = server.generation(customer, "/text-generations", &fox());
    let job = call.idempotent(key).expect(202).job_id();
    server.job_once(customer, &job, "done");
    job
}

#[test]
fn jobs_and_batches_are_deleted_after_their_retention_and_charges_are_kept() {
    let server = Server::with(Options::new().set("jobs.retention_days", 31));
    let customer = server.customer("10.00");
    let old = done_job(&server, &customer, "a");
    let batch = server.submit(&customer, &[entry(), entry()]);
    server.batch_ended(&customer, &batch);
    server.clock.advance(DAY * 31);
    sweep(&server);
    assert_eq!(ids(&server, &customer).len(), 3, "kept for 31 whole days");
    server.clock.advance(DAY);
    let recent = done_job(&server, &customer, "a");
    sweep(&server);
    assert_eq!(ids(&server, &customer), [recent]);
    let jobs = format!("/jobs/{old}");
    server
        .native(&customer, "GET", &jobs)
        .refused(404, "not_found");
    server.admin("GET", &jobs).refused(404, "not_found");
    let batches = format!("/batches/{}", batch["batch_id"].as_str().unwrap());
    server
        .native(&customer, "GET", &batches)
        .refused(404, "not_found");
    let ledger = server.native(&customer, "GET", "/transactions").expect(200);
    let ledger = ledger.json();
    let charged: Vec<_> = ledger["data"].as_array().unwrap().iter().collect();
    assert!(charged.iter().any(|entry| entry["job_id"] == old));
    // The opening deposit, and a charge for each of four jobs.
    assert_eq!(charged.len(), 5);
    server.assert_well();
}

#[test]
fn a_sweep_logs_why_it_cannot_delete_jobs() {
    let server = Server::with(Options::new().set("jobs.retention_days", 31));
    let customer = server.customer("1.00");
    let job = done_job(&server, &customer, "a");
    let refunds = JOB_REFUNDS.key(&(customer.account.parse().unwrap(), job.parse().unwrap()));
    let damaged = (refunds, Some(b"damaged".to_vec()));
    commit_and_wait(&**server.inside().store.engine(), vec![damaged]).unwrap();
    server.clock.advance(DAY * 32);
    let log = NamedTempFile::new().unwrap();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(Arc::new(log.reopen().unwrap()))
        .finish();
    tracing::subscriber::with_default(subscriber, || sweep(&server));
    assert_eq!(ids(&server, &customer), [job]);
    let lines = fs::read_to_string(log.path()).unwrap();
    let is_error = |it: &str| it.contains("ERROR") && it.contains("could not remove old jobs");
    assert!(lines.lines().any(is_error), "{lines}");
}

#[test]
fn jobs_are_kept_by_default() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let job = done_job(&server, &customer, "a");
    server.clock.advance(DAY * 4_000);
    sweep(&server);
    assert_eq!(ids(&server, &customer), [job]);
    server.assert_well();
}

/// The calls repeat jobs and batches that a shorter retention has deleted.
#[test]
fn a_key_that_was_remembered_longer_than_its_job_creates_a_new_one() {
    let options = Options::new().on_disk();
    let server = Server::with(options.set("idempotency.retention_hours", 8_760));
    let customer = server.customer("10.00");
    let old = done_job(&server, &customer, "a");
    let batch = |server: &Server| {
        let call = server.batch_call(&customer, &batch_of(&[entry()]));
        call.idempotent("b").expect(202)
    };
    let old_batch = batch(&server).json();
    server.batch_ended(&customer, &old_batch);
    let options = server.stop().set("idempotency.retention_hours", 1);
    let server = Server::with(options.set("jobs.retention_days", 31));
    server.clock.advance(DAY * 33);
    sweep(&server);
    assert_eq!(ids(&server, &customer), [""; 0]);
    let again = batch(&server);
    assert_eq!(again.header("idempotent-replayed"), None);
    assert_ne!(again.json()["batch_id"], old_batch["batch_id"]);
    server.batch_ended(&customer, &again.json());
    assert_ne!(done_job(&server, &customer, "a"), old);
    server.assert_well();
}
