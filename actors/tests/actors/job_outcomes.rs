//! One job from queued to each of its possible ends.

use crate::generators::{Act, ScriptedGenerator};
use crate::world::{A, B, Plan, World, quick, run, until};
use std::time::Duration;
use tintype_storage::domain::job::JobState;
use tintype_storage::domain::tier::Tier;

/// A world with one backend that repeats this act, and no retries.
fn with(act: Act) -> World {
    let mut plan = Plan::with(ScriptedGenerator::always(act), 1);
    plan.retries = 0;
    plan.start()
}

/// The reservation is released, the inputs are deleted, and the store is consistent.
async fn check_nothing_charged(world: &World) {
    world.idle().await;
    assert_eq!(world.money(A), ["100.00", "0.00"]);
    assert_eq!(world.system.queue().live(), 0);
    assert_eq!(world.shelf.forgotten().len(), 1);
    world.check();
}

#[test]
fn an_image_is_stored_and_charged_and_its_inputs_are_deleted() {
    run(async {
        let world = Plan::with(quick(), 1).start();
        let id = world.accept(A, Tier::Pro, "a fox").await;
        world.done(id).await;
        world.idle().await;
        assert_eq!(world.shelf.kept(), [id]);
        assert_eq!(world.shelf.forgotten(), [id]);
        assert_eq!(world.money(A), ["99.961", "0.00"]);
        assert_eq!(world.system.queue().live(), 0);
        world.check();
    });
}

#[test]
fn refused_and_blocked_requests_do_not_fail_over() {
    run(async {
        for (act, error) in [
            (Act::Refused, "no such thing"),
            (Act::Blocked, "blocked for safety: violence"),
        ] {
            let (first, second) = (ScriptedGenerator::always(act), quick());
            let mut plan = Plan::with(first.clone(), 1);
            plan.backends.push((second.clone(), 1));
            plan.route = vec![0, 1];
            let world = plan.start();
            let id = world.accept(A, Tier::Fast, "a fox").await;
            assert_eq!(world.failure(id).await, error);
            assert_eq!((first.seen().len(), second.seen().len()), (1, 0));
            check_nothing_charged(&world).await;
        }
    });
}

#[test]
fn hostile_096_a_panic_fails_its_own_job_alone() {
    run(async {
        let mut plan = Plan::with(ScriptedGenerator::new([Act::Panic], Act::Image), 1);
        plan.retries = 0;
        let world = plan.start();
        let first = world.accept(A, Tier::Fast, "first").await;
        let second = world.accept(A, Tier::Fast, "second").await;
        let third = world.accept(B, Tier::Fast, "third").await;
        let error = world.failure(first).await;
        assert!(error.contains("failed unexpectedly"), "{error}");
        assert!(
            !error.contains("script"),
            "the error reveals the panic: {error}"
        );
        world.done(second).await;
        world.done(third).await;
        world.idle().await;
        assert_eq!(world.money(A), ["99.961", "0.00"]);
        assert!(!world.fail_stop.has_tripped());
        world.check();
    });
}

#[test]
fn a_run_has_a_deadline() {
    run(async {
        let mut plan = Plan::with(ScriptedGenerator::new([Act::Hang], Act::Image), 1);
        plan.attempt_timeout = Duration::from_secs(10_000);
        plan.run_timeout = Duration::from_secs(90);
        let world = plan.start();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        let next = world.accept(A, Tier::Fast, "next").await;
        assert_eq!(
            world.failure(id).await,
            "no image was generated within 90 s"
        );
        world.done(next).await;
        world.check();
    });
}

#[test]
fn an_unusable_image_is_not_charged() {
    run(async {
        let world = with(Act::Image);
        world.shelf.refuse();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        assert_eq!(world.failure(id).await, "it is not an image");
        check_nothing_charged(&world).await;
    });
}

#[test]
fn a_prompt_in_the_object_store_is_read() {
    run(async {
        let generator = quick();
        let world = Plan::with(generator.clone(), 1).start();
        let id = world.accept(A, Tier::Fast, "stored:words/1.json").await;
        world.done(id).await;
        assert_eq!(generator.prompts(), ["the prompt at words/1.json"]);
    });
}

#[test]
fn a_job_is_processing_while_it_runs() {
    run(async {
        let world = with(Act::Take(Duration::from_secs(30)));
        let id = world.accept(A, Tier::Fast, "a fox").await;
        until("it runs", || world.state(id).as_str() == "processing").await;
        let JobState::Processing { started_at, runs } = world.state(id) else {
            panic!("it has ended")
        };
        assert_eq!(runs, 1);
        world.done(id).await;
        let JobState::Done {
            started_at: kept,
            finished_at,
            ..
        } = world.state(id)
        else {
            panic!("not done")
        };
        assert!(kept == started_at && finished_at > started_at);
    });
}

#[test]
fn the_operator_finds_the_cause_of_a_failed_job() {
    run(async {
        let mut plan = Plan::with(ScriptedGenerator::always(Act::Transient(None)), 1);
        plan.retries = 1;
        let world = plan.start();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        assert_eq!(world.failure(id).await, "it is busy");
        let attempts = world.system.failed_attempts(id);
        assert_eq!(attempts.len(), 1, "the last error of each backend");
        assert_eq!(attempts[0].error.cause, "its log says more");
        assert_eq!(
            Some(&attempts[0].error),
            world.system.backends()[0].last_error.as_ref()
        );
    });
}

#[test]
fn the_cause_of_a_failed_job_does_not_repeat_its_prompt() {
    run(async {
        let world = Plan::with(ScriptedGenerator::always(Act::Transient(None)), 1).start();
        let id = world.accept(A, Tier::Fast, "why its log says more").await;
        assert_eq!(world.failure(id).await, "it is busy");
        let attempts = world.system.failed_attempts(id);
        assert_eq!(attempts[0].error.cause, "[removed]");
        assert_eq!(
            Some(&attempts[0].error),
            world.system.backends()[0].last_error.as_ref()
        );
    });
}
