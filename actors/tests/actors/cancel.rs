//! Cancellation before the job runs, while it runs, and in a race with its turn.

use crate::generators::{Act, ScriptedGenerator};
use crate::world::{A, Plan, quick, run, until};
use std::time::Duration;
use tintype_storage::domain::job::JobEvent;
use tintype_storage::domain::tier::Tier;
use tintype_storage::store::EventError;

fn slow() -> ScriptedGenerator {
    ScriptedGenerator::always(Act::Take(Duration::from_secs(60)))
}

#[test]
fn a_canceled_queued_job_never_runs() {
    run(async {
        let generator = slow();
        let world = Plan::with(generator.clone(), 1).start();
        let running = world.accept(A, Tier::Fast, "running").await;
        let waiting = world.accept(A, Tier::Fast, "waiting").await;
        until("the first one runs", || generator.running() == 1).await;
        let canceled = world.apply(A, waiting, JobEvent::Cancel).await;
        assert!(canceled.expect("an answer").is_ok());
        let queued = world.system.queue().depths().queued;
        assert_eq!(queued, [0; 3], "it left the queue before the answer");
        assert_eq!(world.failure(waiting).await, "canceled");
        assert_eq!(world.money(A), ["100.00", "0.039"], "released at once");
        let again = world.apply(A, waiting, JobEvent::Cancel).await;
        assert!(matches!(again, Ok(Err(EventError::Transition(_)))));
        world.done(running).await;
        world.idle().await;
        assert_eq!(generator.prompts(), ["running"]);
        world.check();
    });
}

#[test]
fn a_running_job_is_not_canceled() {
    run(async {
        let generator = slow();
        let world = Plan::with(generator.clone(), 1).start();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        until("it runs", || generator.running() == 1).await;
        let refused = world.apply(A, id, JobEvent::Cancel).await;
        assert!(matches!(refused, Ok(Err(EventError::Transition(_)))));
        world.done(id).await;
        assert_eq!(world.money(A), ["99.961", "0.00"]);
        world.check();
    });
}

/// The commit of the cancellation is in flight when the dispatcher gives the job its turn.
#[test]
fn a_job_whose_cancellation_is_in_flight_at_dispatch_never_runs() {
    run(async {
        let generator = ScriptedGenerator::new([Act::Take(Duration::from_secs(60))], Act::Image);
        let world = Plan::with(generator.clone(), 1).start();
        let first = world.accept(A, Tier::Fast, "first").await;
        let second = world.accept(A, Tier::Fast, "second").await;
        let third = world.accept(A, Tier::Fast, "third").await;
        until("the first one runs", || generator.running() == 1).await;
        world.engine.hold();
        // The dispatcher does not know of this commit until the engine is opened.
        let canceled = world.apply(A, second, JobEvent::Cancel);
        until("the cancellation is in flight", || world.engine.held() == 1).await;
        until("the first run ends", || generator.running() == 0).await;
        let depths = world.system.queue().depths();
        assert_eq!(
            depths.queued[Tier::Fast.index()],
            1,
            "the turn of the second job has begun"
        );
        world.engine.open();
        assert!(canceled.await.expect("an answer").is_ok());
        world.done(first).await;
        world.done(third).await;
        world.idle().await;
        assert_eq!(world.failure(second).await, "canceled");
        assert_eq!(generator.prompts(), ["first", "third"]);
        assert_eq!(world.money(A), ["99.922", "0.00"]);
        world.check();
    });
}

#[test]
fn a_job_of_another_account_is_not_found() {
    run(async {
        let world = Plan::with(quick(), 1).start();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        let foreign = world.apply(crate::world::B, id, JobEvent::Cancel).await;
        assert!(matches!(foreign, Ok(Err(EventError::NotFound))));
    });
}
