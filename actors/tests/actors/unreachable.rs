//! Jobs whose backends cannot be reached wait for the next probe, because nothing was sent for them.

use crate::generators::{Act, ScriptedGenerator};
use crate::world::{A, Plan, run};
use std::time::Duration;
use tintype_actors::backends::Health;
use tintype_storage::domain::tier::Tier;
use tokio::time::Instant;

#[test]
fn a_job_that_finds_its_only_backend_off_waits_for_the_next_probe() {
    run(async {
        let generator = ScriptedGenerator::new(vec![Act::Unreachable; 9], Act::Image);
        let world = Plan::with(generator.clone(), 1).start();
        let mut jobs = Vec::new();
        for _ in 0..4 {
            jobs.push(world.accept(A, Tier::Fast, "a fox").await);
        }
        // Three tries, after which the breaker is still closed.
        assert_eq!(world.failure(jobs[0]).await, "it is off");
        for id in &jobs[1..] {
            world.done(*id).await;
        }
        let seen = generator.seen();
        let order: Vec<_> = seen.iter().map(|it| it.job).collect();
        assert_eq!(order[3..10], [jobs[1]; 7], "two probes find it off");
        assert_eq!(order[10..], jobs[2..], "in the order of the queue");
        world.check();
    });
}

#[test]
fn a_job_does_not_wait_for_a_backend_that_is_off_beyond_the_time_of_its_run() {
    run(async {
        let mut plan = Plan::with(ScriptedGenerator::always(Act::Unreachable), 1);
        plan.run_timeout = Duration::from_secs(300);
        let world = plan.start();
        let first = world.accept(A, Tier::Fast, "a fox").await;
        assert_eq!(world.failure(first).await, "it is off");
        let began = Instant::now();
        let second = world.accept(A, Tier::Fast, "a fox").await;
        assert_eq!(world.failure(second).await, "it is off");
        assert_eq!(began.elapsed().as_secs(), 300);
        assert_eq!(world.money(A), ["100.00", "0.00"]);
        world.check();
    });
}

/// Whether the backend has worked for the job is unknown after a broken connection.
#[test]
fn a_job_that_has_reached_a_backend_does_not_wait_for_the_next_probe() {
    run(async {
        let acts = [vec![Act::Unreachable; 4], vec![Act::Transient(None)]].concat();
        let world = Plan::with(ScriptedGenerator::new(acts, Act::Unreachable), 1).start();
        for _ in 0..2 {
            let id = world.accept(A, Tier::Fast, "a fox").await;
            assert_eq!(world.failure(id).await, "it is off");
        }
        assert_eq!(world.system.backends()[0].health, Health::Down);
    });
}
