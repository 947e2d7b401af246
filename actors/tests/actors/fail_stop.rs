//! After a failure of the engine, every call is refused and no caller waits forever.

use crate::generators::{Act, ScriptedGenerator};
use crate::world::{A, B, Plan, World, fresh, quick, run, settle, until};
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::account::{AccountCommand, NoReply, Overloaded};
use tintype_actors::fail_stop::FailStop;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::tier::Tier;
use tintype_storage::engine::{Engine as _, EngineError};
use tintype_storage::store::{Deposit, Store, Writes};
use tintype_storage::testing::failing::FailingEngine;
use tintype_storage::testing::memory::MemoryEngine;
use tokio::sync::oneshot;

/// A world whose engine fails after this many commits.
fn failing_after(commits: u64, generator: ScriptedGenerator) -> (World, Arc<MemoryEngine>) {
    let memory = fresh("100");
    let engine = FailingEngine::new(Arc::clone(&memory) as _, commits, Arc::new(|_| {}));
    (Plan::over(Arc::new(engine), generator, 1).start(), memory)
}

#[test]
fn hostile_073_calls_waiting_for_a_failed_commit_fail() {
    run(async {
        let (world, memory) = failing_after(1, quick());
        world.pause_changed(Pause {
            project: true,
            ..Pause::default()
        });
        world.accept(A, Tier::Fast, "before").await;
        let before = memory.image();
        world.engine.hold();
        let in_flight = world.send(A, Tier::Fast, "in flight", None);
        until("its commit is in flight", || world.engine.held() == 1).await;
        let waiting: Vec<_> = (0..100)
            .map(|at| world.send(A, Tier::Fast, &format!("{at}"), None))
            .collect();
        let deposit = world.deposit(A, "1");
        settle().await;
        world.engine.open();
        let outcome = in_flight.await.expect("an answer");
        assert!(outcome.is_err(), "{outcome:?}");
        for answer in waiting {
            // These were never decided: their replies are dropped, which callers report as a failure too.
            assert!(
                !matches!(answer.await, Ok(Ok(_))),
                "accepted without a durable commit"
            );
        }
        assert!(!matches!(deposit.await, Ok(Ok(_))));
        assert!(world.fail_stop.has_tripped());
        assert!(world.fail_stop.tripped().await.contains("no space left"));
        for account in [A, B] {
            let late = world.send(account, Tier::Fast, "late", None).await;
            assert!(!matches!(late, Ok(Ok(_))), "accepted after the failure");
        }
        assert_eq!(memory.image(), before, "nothing more was written");
    });
}

#[test]
fn a_call_without_a_reply_tells_an_overloaded_account_from_a_stop() {
    run(async {
        let world = Plan::over(fresh("1000"), quick(), 1).start();
        world.engine.hold();
        let _calls: Vec<_> = (0..9_000)
            .map(|at| world.send(A, Tier::Fast, &format!("{at}"), None))
            .collect();
        let deposit = |reply| AccountCommand::Deposit {
            deposit: Deposit {
                amount: "1".parse().expect("an amount"),
                reference: None,
                idempotency: None,
            },
            to_entry: None,
            reply,
        };
        let refused = world.handle(A).call(deposit).await;
        assert_eq!(refused.unwrap_err(), NoReply::Overloaded(Overloaded));
        world.fail_stop.trip("on purpose");
        let refused = world.handle(A).call(deposit).await;
        assert_eq!(refused.unwrap_err(), NoReply::Stopping);
    });
}

#[test]
fn a_job_whose_last_commit_fails_runs_again_after_the_restart() {
    run(async {
        // The commits of the acceptance and of the beginning of the run succeed; that of the end fails.
        let (world, memory) = failing_after(
            2,
            ScriptedGenerator::always(Act::Take(Duration::from_secs(5))),
        );
        let id = world.accept(A, Tier::Fast, "a fox").await;
        until("the engine fails", || world.fail_stop.has_tripped()).await;
        world.idle().await;
        assert_eq!(world.shelf.kept(), [id]);
        assert!(
            world.shelf.forgotten().is_empty(),
            "the next run needs its inputs"
        );
        assert_eq!(world.state(id).as_str(), "processing");
        assert_eq!(world.money(A), ["100.00", "0.039"]);

        let image = MemoryEngine::from_image(memory.image());
        let again = Plan::over(Arc::new(image), quick(), 1).start();
        again.done(id).await;
        assert_eq!(again.money(A), ["99.961", "0.00"], "charged once");
        again.check();
    });
}

/// The same script with a failure at each commit: the durable state is always consistent, and a restart goes on from it.
#[test]
fn hostile_073_a_failure_at_any_commit_leaves_a_consistent_ledger() {
    run(async {
        for commits in 0..24 {
            let (world, memory) = failing_after(commits, quick());
            let mut accepted = Vec::new();
            for at in 0..6 {
                let name = format!("{at}");
                if let Ok(Ok(answer)) = world.send(A, Tier::Fast, &name, Some(&name)).await {
                    accepted.push((name, answer.job));
                }
                let _ = world.deposit(A, "0.5").await;
            }
            until("the engine fails or all jobs end", || {
                world.fail_stop.has_tripped() || world.system.queue().live() == 0
            })
            .await;
            let image = MemoryEngine::from_image(memory.image());
            let again = Plan::over(Arc::new(image), quick(), 1).start();
            again.check();
            for (name, job) in &accepted {
                again.done(*job).await;
                let replay = again.send(A, Tier::Fast, name, Some(name)).await;
                let replay = replay.expect("an answer").expect("accepted");
                assert!(replay.replayed && replay.job == *job);
            }
            again.idle().await;
            again.check();
        }
    });
}

#[tokio::test]
async fn a_commit_rejected_by_an_orderly_close_is_not_a_failure() {
    for is_orderly in [true, false] {
        let (stop, engine) = (FailStop::new(), Arc::new(MemoryEngine::new()));
        let store = stop.watch(Store::new(Arc::clone(&engine) as _));
        if is_orderly {
            stop.begin_close();
        }
        engine.close();
        let (done, outcome) = oneshot::channel();
        store.commit(Writes::new(), |it| drop(done.send(it)));
        assert!(matches!(outcome.await.unwrap(), Err(EngineError::Stopped)));
        assert_eq!(stop.has_tripped(), !is_orderly);
    }
}

#[tokio::test]
async fn a_write_that_fails_during_an_orderly_close_is_a_failure() {
    let stop = FailStop::new();
    let engine = FailingEngine::new(Arc::new(MemoryEngine::new()), 0, Arc::new(|_| {}));
    let store = stop.watch(Store::new(Arc::new(engine)));
    stop.begin_close();
    let (done, outcome) = oneshot::channel();
    store.commit(Writes::new(), |it| drop(done.send(it)));
    assert!(matches!(
        outcome.await.unwrap(),
        Err(EngineError::Failed(_))
    ));
    assert!(stop.has_tripped());
}
