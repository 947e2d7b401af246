//! Failover: runs wait for a slot of the next backend without using up their deadline, and without starving other jobs.

use crate::generators::{Act, ScriptedGenerator};
use crate::world::{A, B, Plan, World, quick, run, until};
use std::time::Duration;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::JobEvent;
use tintype_storage::domain::tier::Tier;
use tokio::time::{Instant, sleep};

const SLOW: Duration = Duration::from_secs(100);

/// A failing backend with four slots, and a slow one with one slot.
fn broken_and_slow(act: Act) -> (Plan, ScriptedGenerator) {
    let second = ScriptedGenerator::always(Act::Take(SLOW));
    let mut plan = Plan::with(ScriptedGenerator::always(act), 4);
    plan.backends.push((second.clone(), 1));
    plan.route = vec![0, 1];
    plan.attempt_timeout = SLOW * 2;
    (plan, second)
}

async fn accepted(world: &World, count: usize) -> Vec<JobId> {
    let mut jobs = Vec::new();
    for _ in 0..count {
        jobs.push(world.accept(A, Tier::Fast, "a fox").await);
    }
    jobs
}

fn in_state(world: &World, jobs: &[JobId], word: &str) -> usize {
    let is = |id: &&JobId| world.state(**id).as_str() == word;
    jobs.iter().filter(is).count()
}

#[test]
fn waiting_for_the_next_backend_does_not_count_against_the_run_deadline() {
    run(async {
        for act in [
            Act::BackendFault,
            Act::BackendLimit,
            Act::Unsupported,
            Act::Transient(None),
        ] {
            // Twenty times a hundred seconds on one slot, and a deadline of ten minutes for each run.
            let (plan, second) = broken_and_slow(act);
            let world = plan.start();
            let jobs = accepted(&world, 20).await;
            for id in &jobs {
                world.done(*id).await;
            }
            assert_eq!((second.seen().len(), second.peak()), (20, 1));
            world.check();
        }
    });
}

#[test]
fn waiting_failovers_limit_the_jobs_that_start() {
    run(async {
        let (plan, second) = broken_and_slow(Act::BackendLimit);
        let world = plan.start();
        let jobs = accepted(&world, 20).await;
        until("one runs", || second.running() == 1).await;
        sleep(Duration::from_secs(1)).await;
        // One runs, five wait for the five slots, and up to four began together with the last of these.
        let begun = in_state(&world, &jobs, "processing");
        assert!((6..=10).contains(&begun), "{begun}");
        assert_eq!(in_state(&world, &jobs, "queued"), 20 - begun);
        let last = jobs[19];
        world
            .apply(A, last, JobEvent::Cancel)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(world.failure(last).await, "canceled");
        world.idle().await;
        assert_eq!(in_state(&world, &jobs, "done"), 19);
        world.check();
    });
}

#[test]
fn failovers_do_not_block_other_tiers_or_accounts() {
    run(async {
        let (mut plan, second) = broken_and_slow(Act::BackendLimit);
        plan.pro = Some(vec![1]);
        let world = plan.start();
        let jobs = accepted(&world, 20).await;
        until("one runs", || second.running() == 1).await;
        let pro = world.accept(B, Tier::Pro, "another tier's").await;
        let fast = world.accept(B, Tier::Fast, "another account's").await;
        world.done(pro).await;
        let done = in_state(&world, &jobs, "done");
        assert!(done <= 2, "it ran after {done} of the others");
        world.done(fast).await;
        let done = in_state(&world, &jobs, "done");
        assert!(done <= 14, "it ran after {done} of the others");
    });
}

#[test]
fn a_run_waiting_for_its_next_backend_completes_during_a_graceful_shutdown() {
    run(async {
        let (plan, second) = broken_and_slow(Act::BackendLimit);
        let world = plan.start();
        let jobs = accepted(&world, 2).await;
        until("one runs and one waits", || {
            second.running() == 1 && in_state(&world, &jobs, "processing") == 2
        })
        .await;
        world.system.drain(SLOW * 3).await;
        assert_eq!(in_state(&world, &jobs, "done"), 2);
    });
}

#[test]
fn the_deadline_of_a_run_covers_all_backends() {
    run(async {
        let first = ScriptedGenerator::always(Act::Hang);
        let mut plan = Plan::with(first.clone(), 1);
        plan.backends
            .push((ScriptedGenerator::always(Act::Hang), 1));
        plan.route = vec![0, 1];
        plan.run_timeout = Duration::from_secs(150);
        let world = plan.start();
        let began = Instant::now();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        let error = world.failure(id).await;
        assert_eq!(error, "no image was generated within 150 s");
        let took = began.elapsed();
        assert!((150..152).contains(&took.as_secs()), "{took:?}");
        assert_eq!(
            world.system.backends()[0].faults,
            2,
            "the try that the deadline ends does not count"
        );
    });
}

#[test]
fn after_a_restart_a_run_resumes_on_the_backend_that_has_its_work() {
    run(async {
        let (first, second) = (quick(), ScriptedGenerator::always(Act::Hang));
        let engine = crate::world::fresh("100");
        let mut plan = Plan::over(engine.clone(), second.clone(), 1);
        plan.threads = tintype_actors::system::Threads::Callers;
        let world = plan.start();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        until("it runs", || second.running() == 1).await;
        let image = tintype_storage::testing::memory::MemoryEngine::from_image(engine.image());
        let holding = quick();
        holding.has_earlier_work_after(Duration::from_secs(45));
        let mut plan = Plan::over(std::sync::Arc::new(image), first.clone(), 1);
        plan.backends.push((holding.clone(), 1));
        plan.route = vec![0, 1];
        let world = plan.start();
        world.done(id).await;
        assert_eq!((first.seen().len(), holding.seen().len()), (0, 1));
    });
}

#[test]
fn a_job_fails_with_the_error_that_may_pass_or_else_with_the_fault_of_a_backend() {
    run(async {
        for (first, second, error) in [
            (Act::Transient(None), Act::Unsupported, "it is busy"),
            (Act::Transient(None), Act::BackendFault, "it is busy"),
            (Act::BackendFault, Act::Transient(None), "it is busy"),
            (Act::BackendFault, Act::Unsupported, "it is broken"),
            (Act::Unsupported, Act::BackendFault, "it is broken"),
            (Act::Unsupported, Act::Unsupported, "it takes no such thing"),
            (Act::Transient(None), Act::BackendLimit, "it is busy"),
            (Act::BackendLimit, Act::BackendFault, "it is broken"),
            (Act::Unsupported, Act::BackendLimit, "it is too large"),
            (Act::Transient(None), Act::Refused, "no such thing"),
        ] {
            let mut plan = Plan::with(ScriptedGenerator::always(first), 1);
            plan.backends.push((ScriptedGenerator::always(second), 1));
            plan.route = vec![0, 1];
            let world = plan.start();
            let id = world.accept(A, Tier::Fast, "a fox").await;
            assert_eq!(world.failure(id).await, error);
            world.check();
        }
    });
}
