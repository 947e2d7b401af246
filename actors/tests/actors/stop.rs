//! The orderly stop.

use crate::generators::{Act, ScriptedGenerator};
use crate::world::{A, Plan, quick, run, until};
use std::time::Duration;
use tintype_actors::system::Threads;
use tintype_storage::domain::job::JobState;
use tintype_storage::domain::tier::Tier;
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);
const GRACE: Duration = Duration::from_secs(10);

#[test]
fn running_jobs_finish_and_queued_ones_wait_for_the_restart() {
    run(async {
        let generator = ScriptedGenerator::always(Act::Take(Duration::from_secs(20)));
        let world = Plan::with(generator.clone(), 1).start();
        let running = world.accept(A, Tier::Fast, "running").await;
        let waiting = world.accept(A, Tier::Fast, "waiting").await;
        until("the first one runs", || generator.running() == 1).await;
        let began = Instant::now();
        world.system.drain(Duration::from_secs(30)).await;
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "the stop does not use the whole grace period"
        );
        assert_eq!(world.state(running).as_str(), "done");
        assert_eq!(world.state(waiting), JobState::Queued);
        let late = world.accept(A, Tier::Fast, "late").await;
        world.system.stop();
        assert!(
            world.system.is_alive(),
            "a stopped system counts as healthy"
        );
        assert_eq!(generator.prompts(), ["running"]);

        let again = Plan::over(world.engine.clone(), quick(), 1).start();
        again.done(waiting).await;
        again.done(late).await;
        again.check();
    });
}

#[test]
fn an_interrupted_run_is_not_counted() {
    run(async {
        let engine = crate::world::fresh("100");
        let mut began = None;
        for _ in 0..3 {
            let generator = ScriptedGenerator::always(Act::Hang);
            let mut plan = Plan::over(engine.clone(), generator.clone(), 1);
            plan.max_runs = 1;
            let world = plan.start();
            let (job, started_at) = match began {
                Some(known) => known,
                None => {
                    let job = world.accept(A, Tier::Fast, "a fox").await;
                    until("it runs", || world.state(job).as_str() == "processing").await;
                    let JobState::Processing { started_at, .. } = world.state(job) else {
                        panic!("it has ended")
                    };
                    (job, started_at)
                }
            };
            until("it runs", || generator.running() == 1).await;
            let stopping = Instant::now();
            world.system.drain(Duration::from_secs(10)).await;
            assert!(
                stopping.elapsed() >= Duration::from_secs(10),
                "the run gets the whole grace period"
            );
            assert_eq!(generator.running(), 0, "the run's future is dropped");
            let state = JobState::Processing {
                started_at,
                runs: 0,
            };
            assert_eq!(world.state(job), state);
            began = Some((job, started_at));
        }
        let mut plan = Plan::over(engine, quick(), 1);
        plan.max_runs = 1;
        let world = plan.start();
        world.done(began.expect("a job").0).await;
        world.check();
    });
}

/// Returns the state of a job whose image a backend returned a second before the cut-off, and whether a second backend was asked.
async fn cut_off_while_storing(time: Duration, is_refused: bool) -> (JobState, bool) {
    let second = quick();
    let mut plan = Plan::with(ScriptedGenerator::always(Act::Take(GRACE - SECOND)), 1);
    plan.backends.push((second.clone(), 1));
    plan.route = vec![0, 1];
    let world = plan.start();
    world.shelf.take(time);
    if is_refused {
        world.shelf.refuse();
    }
    let job = world.accept(A, Tier::Fast, "a fox").await;
    until("it runs", || world.state(job).as_str() == "processing").await;
    world.system.drain(GRACE).await;
    world.check();
    (world.state(job), !second.seen().is_empty())
}

#[test]
fn an_image_that_is_being_stored_at_the_cut_off_is_kept() {
    run(async {
        let (state, _) = cut_off_while_storing(SECOND * 4, false).await;
        assert_eq!(state.as_str(), "done");
        // Longer than the stop waits.
        let (state, _) = cut_off_while_storing(SECOND * 60, false).await;
        assert!(
            matches!(state, JobState::Processing { runs: 0, .. }),
            "{state:?}"
        );
    });
}

#[test]
fn no_other_backend_is_asked_after_the_cut_off() {
    run(async {
        let (state, is_asked) = cut_off_while_storing(SECOND * 4, true).await;
        assert!(
            matches!(state, JobState::Processing { runs: 0, .. }),
            "{state:?}"
        );
        assert!(!is_asked);
    });
}

/// On separate threads and with the real clock, as in the service.
#[test]
fn stopped_actors_refuse_commands() {
    actix::System::new().block_on(async {
        let mut plan = Plan::with(quick(), 2);
        plan.threads = Threads::Own;
        let world = plan.start();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        world.done(id).await;
        world.system.drain(Duration::from_secs(60)).await;
        world.system.stop();
        let mut refused = false;
        for _ in 0..10_000 {
            // The thread ends a moment after `stop`.
            match world.send(A, Tier::Fast, "late", None).await {
                Ok(accepted) => assert!(accepted.is_ok()),
                Err(_) => {
                    refused = true;
                    break;
                }
            }
        }
        assert!(refused && world.system.is_alive() && !world.fail_stop.has_tripped());
        world.check();
    });
}
