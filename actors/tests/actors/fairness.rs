//! The order of jobs, and the slots of backends.

use crate::generators::{Act, ScriptedGenerator};
use crate::world::{A, B, Plan, World, run, until};
use std::time::Duration;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::tier::Tier;

fn slow() -> ScriptedGenerator {
    ScriptedGenerator::always(Act::Take(Duration::from_secs(1)))
}

/// Starts no jobs while the test fills the queue.
fn pause(world: &World, project: bool) {
    let pause = Pause {
        project,
        ..Pause::default()
    };
    world.pause_changed(pause);
}

#[test]
fn hostile_117_a_flood_of_jobs_does_not_delay_another_account() {
    run(async {
        let generator = slow();
        let world = Plan::with(generator.clone(), 1).start();
        pause(&world, true);
        for at in 0..50 {
            world.accept(A, Tier::Fast, &format!("a{at}")).await;
        }
        for at in 0..3 {
            world.accept(B, Tier::Fast, &format!("b{at}")).await;
        }
        pause(&world, false);
        world.idle().await;
        let prompts = generator.prompts();
        assert_eq!(prompts[..7], ["a0", "b0", "a1", "b1", "a2", "b2", "a3"]);
        let rest: Vec<String> = (3..50).map(|at| format!("a{at}")).collect();
        assert_eq!(prompts[6..], rest, "first in, first out");
        world.check();
    });
}

#[test]
fn tiers_that_share_a_backend_take_turns() {
    run(async {
        let generator = slow();
        let world = Plan::with(generator.clone(), 1).start();
        pause(&world, true);
        for at in 0..4 {
            world.accept(A, Tier::Fast, &format!("fast{at}")).await;
        }
        for at in 0..2 {
            world.accept(A, Tier::Pro, &format!("pro{at}")).await;
        }
        pause(&world, false);
        world.idle().await;
        assert_eq!(
            generator.prompts(),
            ["fast0", "pro0", "fast1", "pro1", "fast2", "fast3"]
        );
    });
}

#[test]
fn a_backend_never_has_more_runs_than_slots() {
    run(async {
        let lengths = [900, 20, 350, 20, 20, 700].map(Duration::from_millis);
        let script = lengths.iter().cycle().take(60);
        let generator = ScriptedGenerator::new(script.map(|it| Act::Take(*it)), Act::Image);
        let world = Plan::with(generator.clone(), 3).start();
        for at in 0..30 {
            world.accept(A, Tier::Fast, &format!("a{at}")).await;
            world.accept(B, Tier::Pro, &format!("b{at}")).await;
        }
        world.idle().await;
        assert_eq!(generator.seen().len(), 60);
        assert_eq!(generator.peak(), 3, "all slots are used, and no more");
        world.check();
    });
}

#[test]
fn failover_respects_the_slots_of_the_second_backend() {
    run(async {
        let (first, second) = (ScriptedGenerator::always(Act::BackendLimit), slow());
        let mut plan = Plan::with(first.clone(), 8);
        plan.backends.push((second.clone(), 2));
        plan.route = vec![0, 1];
        let world = plan.start();
        for at in 0..20 {
            world.accept(A, Tier::Fast, &format!("{at}")).await;
        }
        world.idle().await;
        assert_eq!((first.seen().len(), second.seen().len()), (20, 20));
        assert_eq!(second.peak(), 2);
        world.check();
    });
}

#[test]
fn a_run_waiting_for_the_second_backend_occupies_no_slot_of_the_first() {
    run(async {
        let first = ScriptedGenerator::new([Act::BackendFault, Act::BackendFault], Act::Image);
        let second = ScriptedGenerator::always(Act::Take(Duration::from_secs(100)));
        let mut plan = Plan::with(first.clone(), 1);
        plan.backends.push((second.clone(), 1));
        plan.route = vec![0, 1];
        let world = plan.start();
        for prompt in ["x", "y"] {
            world.accept(A, Tier::Fast, prompt).await;
        }
        until("one runs, one waits", || second.running() == 1).await;
        let third = world.accept(A, Tier::Fast, "z").await;
        world.done(third).await;
        assert_eq!(second.seen().len(), 1, "the second job still waits");
        world.idle().await;
        world.check();
    });
}
