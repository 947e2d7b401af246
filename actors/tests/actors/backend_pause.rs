//! Pausing backends: their jobs go to the other backends of the tier, or wait while all of them are paused.

use crate::generators::{Act, ScriptedGenerator};
use crate::world::{A, Plan, World, quick, run, until};
use std::time::Duration;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::tier::Tier;
use tokio::time::{Instant, sleep};

/// Longer than any job that may begin takes, and than the time limit of a run.
const A_WHILE: Duration = Duration::from_secs(3_600);

/// Two backends with one slot each, in this order of preference.
fn two(first: &ScriptedGenerator, second: &ScriptedGenerator) -> Plan {
    let mut plan = Plan::with(first.clone(), 1);
    plan.backends.push((second.clone(), 1));
    plan.route = vec![0, 1];
    plan
}

/// The number of tasks that each generator has received.
fn seen<const N: usize>(generators: [&ScriptedGenerator; N]) -> [usize; N] {
    generators.map(|it| it.seen().len())
}

async fn accept(world: &World) -> JobId {
    world.accept(A, Tier::Fast, "a fox").await
}

#[test]
fn a_paused_backend_gets_no_jobs_and_the_other_one_gets_them() {
    run(async {
        let (first, second) = (quick(), quick());
        for weights in [vec![], vec![Some(1), Some(1)]] {
            let mut plan = two(&first, &second);
            plan.weights = weights;
            let world = plan.start();
            world.backends_paused(&[0]);
            let before = seen([&first, &second]);
            for _ in 0..4 {
                let job = accept(&world).await;
                world.done(job).await;
            }
            assert_eq!(seen([&first, &second]), [before[0], before[1] + 4]);
            let paused = world
                .system
                .backends()
                .into_iter()
                .map(|it| it.pause.is_some());
            assert_eq!(paused.collect::<Vec<_>>(), [true, false]);
            world.backends_paused(&[]);
            for _ in 0..2 {
                let job = accept(&world).await;
                world.done(job).await;
            }
            assert!(first.seen().len() > before[0], "it is used again");
            world.check();
        }
    });
}

#[test]
fn what_a_paused_backend_runs_ends_normally_and_queued_jobs_wait() {
    run(async {
        let generator = ScriptedGenerator::always(Act::Take(Duration::from_secs(50)));
        let world = Plan::with(generator.clone(), 1).start();
        let running = accept(&world).await;
        let waiting = accept(&world).await;
        until("the first one runs", || generator.running() == 1).await;
        world.backends_paused(&[0]);
        assert!(world.system.has_only_paused_backends(Tier::Fast));
        assert!(!world.system.has_idle_backend(Tier::Fast));
        world.done(running).await;
        sleep(A_WHILE).await;
        assert_eq!(world.state(waiting).as_str(), "queued");
        assert_eq!(seen([&generator]), [1]);
        world.backends_paused(&[]);
        world.done(waiting).await;
        world.check();
    });
}

#[test]
fn a_run_that_fails_on_a_paused_backend_moves_to_the_other_one() {
    run(async {
        let first = ScriptedGenerator::always(Act::Half(Duration::from_secs(10)));
        let second = quick();
        let world = two(&first, &second).start();
        let job = accept(&world).await;
        until("it runs", || first.running() == 1).await;
        world.backends_paused(&[0]);
        world.done(job).await;
        assert_eq!(seen([&first, &second]), [1, 1], "no repeat");
        world.check();
    });
}

#[test]
fn a_run_waits_for_the_end_of_a_pause_as_long_as_it_may_work() {
    run(async {
        let plan = Plan::with(
            ScriptedGenerator::always(Act::Half(Duration::from_secs(10))),
            1,
        );
        let run_timeout = plan.run_timeout;
        let world = plan.start();
        let job = accept(&world).await;
        until("it has begun", || world.state(job).as_str() == "processing").await;
        let begun = Instant::now();
        world.backends_paused(&[0]);
        world.failure(job).await;
        let attempt = Duration::from_secs(10);
        assert_eq!(begun.elapsed().as_secs(), (attempt + run_timeout).as_secs());
        world.check();
    });
}

#[test]
fn a_run_works_as_long_after_a_pause_as_without_one() {
    run(async {
        let plan = Plan::with(
            ScriptedGenerator::new(
                [
                    Act::Half(Duration::from_secs(10)),
                    Act::Take(Duration::from_secs(60)),
                ],
                Act::Image,
            ),
            1,
        );
        let run_timeout = plan.run_timeout;
        let world = plan.start();
        let job = accept(&world).await;
        until("it has begun", || world.state(job).as_str() == "processing").await;
        world.backends_paused(&[0]);
        sleep(run_timeout - Duration::from_secs(5)).await;
        world.backends_paused(&[]);
        world.done(job).await;
        world.check();
    });
}

#[test]
fn a_run_that_fails_while_all_backends_are_paused_is_repeated_after_the_pause() {
    run(async {
        for failure in [
            Act::Half(Duration::from_secs(10)),
            Act::Transient(Some(Duration::from_secs(20))),
        ] {
            let generator = ScriptedGenerator::new([failure], Act::Image);
            let mut plan = Plan::with(generator.clone(), 1);
            plan.retries = 1;
            let pause = plan.run_timeout / 2;
            let world = plan.start();
            let job = accept(&world).await;
            // During the attempt, or during the wait for its repeat.
            until("it has begun", || generator.seen().len() == 1).await;
            world.backends_paused(&[0]);
            sleep(pause).await;
            assert_eq!(world.state(job).as_str(), "processing");
            assert_eq!(seen([&generator]), [1]);
            world.backends_paused(&[]);
            world.done(job).await;
            assert_eq!(seen([&generator]), [2]);
            world.check();
        }
    });
}

#[test]
fn a_run_does_not_wait_for_the_pause_of_one_backend_to_end() {
    run(async {
        let (first, second) = (ScriptedGenerator::always(Act::BackendFault), quick());
        let world = two(&first, &second).start();
        world.backends_paused(&[1]);
        let job = accept(&world).await;
        world.failure(job).await;
        assert_eq!(seen([&first, &second]), [1, 0]);
        world.check();
    });
}

/// It waits for a slot of the second backend when that one is paused.
#[test]
fn a_run_that_fails_over_to_a_backend_that_is_then_paused_goes_back() {
    run(async {
        let first = ScriptedGenerator::new([Act::BackendFault], Act::Image);
        let second = ScriptedGenerator::always(Act::Take(Duration::from_secs(50)));
        let mut plan = two(&first, &second);
        plan.pro = Some(vec![1]);
        let world = plan.start();
        let running = world.accept(A, Tier::Pro, "a hen").await;
        until("it runs", || second.running() == 1).await;
        let job = accept(&world).await;
        until("it fails over", || first.seen().len() == 1).await;
        until("it has left", || first.running() == 0).await;
        world.backends_paused(&[1]);
        world.done(job).await;
        assert_eq!(seen([&first, &second]), [2, 1]);
        world.done(running).await;
        world.check();
    });
}
