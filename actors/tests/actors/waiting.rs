//! Callers that wait for the end of a job.

use crate::generators::{Act, ScriptedGenerator};
use crate::world::{A, B, Plan, START, fresh, quick, run, settle, until};
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::ids::{JobId, TransactionId};
use tintype_storage::domain::job::{ABANDONED, FailureKind, JobEvent, JobState};
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::commit_and_wait;
use tintype_storage::store::{AccountState, Limits, RoundReads};
use tintype_storage::testing::memory::MemoryEngine;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

const WHILE: Duration = Duration::from_secs(30);
const LIMITS: Limits = Limits {
    max_live_per_account: 10,
    idempotency_retention: Duration::from_secs(60),
};

#[test]
fn a_waiting_caller_gets_the_result_once_it_is_durable() {
    run(async {
        let generator = ScriptedGenerator::always(Act::Take(Duration::from_secs(3)));
        let world = Plan::with(generator, 1).start();
        let id = world.accept(A, Tier::Fast, "waits: a fox").await;
        let began = Instant::now();
        world.engine.hold();
        let early = timeout(WHILE, world.system.ended(A, id)).await;
        assert!(early.is_err(), "the end is not durable yet");
        world.engine.open();
        let job = world.system.ended(A, id).await.unwrap().expect("a job");
        assert_eq!(job.state.as_str(), "done");
        assert!(began.elapsed() < WHILE * 2);
        world.check();
    });
}

#[test]
fn a_waiting_caller_is_woken_at_once_and_not_by_a_timer() {
    run(async {
        let generator = ScriptedGenerator::always(Act::Take(Duration::from_secs(3)));
        let world = Plan::with(generator, 1).start();
        let id = world.accept(A, Tier::Fast, "waits: a fox").await;
        let began = Instant::now();
        world.system.ended(A, id).await.unwrap().expect("a job");
        let took = began.elapsed();
        assert!(took < Duration::from_secs(4), "{took:?}");
    });
}

#[test]
fn waiting_for_an_ended_job_returns_at_once() {
    run(async {
        let world = Plan::with(quick(), 1).start();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        world.done(id).await;
        assert!(world.system.ended(A, id).await.unwrap().is_some());
        assert_eq!(
            world.system.ended(B, id).await.unwrap(),
            None,
            "B does not see jobs of A"
        );
        let unknown = JobId(Uuid::from_u128(1));
        assert_eq!(world.system.ended(A, unknown).await.unwrap(), None);
    });
}

#[test]
fn a_lost_notification_only_delays_the_waiting_caller() {
    run(async {
        let world = Plan::with(ScriptedGenerator::always(Act::Hang), 1).start();
        let first = world.accept(A, Tier::Fast, "holds the slot").await;
        let id = world.accept(A, Tier::Fast, "waits: a fox").await;
        until("the first runs", || {
            world.state(first).as_str() == "processing"
        })
        .await;
        let waiting = world.system.ended(A, id);
        // This commit bypasses the account's actor, which would send a hint.
        let cancel = async {
            settle().await;
            let account = world.store.account(A).wait().unwrap().expect("an account");
            let state = AccountState::load(&world.store, account).wait().unwrap();
            let reads = RoundReads::new(&world.store);
            let mut decisions = state.decisions(&reads, LIMITS);
            let entry = TransactionId(Uuid::from_u128(9));
            let now = Timestamp::from_millis(START);
            decisions.apply(id, JobEvent::Cancel, entry, now).unwrap();
            commit_and_wait(&*world.engine, decisions.finish().unwrap().writes).unwrap();
        };
        let (ended, ()) = tokio::join!(timeout(WHILE, waiting), cancel);
        let job = ended.expect("in time").unwrap().expect("a job");
        assert!(job.state.is_terminal());
    });
}

#[test]
fn each_failure_has_its_kind() {
    run(async {
        for (act, kind) in [
            (Act::Refused, FailureKind::Refused),
            (Act::BackendLimit, FailureKind::Refused),
            (Act::Unsupported, FailureKind::Refused),
            (Act::Blocked, FailureKind::Blocked),
            (Act::Transient(None), FailureKind::Unavailable),
            (Act::Hang, FailureKind::TimedOut),
            (Act::Unreachable, FailureKind::Unavailable),
            (Act::BackendFault, FailureKind::Broken),
            (Act::Misconfigured, FailureKind::Broken),
            (Act::Panic, FailureKind::Broken),
        ] {
            let world = Plan::with(ScriptedGenerator::always(act.clone()), 1).start();
            let id = world.accept(A, Tier::Fast, "a fox").await;
            let job = world.system.ended(A, id).await.unwrap().expect("a job");
            assert!(
                matches!(job.state, JobState::Failed { kind: is, .. } if is == kind),
                "{act:?} gave {:?}",
                job.state
            );
        }
    });
}

/// The restart has closed the connections of these callers.
#[test]
fn a_restart_cancels_the_queued_jobs_of_waiting_callers() {
    run(async {
        let engine = fresh("100");
        let hanging = ScriptedGenerator::always(Act::Hang);
        let world = Plan::over(Arc::clone(&engine) as _, hanging, 1).start();
        let begun = world.accept(A, Tier::Fast, "waits: begun").await;
        until("it runs", || world.state(begun).as_str() == "processing").await;
        let waiting = world.accept(A, Tier::Fast, "waits: waiting").await;
        let native = world.accept(A, Tier::Fast, "native").await;
        let image = MemoryEngine::from_image(engine.image());
        let generator = quick();
        let world = Plan::over(Arc::new(image), generator.clone(), 1).start();
        assert_eq!(world.failure(waiting).await, ABANDONED);
        world.done(begun).await;
        world.done(native).await;
        world.idle().await;
        assert_eq!(generator.prompts(), ["waits: begun", "native"]);
        assert_eq!(world.system.queue().live(), 0);
        assert_eq!(world.money(A), ["99.922", "0.00"]);
        world.check();
    });
}

#[test]
fn a_cancellation_wakes_the_waiting_caller() {
    run(async {
        let world = Plan::with(ScriptedGenerator::always(Act::Hang), 1).start();
        let first = world.accept(A, Tier::Fast, "holds the slot").await;
        let id = world.accept(A, Tier::Fast, "waits: a fox").await;
        until("the first runs", || {
            world.state(first).as_str() == "processing"
        })
        .await;
        let began = Instant::now();
        let cancel = async {
            settle().await;
            world.apply(A, id, JobEvent::Cancel).await.unwrap().unwrap();
        };
        let (ended, ()) = tokio::join!(world.system.ended(A, id), cancel);
        assert_eq!(ended.unwrap().expect("a job").state.as_str(), "failed");
        assert!(began.elapsed() < Duration::from_secs(5));
    });
}

#[test]
fn a_hanging_object_store_does_not_delay_the_cancellations_after_a_restart() {
    run(async {
        let engine = fresh("100");
        let hanging = ScriptedGenerator::always(Act::Hang);
        let world = Plan::over(Arc::clone(&engine) as _, hanging, 1).start();
        let begun = world.accept(A, Tier::Fast, "waits: begun").await;
        until("it runs", || world.state(begun).as_str() == "processing").await;
        let mut waiting = Vec::new();
        for _ in 0..3 {
            waiting.push(world.accept(A, Tier::Fast, "waits: waiting").await);
        }
        let image = MemoryEngine::from_image(engine.image());
        let world = Plan::over(Arc::new(image), quick(), 1).start();
        world.shelf.hang();
        for job in waiting {
            assert_eq!(world.failure(job).await, ABANDONED);
        }
    });
}
