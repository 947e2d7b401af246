//! Runs that wait for a slot while all backends of their model are paused: the wait has the same limit as their work, and an
//! orderly stop ends it.

use crate::generators::{Act, ScriptedGenerator};
use crate::world::{A, Plan, World, fresh, quick, run, settle, until};
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::JobState;
use tintype_storage::domain::tier::Tier;
use tintype_storage::engine::Engine;
use tintype_storage::testing::memory::MemoryEngine;
use tokio::time::{Instant, sleep};

/// Longer than the time limit of a run.
const A_WHILE: Duration = Duration::from_secs(3_600);

/// A job that waits for a slot of the second backend, after it has failed on the first one. A job of the model `pro` has the slot.
/// Also returns the time limit of a run.
async fn fail_over_to_full() -> (World, JobId, Duration) {
    let first = ScriptedGenerator::new([Act::BackendFault], Act::Image);
    let second = ScriptedGenerator::new([Act::Take(A_WHILE)], Act::Image);
    let mut two = Plan::with(first.clone(), 1);
    two.backends.push((second.clone(), 1));
    two.route = vec![0, 1];
    two.pro = Some(vec![1]);
    two.attempt_timeout = A_WHILE * 2;
    let limit = two.run_timeout;
    let world = two.start();
    world.accept(A, Tier::Pro, "a hen").await;
    until("it runs", || second.running() == 1).await;
    let job = world.accept(A, Tier::Fast, "a fox").await;
    until("it fails over", || first.seen().len() == 1).await;
    until("it has left", || first.running() == 0).await;
    (world, job, limit)
}

#[test]
fn a_run_that_waits_for_a_full_backend_fails_at_its_deadline_if_all_are_paused() {
    run(async {
        let (world, job, limit) = fail_over_to_full().await;
        // Another job causes this wait.
        sleep(limit / 2).await;
        let paused = Instant::now();
        world.backends_paused(&[0, 1]);
        let error = world.failure(job).await;
        assert_eq!(paused.elapsed().as_secs(), limit.as_secs());
        assert!(error.contains("broken"), "{error}");
    });
}

#[test]
fn only_the_time_of_a_pause_counts_while_a_run_waits_for_a_full_backend() {
    run(async {
        let (world, job, limit) = fail_over_to_full().await;
        world.backends_paused(&[0, 1]);
        sleep(limit / 4).await;
        world.backends_paused(&[0]);
        sleep(limit / 2).await;
        assert_eq!(world.state(job).as_str(), "processing");
        world.backends_paused(&[0, 1]);
        let paused = Instant::now();
        world.failure(job).await;
        assert_eq!(paused.elapsed().as_secs(), (limit * 3 / 4).as_secs());
    });
}

/// The engine after a power cut, with a job that was running and one that was queued.
async fn cut_power() -> (Arc<MemoryEngine>, [JobId; 2]) {
    let engine = fresh("100");
    let hangs = ScriptedGenerator::always(Act::Hang);
    let world = Plan::over(Arc::clone(&engine) as _, hangs, 1).start();
    let begun = world.accept(A, Tier::Fast, "begun").await;
    let queued = world.accept(A, Tier::Fast, "queued").await;
    until("one runs", || world.state(begun).as_str() == "processing").await;
    let engine = MemoryEngine::from_image(engine.image());
    (Arc::new(engine), [begun, queued])
}

#[test]
fn a_job_that_a_power_cut_interrupted_waits_for_the_end_of_a_pause_until_its_deadline() {
    run(async {
        let (engine, [begun, queued]) = cut_power().await;
        let generator = quick();
        let plan = Plan::over(engine, generator.clone(), 1);
        let limit = plan.run_timeout;
        let world = plan.start();
        let start = Instant::now();
        world.backends_paused(&[0]);
        world.failure(begun).await;
        assert_eq!(start.elapsed().as_secs(), limit.as_secs());
        assert!(world.shelf.forgotten().contains(&begun));
        sleep(A_WHILE).await;
        assert_eq!(world.state(queued), JobState::Queued);
        assert_eq!(world.money(A), ["100.00", "0.039"]);
        assert_eq!(generator.prompts(), [""; 0]);
        world.backends_paused(&[]);
        world.done(queued).await;
        world.check();
    });
}

#[test]
fn a_job_that_a_power_cut_interrupted_goes_first_after_a_pause() {
    run(async {
        let (engine, [begun, queued]) = cut_power().await;
        let generator = quick();
        let world = Plan::over(engine, generator.clone(), 1).start();
        world.backends_paused(&[0]);
        settle().await;
        let depths = world.system.queue().depths();
        assert_eq!((depths.queued, depths.running), ([1, 0, 0], 1));
        sleep(Duration::from_secs(60)).await;
        world.backends_paused(&[]);
        world.done(begun).await;
        world.done(queued).await;
        assert_eq!(generator.prompts(), ["begun", "queued"]);
        world.check();
    });
}

/// Lets a node take a job, and leave while the job runs.
async fn leave_running(engine: Arc<dyn Engine>) -> [JobId; 2] {
    let hangs = ScriptedGenerator::always(Act::Hang);
    let world = Plan::over(engine, hangs, 1).among_nodes().start();
    world.system.joined().await.expect("it joins");
    let begun = world.accept(A, Tier::Fast, "begun").await;
    let queued = world.accept(A, Tier::Fast, "queued").await;
    until("one runs", || world.state(begun).as_str() == "processing").await;
    world.system.drain(Duration::ZERO).await;
    world.system.return_jobs().await;
    world.system.leave().await;
    [begun, queued]
}

#[test]
fn a_job_of_a_node_that_has_left_waits_for_the_end_of_a_pause_until_its_deadline() {
    run(async {
        let engine = fresh("100");
        let [begun, queued] = leave_running(Arc::clone(&engine) as _).await;
        let generator = quick();
        let plan = Plan::over(engine, generator.clone(), 1);
        let limit = plan.run_timeout;
        let world = plan.among_nodes().start();
        let start = Instant::now();
        world.backends_paused(&[0]);
        world.failure(begun).await;
        assert!(start.elapsed() >= limit);
        assert_eq!(world.state(queued), JobState::Queued);
        world.backends_paused(&[]);
        world.done(queued).await;
        assert_eq!(generator.prompts(), ["queued"]);
        world.check();
    });
}

/// Stops the world, whose grace period is long, and returns the state of a job that waits for the end of a pause.
async fn stop(world: &World, job: JobId) -> JobState {
    let stopping = Instant::now();
    world.system.drain(A_WHILE).await;
    assert!(stopping.elapsed() < Duration::from_secs(1));
    world.state(job)
}

#[test]
fn a_stop_does_not_wait_for_the_end_of_a_pause() {
    run(async {
        // After a failed attempt.
        let fails = ScriptedGenerator::always(Act::Half(Duration::from_secs(10)));
        let world = Plan::with(fails.clone(), 1).start();
        let job = world.accept(A, Tier::Fast, "a fox").await;
        until("it runs", || fails.running() == 1).await;
        world.backends_paused(&[0]);
        until("it waits", || fails.running() == 0).await;
        let state = stop(&world, job).await;
        assert!(
            matches!(state, JobState::Processing { runs: 0, .. }),
            "{state:?}"
        );
        // After a restart.
        let world = Plan::over(world.engine.clone(), fails, 1).start();
        world.backends_paused(&[0]);
        settle().await;
        assert_eq!(stop(&world, job).await, state);
        let world = Plan::over(world.engine.clone(), quick(), 1).start();
        world.done(job).await;
        world.check();
    });
}

#[test]
fn a_stop_interrupts_a_run_that_begins_to_wait_for_the_end_of_a_pause() {
    run(async {
        let time = Duration::from_secs(10);
        let fails = ScriptedGenerator::always(Act::Half(time));
        let world = Plan::with(fails.clone(), 1).start();
        let job = world.accept(A, Tier::Fast, "a fox").await;
        until("it runs", || fails.running() == 1).await;
        world.backends_paused(&[0]);
        let stopping = Instant::now();
        world.system.drain(A_WHILE).await;
        assert_eq!(stopping.elapsed().as_secs(), time.as_secs());
        assert_eq!(world.state(job).as_str(), "processing");
        world.check();
    });
}

#[test]
fn a_backend_that_is_paused_between_the_lease_and_the_attempt_gets_no_attempt() {
    run(async {
        let (first, second) = (quick(), quick());
        let mut plan = Plan::with(first.clone(), 1);
        plan.backends.push((second.clone(), 1));
        plan.route = vec![0, 1];
        let world = plan.start();
        world.backends_paused(&[0, 1]);
        let job = world.accept(A, Tier::Fast, "a fox").await;
        world.engine.hold();
        world.backends_paused(&[]);
        until("its run begins", || world.engine.held() == 1).await;
        world.backends_paused(&[0]);
        world.engine.open();
        world.done(job).await;
        assert_eq!([&first, &second].map(|it| it.seen().len()), [0, 1]);
        world.check();
    });
}
