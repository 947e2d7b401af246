//! The progress that generators report, and the cut-off signal that they receive.

use crate::generators::{Act, ScriptedGenerator};
use crate::world::{A, Plan, run, until};
use std::time::Duration;
use tintype_storage::domain::tier::Tier;

const WHILE: Duration = Duration::from_secs(10);

#[test]
fn progress_is_that_of_the_current_try() {
    run(async {
        let generator = ScriptedGenerator::new([Act::Half(WHILE)], Act::Take(WHILE));
        let world = Plan::with(generator.clone(), 1).start();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        until("half is reported", || {
            world.system.progress(id) == Some(0.5)
        })
        .await;
        until("the next try begins", || generator.seen().len() == 2).await;
        assert_eq!(world.system.progress(id), None, "the progress is reset");
        world.done(id).await;
        assert_eq!(world.system.progress(id), None);
        world.check();
    });
}

#[test]
fn progress_ends_with_the_run() {
    run(async {
        let mut plan = Plan::with(ScriptedGenerator::always(Act::Half(WHILE)), 1);
        plan.retries = 0;
        let world = plan.start();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        until("half is reported", || {
            world.system.progress(id) == Some(0.5)
        })
        .await;
        world.failure(id).await;
        until("the run ends", || world.system.progress(id).is_none()).await;
    });
}

#[test]
fn a_generator_can_distinguish_a_cut_off_from_a_timeout() {
    run(async {
        let generator = ScriptedGenerator::always(Act::Hang);
        let mut plan = Plan::with(generator.clone(), 1);
        plan.attempt_timeout = WHILE;
        let world = plan.start();
        world.accept(A, Tier::Fast, "a fox").await;
        until("the second try begins", || generator.seen().len() == 2).await;
        assert!(!generator.seen()[0].cut_off, "the try timed out");
        world.system.drain(Duration::ZERO).await;
        until("the try is dropped", || generator.running() == 0).await;
        assert!(generator.seen()[1].cut_off);
    });
}
