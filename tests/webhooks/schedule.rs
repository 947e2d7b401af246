//! The exact times of attempts, on a clock that advances only when all tasks are idle.

use crate::simulation::{
    BEGIN, Outcome, Simulation, SimulationOptions, TABLE, furnish, in_paused_time, status, webhook,
};
use futures_util::future::join_all;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tintype_actors::delivery::{DeliveryCommand, DeliveryError};
use tintype_storage::domain::delivery::{DeliveryState, FailReason, NoReceiver};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::Store;
use tintype_storage::testing::memory::MemoryEngine;
use tokio::sync::oneshot;
use tokio::time::sleep;

const HOUR: Duration = Duration::from_secs(3_600);

fn begin(script: Vec<Outcome>, then: Outcome) -> Simulation {
    let engine = Arc::new(MemoryEngine::new());
    furnish(
        &*engine,
        &Store::new(engine.clone()),
        &[webhook(1), webhook(2)],
    );
    Simulation::begin(SimulationOptions {
        then,
        ..SimulationOptions::over(engine, script)
    })
}

/// The start times of seven attempts with this duration each, in milliseconds.
fn seven(took: u64) -> Vec<i64> {
    let mut moments = vec![0];
    for delay in TABLE {
        moments.push(moments.last().unwrap() + took as i64 + delay as i64 * 1_000);
    }
    moments
}

#[test]
fn retries_follow_the_table_to_the_millisecond() {
    in_paused_time(async {
        let sim = begin(vec![status(500); 6], status(200));
        let id = sim.send_test(&webhook(1)).await;
        sleep(2 * HOUR).await;
        assert_eq!(sim.transport.moments(), seven(0));
        assert_eq!(seven(0)[6], 53 * 60 * 1_000, "53 minutes");
        assert!(matches!(
            sim.delivery(id).state,
            DeliveryState::Delivered { .. }
        ));
        assert_eq!(sim.store.attempts(id).wait().unwrap().len(), 7);
    });
}

#[test]
fn a_delay_runs_from_the_end_of_the_attempt_before() {
    in_paused_time(async {
        let slow = Outcome {
            status: None,
            took: Duration::from_millis(9_999),
        };
        let sim = begin(vec![], slow);
        let id = sim.send_test(&webhook(1)).await;
        sleep(2 * HOUR).await;
        assert_eq!(sim.transport.moments(), seven(9_999));
        let DeliveryState::Failed { reason, at } = sim.delivery(id).state else {
            panic!("{:?}", sim.delivery(id));
        };
        assert_eq!(reason, FailReason::AttemptsExhausted);
        assert_eq!(at.millis() - BEGIN, seven(9_999)[6] + 9_999);
        sleep(30 * 24 * HOUR).await;
        assert_eq!(sim.transport.sent().len(), 7, "and never again");
    });
}

#[test]
fn a_redelivery_starts_a_new_round_and_cancels_the_scheduled_retry() {
    in_paused_time(async {
        let sim = begin(vec![], status(500));
        let id = sim.send_test(&webhook(1)).await;
        sleep(Duration::from_secs(30)).await;
        // Halfway to the first retry, so that retry's time comes while the new round waits.
        sim.redeliver(id).await.unwrap();
        sleep(2 * HOUR).await;
        let fresh: Vec<i64> = seven(0).iter().map(|it| it + 30_000).collect();
        assert_eq!(sim.transport.moments(), [vec![0], fresh].concat());
        assert_eq!(sim.store.attempts(id).wait().unwrap().len(), 8);
    });
}

#[test]
fn a_redelivery_while_an_attempt_is_under_way_follows_it() {
    in_paused_time(async {
        let slow = |status| Outcome {
            status,
            took: Duration::from_secs(5),
        };
        let sim = begin(vec![slow(None), status(200)], status(500));
        let id = sim.send_test(&webhook(1)).await;
        sleep(Duration::from_secs(1)).await;
        sim.redeliver(id).await.unwrap();
        sleep(HOUR).await;
        assert_eq!(sim.transport.moments(), [0, 5_000], "one at a time");
        assert!(matches!(
            sim.delivery(id).state,
            DeliveryState::Delivered { .. }
        ));

        let sim = begin(vec![slow(Some(200))], status(500));
        let id = sim.send_test(&webhook(1)).await;
        sleep(Duration::from_secs(1)).await;
        sim.redeliver(id).await.unwrap();
        sleep(HOUR).await;
        assert_eq!(sim.transport.sent().len(), 1, "the success is believed");
        assert!(matches!(
            sim.delivery(id).state,
            DeliveryState::Delivered { .. }
        ));
    });
}

#[test]
fn a_rejected_redelivery_leaves_the_delivery_pending() {
    in_paused_time(async {
        let sim = begin(vec![status(500)], status(200));
        let id = sim.send_test(&webhook(1)).await;
        sleep(Duration::from_secs(1)).await;
        sim.write(sim.store.remove_webhook(&webhook(1)));
        let refused = sim.redeliver(id).await;
        assert!(matches!(
            refused,
            Err(DeliveryError::NoReceiver(NoReceiver::WebhookDeleted))
        ));
        sleep(HOUR).await;
        let state = sim.delivery(id).state;
        let DeliveryState::Failed { reason, at } = state else {
            panic!("{state:?}");
        };
        assert_eq!(reason, FailReason::WebhookDeleted);
        assert_eq!(at.millis() - BEGIN, 60_000, "at the moment of its retry");
        let other = sim.system.process().ids.next(sim.now());
        let unknown = sim
            .redeliver(tintype_storage::domain::delivery::DeliveryId(other))
            .await;
        assert!(matches!(unknown, Err(DeliveryError::NotFound)));
        assert!(!sim.fail_stop.has_tripped());
    });
}

#[test]
fn concurrent_redeliveries_cause_one_attempt() {
    in_paused_time(async {
        let sim = begin(vec![], status(200));
        let id = sim.send_test(&webhook(1)).await;
        sleep(Duration::from_secs(1)).await;
        let all = join_all((0..20).map(|_| sim.redeliver(id))).await;
        assert!(all.iter().all(Result::is_ok));
        sleep(HOUR).await;
        assert_eq!(sim.transport.moments(), [0, 1_000]);
        let delivery = sim.delivery(id);
        assert!(matches!(delivery.state, DeliveryState::Delivered { .. }));
        assert_eq!(delivery.round, 20);
        assert_eq!(sim.store.attempts(id).wait().unwrap().len(), 2);
        assert_eq!(sim.store.pending_deliveries(1).wait().unwrap(), 0);
    });
}

#[test]
fn hostile_109_a_clock_that_is_set_moves_the_retries_with_it_and_loses_none() {
    let year = 365 * 24 * 3_600_000;
    for set in [3_600_000, -3_600_000, year, -BEGIN] {
        in_paused_time(async {
            let sim = begin(vec![status(500); 3], status(200));
            let id = sim.send_test(&webhook(1)).await;
            sleep(Duration::from_secs(5)).await;
            sim.set_by.store(set, Ordering::SeqCst);
            // With the clock set forward, the retry is overdue and starts at the next timer check; set back, it waits until it is due.
            sleep(Duration::from_secs(31)).await;
            assert_eq!(
                sim.transport.sent().len(),
                if set > 0 { 2 } else { 1 },
                "{set}"
            );
            sim.set_by.store(0, Ordering::SeqCst);
            sleep(Duration::from_secs(2) + 3 * HOUR).await;
            // A retry recorded a year ahead does not wait for a year.
            assert!(matches!(
                sim.delivery(id).state,
                DeliveryState::Delivered { .. }
            ));
            assert_eq!(sim.transport.sent().len(), 4, "{set}");
        });
    }
}

#[test]
fn hostile_109_a_clock_that_stays_set_back_does_not_delay_retries_by_its_offset() {
    in_paused_time(async {
        let sim = begin(vec![status(500); 6], status(200));
        let id = sim.send_test(&webhook(1)).await;
        sleep(Duration::from_secs(5)).await;
        let set = -2 * 3_600_000;
        sim.set_by.store(set, Ordering::SeqCst);
        sleep(2 * HOUR).await;
        let state = sim.delivery(id).state;
        assert!(
            matches!(state, DeliveryState::Delivered { .. }),
            "{state:?}"
        );
        let moments = sim.transport.moments();
        // Late by the interval of the schedule check, then on time by the table.
        let first = moments[1] - set;
        assert!((60_000..=95_000).contains(&first), "{moments:?}");
        let gaps: Vec<i64> = moments[1..].windows(2).map(|it| it[1] - it[0]).collect();
        let table: Vec<i64> = TABLE[1..].iter().map(|it| *it as i64 * 1_000).collect();
        assert_eq!(gaps, table);
    });
}

#[test]
fn hostile_109_a_clock_that_is_set_back_during_an_attempt_does_not_delay_its_retry() {
    in_paused_time(async {
        let took = Duration::from_secs(8);
        let slow = Outcome {
            status: Some(500),
            took,
        };
        let sim = begin(vec![slow], status(200));
        sim.send_test(&webhook(1)).await;
        sleep(took / 2).await;
        let set = -3_600_000;
        sim.set_by.store(set, Ordering::SeqCst);
        sleep(2 * HOUR).await;
        assert_eq!(sim.transport.moments(), [0, 68_000 + set]);
    });
}

#[test]
fn hostile_113_retries_that_are_due_in_the_past_or_in_2106() {
    in_paused_time(async {
        let engine = Arc::new(MemoryEngine::new());
        let store = Store::new(engine.clone());
        furnish(&*engine, &store, &[webhook(1)]);
        let far = 4_294_967_296_000 - BEGIN;
        let sim = Simulation::begin(SimulationOptions {
            after: far,
            ..SimulationOptions::over(engine, vec![status(500)])
        });
        let id = sim.send_test(&webhook(1)).await;
        sleep(HOUR).await;
        assert_eq!(sim.transport.moments(), [far, far + 60_000]);
        let ended = sim.delivery(id).state.ended_at().unwrap();
        assert_eq!(ended, Timestamp::from_millis(BEGIN + far + 60_000));
    });
}

#[test]
fn a_deletion_and_a_redelivery_at_once_leave_the_delivery_consistent() {
    for forget_first in [true, false] {
        in_paused_time(async {
            let sim = begin(vec![], status(200));
            let id = sim.send_test(&webhook(1)).await;
            sleep(HOUR).await;
            let forget = || {
                let (reply, answer) = oneshot::channel();
                sim.system.deliveries().do_send(DeliveryCommand::Delete {
                    older_than: sim.now(),
                    cursor: Vec::new(),
                    limit: 10,
                    reply,
                });
                answer
            };
            let (kept, again, forgotten) = if forget_first {
                let forgotten = forget();
                (false, sim.redeliver(id).await, forgotten)
            } else {
                let again = sim.redeliver(id).await;
                (true, again, forget())
            };
            assert_eq!(forgotten.await.unwrap().unwrap(), Vec::<u8>::new());
            sleep(HOUR).await;
            assert_eq!(again.is_ok(), kept);
            assert_eq!(sim.store.delivery(id).wait().unwrap().is_some(), kept);
            assert_eq!(
                sim.store.attempts(id).wait().unwrap().len(),
                if kept { 2 } else { 0 }
            );
            assert_eq!(sim.store.pending_deliveries(1).wait().unwrap(), 0);
            assert!(!sim.fail_stop.has_tripped());
        });
    }
}
