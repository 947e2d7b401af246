//! Retention of deliveries (108): deletes only deliveries that ended before a given time, with their attempts.

use crate::helpers::{DAY, options, server};
use crate::receiver::Receiver;
use crate::simulation::{Simulation, SimulationOptions, furnish, in_paused_time, status, webhook};
use crate::support::{Server, fox};
use std::sync::Arc;
use std::time::Duration;
use tintype::server::sweeps::{SweepLimits, Sweeps};
use tintype_actors::delivery::DeliveryCommand;
use tintype_storage::domain::delivery::DeliveryId;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::Store;
use tintype_storage::testing::memory::MemoryEngine;
use tokio::sync::oneshot;
use tokio::time::sleep;

const HOUR: Duration = Duration::from_secs(3_600);

/// Deletes in steps until none is left; returns the number of steps.
async fn forget(sim: &Simulation, older_than: Timestamp, limit: usize) -> usize {
    let mut cursor = Vec::new();
    for step in 1..1_000 {
        let (reply, answer) = oneshot::channel();
        sim.system.deliveries().do_send(DeliveryCommand::Delete {
            older_than,
            cursor,
            limit,
            reply,
        });
        cursor = answer.await.unwrap().unwrap();
        if cursor.is_empty() {
            return step;
        }
    }
    panic!("it goes round in circles");
}

async fn sent(sim: &Simulation, count: usize) -> Vec<DeliveryId> {
    let mut ids = Vec::new();
    for _ in 0..count {
        ids.push(sim.send_test(&webhook(1)).await);
    }
    ids
}

fn begin(engine: &Arc<MemoryEngine>, refused: usize) -> Simulation {
    furnish(&**engine, &Store::new(engine.clone()), &[webhook(1)]);
    Simulation::begin(SimulationOptions::over(
        engine.clone(),
        vec![status(500); refused],
    ))
}

#[test]
fn hostile_108_old_deliveries_are_deleted_with_all_their_records() {
    let engine = Arc::new(MemoryEngine::new());
    in_paused_time(async {
        let sim = begin(&engine, 5);
        let empty = engine.image();
        sent(&sim, 5).await;
        sleep(2 * HOUR).await;
        let (between, old) = (sim.now(), engine.image().len());
        assert!(old > empty.len() + 3 * 5);
        sleep(HOUR).await;
        let young = sent(&sim, 5).await;
        sleep(2 * HOUR).await;
        for limit in [1_000, 2] {
            forget(&sim, between, limit).await;
            for id in &young {
                assert!(sim.store.delivery(*id).wait().unwrap().is_some());
                assert_eq!(sim.store.attempts(*id).wait().unwrap().len(), 1);
            }
        }
        assert_eq!(
            engine.image().len(),
            empty.len() + 1 + 3 * 5,
            "three records each, and up to when deliveries are forgotten"
        );
        assert!(forget(&sim, sim.now().plus(HOUR), 2).await > 1);
        let mut left = engine.image();
        left.retain(|key, _| !key.starts_with(b"s"));
        assert_eq!(left, empty, "nothing is left behind");
    });
}

#[test]
fn pending_deliveries_are_retained_regardless_of_their_age() {
    let engine = Arc::new(MemoryEngine::new());
    in_paused_time(async {
        let sim = begin(&engine, 6);
        let id = sent(&sim, 1).await[0];
        sleep(Duration::from_secs(30 * 60)).await;
        forget(&sim, sim.now().plus(HOUR), 10).await;
        assert!(sim.store.delivery(id).wait().unwrap().is_some());
        sleep(HOUR).await;
        assert_eq!(sim.transport.taken(), [id], "and arrive");
    });
}

#[test]
fn each_commit_of_a_sweep_is_small() {
    let engine = Arc::new(MemoryEngine::new());
    in_paused_time(async {
        let sim = begin(&engine, 0);
        let ids = sent(&sim, 800).await;
        for _ in 0..12 {
            for id in &ids {
                sim.redeliver(*id).await.unwrap();
            }
            sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(sim.transport.taken().len(), 800 * 13);
        let later = sim.now().plus(HOUR);
        let step = sim
            .store
            .find_old_deliveries(later, &[], 1_000, |_| false)
            .wait();
        let step = step.unwrap();
        let bytes: usize = step.writes.iter().map(|(key, _)| key.len()).sum();
        assert!(bytes <= 48 * 1_024 && !step.cursor.is_empty(), "{bytes}");
        forget(&sim, later, 1_000).await;
        assert!(
            sim.store
                .deliveries(10, None)
                .wait()
                .unwrap()
                .items
                .is_empty()
        );
        assert!(
            ids.iter()
                .all(|id| sim.store.attempts(*id).wait().unwrap().is_empty())
        );
    });
}

#[test]
fn a_sweep_continues_where_the_last_sweep_stopped() {
    let (server, receiver) = (server(), Receiver::content());
    let customers: Vec<_> = (0..3).map(|_| server.customer("9.00")).collect();
    let mut young = Vec::new();
    for customer in &customers {
        server.webhook(customer, &receiver.url("/"));
        for _ in 0..4 {
            let job = server.create(customer);
            server.delivery_in(&job, "delivered");
        }
    }
    server.clock.advance(31 * DAY);
    for customer in &customers {
        young.push(server.create(customer));
    }
    young
        .iter()
        .for_each(|job| drop(server.delivery_in(job, "delivered")));
    assert_eq!(server.deliveries("limit=100").len(), 15);
    // Two steps of two deliveries each: four of the fifteen, and the next four in the next round.
    let limits = SweepLimits { step: 2, steps: 2 };
    let mut sweeps = Sweeps::new(limits);
    let runtime = actix_web::rt::System::new();
    let mut left = vec![15];
    for _ in 0..4 {
        runtime
            .block_on(sweeps.delete_old_deliveries(server.inside(), &server.instance().settings));
        left.push(server.deliveries("limit=100").len());
    }
    assert_eq!(left.last(), Some(&3), "{left:?}");
    assert!(left.windows(2).all(|it| it[0] - it[1] <= 4), "{left:?}");
    for job in &young {
        assert!(server.delivery_of(job).is_some());
    }
}

#[test]
fn a_job_past_its_retention_stays_until_its_delivery_has_arrived_and_is_deleted() {
    let receiver = Receiver::statuses(&[500, 200]);
    let server = Server::with(options().set("jobs.retention_days", 31));
    let customer = server.customer("9.00");
    server.webhook(&customer, &receiver.url("/"));
    let job = server.create(&customer);
    server.delivery_after(&job, 1);
    let mut sweeps = Sweeps::new(SweepLimits { step: 9, steps: 9 });
    let runtime = actix_web::rt::System::new();
    let mut sweep = || {
        let (core, settings) = (server.inside(), &server.instance().settings);
        runtime.block_on(sweeps.delete_old_deliveries(core, settings));
        runtime.block_on(sweeps.delete_old_jobs(core, settings));
    };
    // As if the service had been stopped for so long.
    server.clock.advance(33 * DAY);
    sweep();
    server.nudge();
    server.delivery_in(&job, "delivered");
    let delivered = receiver.once(2);
    assert_eq!(delivered[1].json()["job_id"], job.as_str());
    server.pass(31 * DAY);
    sweep();
    server
        .admin("GET", &format!("/jobs/{job}"))
        .refused(404, "not_found");
    assert_eq!(server.delivery_of(&job), None);
    server.assert_well();
}

#[test]
fn idempotency_keys_are_deleted_from_where_the_last_sweep_stopped() {
    let server = server();
    let customer = server.customer("9.00");
    let call = |key: &str| {
        let call = server.generation(&customer, "/text-generations", &fox());
        call.header("Idempotency-Key", key).expect(202).job_id()
    };
    let names: Vec<String> = (0..10).map(|number| format!("key-{number}")).collect();
    let first: Vec<String> = names.iter().map(|name| call(name)).collect();
    assert_eq!(call(&names[9]), first[9]);
    server.clock.advance(2 * DAY);
    let records = || {
        let (writes, _) = server
            .inside()
            .store
            .delete_expired(server.inside().now(), &[], 100)
            .wait()
            .unwrap();
        writes.len()
    };
    let mut sweeps = Sweeps::new(SweepLimits { step: 2, steps: 2 });
    let runtime = actix_web::rt::System::new();
    let mut left = vec![records()];
    for _ in 0..4 {
        runtime.block_on(sweeps.delete_expired_idempotency_keys(server.inside()));
        left.push(records());
    }
    assert_eq!(left, [10, 6, 2, 0, 0]);
}
