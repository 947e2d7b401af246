//! Commands that arrive during a commit share the next commit.

use crate::world::{A, Answer, B, Plan, World, fresh, new_job, quick, run, settle, until};
use std::convert::Infallible;
use tintype_actors::account::Reply;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::tier::Tier;
use tintype_storage::store::{AcceptError, AcceptedJob};
use tokio::sync::{mpsc, oneshot};

const ROUNDS: usize = 8;

/// A world that accepts jobs and starts none.
fn paused(balance: &str) -> World {
    let world = Plan::over(fresh(balance), quick(), 1).start();
    world.pause_changed(Pause {
        project: true,
        ..Pause::default()
    });
    world
}

#[test]
fn commands_that_arrive_during_a_commit_share_the_next_one() {
    run(async {
        let world = paused("100");
        world.engine.hold();
        let mut first = world.send(A, Tier::Fast, "first", None);
        until("its commit is in flight", || world.engine.held() == 1).await;
        let mut answers: Vec<_> = (0..100)
            .map(|at| world.send(A, Tier::Fast, &format!("{at}"), None))
            .collect();
        // Another account does not wait for this one.
        let other = world.send(B, Tier::Fast, "other", None);
        until("the other commit is in flight", || world.engine.held() == 2).await;
        assert!(first.try_recv().is_err(), "answered before it was durable");
        assert_eq!(world.engine.submitted(), 2);

        world.engine.release_one();
        assert!(first.await.expect("an answer").is_ok());
        until("the next commit is in flight", || world.engine.held() == 2).await;
        assert!(answers.iter_mut().all(|answer| answer.try_recv().is_err()));
        assert_eq!(world.engine.submitted(), 3, "a hundred jobs, one commit");
        world.engine.open();
        let mut ids = Vec::new();
        for answer in answers {
            ids.push(answer.await.expect("an answer").expect("accepted").job);
        }
        assert!(ids.is_sorted_by(|a, b| a < b), "in the order of arrival");
        assert!(other.await.expect("an answer").is_ok());
        assert_eq!(world.money(A), ["100.00", "3.939"]);
        assert_eq!(world.system.queue().live(), 102);
        world.check();
    });
}

/// Sends a job of `A` from a task that goes on when its caller disconnects. Dropping the first value disconnects the caller.
fn send_detached(
    world: &World,
    prompt: &str,
) -> (mpsc::Receiver<Infallible>, Answer<AcceptedJob, AcceptError>) {
    let (reply, answer) = oneshot::channel();
    let (connection, caller) = mpsc::channel(1);
    let reply = Reply::from(reply).with_connection(Some(connection));
    let job = new_job(A, Tier::Fast, prompt, None);
    let _ = world.handle(A).accept(job, None, reply);
    (caller, answer)
}

#[test]
fn a_creation_whose_caller_has_gone_before_its_decision_charges_nothing() {
    run(async {
        let world = paused("100");
        world.engine.hold();
        let first = world.send(A, Tier::Fast, "first", None);
        until("its commit is in flight", || world.engine.held() == 1).await;
        drop(world.send(A, Tier::Fast, "gone", None));
        drop(world.deposit(A, "5"));
        let (caller, detached) = send_detached(&world, "gone");
        drop(caller);
        let (caller, connected) = send_detached(&world, "last");
        world.engine.open();
        assert!(first.await.expect("an answer").is_ok());
        assert!(connected.await.expect("an answer").is_ok());
        assert!(detached.await.is_err(), "no outcome");
        drop(caller);
        assert_eq!(world.money(A), ["100.00", "0.078"]);
        assert_eq!(world.jobs(A).len(), 2);
        world.check();
    });
}

#[test]
fn hostile_048_concurrent_calls_with_one_idempotency_key_create_one_job() {
    run(async {
        let world = paused("100");
        world.engine.hold();
        let ahead = world.send(A, Tier::Fast, "ahead", None);
        until("its commit is in flight", || world.engine.held() == 1).await;
        let answers: Vec<_> = (0..1_000)
            .map(|_| world.send(A, Tier::Fast, "same", Some("same")))
            .collect();
        settle().await;
        world.engine.open();
        ahead.await.expect("an answer").expect("accepted");
        let mut fresh = 0;
        let mut jobs = Vec::new();
        for answer in answers {
            let accepted = answer.await.expect("an answer").expect("accepted");
            fresh += usize::from(!accepted.replayed);
            jobs.push(accepted.job);
        }
        jobs.dedup();
        assert_eq!((fresh, jobs.len()), (1, 1));
        assert_eq!(world.money(A), ["100.00", "0.078"]);
        world.check();
    });
}

#[test]
fn an_overloaded_account_refuses_calls() {
    run(async {
        let world = paused("2000");
        world.engine.hold();
        let mut answers = Vec::new();
        for round in 0..ROUNDS {
            for at in 0..5_000 {
                answers.push(world.send(A, Tier::Fast, &format!("{round}-{at}"), None));
            }
            settle().await;
            world.engine.release_one();
            settle().await;
        }
        world.engine.open();
        let mut accepted = 0;
        for answer in answers {
            accepted += usize::from(answer.await.is_ok_and(|outcome| outcome.is_ok()));
        }
        // The capacity of the inbox twice, and one round per commit.
        let most = 2 * 4_096 + 256 * (ROUNDS + 2);
        assert!((4_096..=most).contains(&accepted), "{accepted} accepted");
        assert_eq!(world.system.queue().live(), accepted);
        world.check();
    });
}

#[test]
fn hostile_037_funds_for_exactly_ten_accept_ten() {
    run(async {
        let world = paused("0.39");
        world.engine.hold();
        let answers: Vec<_> = (0..300)
            .map(|at| world.send(A, Tier::Fast, &format!("{at}"), None))
            .collect();
        until("the first commit is in flight", || world.engine.held() == 1).await;
        world.engine.open();
        let mut accepted = 0;
        for answer in answers {
            match answer.await.expect("an answer") {
                Ok(_) => accepted += 1,
                Err(error) => assert!(matches!(error, AcceptError::Ledger(_)), "{error}"),
            }
        }
        assert_eq!(accepted, 10);
        assert_eq!(world.money(A), ["0.39", "0.39"]);
        world.check();
    });
}
