//! Pausing tiers and the whole project, and the pause while the object store fails.

use crate::generators::{Act, ScriptedGenerator};
use crate::world::{A, Plan, World, fresh, quick, run, until};
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::job::JobState;
use tintype_storage::domain::node::TakenJob;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::tier::Tier;
use tintype_storage::engine::{Wait as _, commit_and_wait};
use tintype_storage::store::tables::{PAUSE, QUEUE, TAKEN_JOBS};
use tintype_storage::testing::memory::MemoryEngine;
use tokio::time::sleep;

/// Longer than any job that is not paused takes.
const A_WHILE: Duration = Duration::from_secs(3_600);
/// Longer than the time until a node takes the jobs that may begin.
const TAKE_TIME: Duration = Duration::from_secs(10);

#[test]
fn a_paused_tier_waits_while_other_tiers_run() {
    run(async {
        let generator = quick();
        let world = Plan::with(generator.clone(), 2).start();
        let pause = Pause {
            tiers: [true, false, false],
            ..Pause::default()
        };
        world.pause_changed(pause);
        let waiting = world.accept(A, Tier::Fast, "waiting").await;
        let other = world.accept(A, Tier::Pro, "other").await;
        world.done(other).await;
        sleep(A_WHILE).await;
        assert_eq!(world.state(waiting).as_str(), "queued");
        assert_eq!(world.system.queue().depths().queued[Tier::Fast.index()], 1);
        world.pause_changed(Pause::default());
        world.done(waiting).await;
        assert_eq!(generator.prompts(), ["other", "waiting"]);
    });
}

#[test]
fn running_jobs_continue_while_paused() {
    run(async {
        let generator = ScriptedGenerator::always(Act::Take(Duration::from_secs(60)));
        let world = Plan::with(generator.clone(), 1).start();
        let running = world.accept(A, Tier::Fast, "running").await;
        let waiting = world.accept(A, Tier::Fast, "waiting").await;
        until("the first one runs", || generator.running() == 1).await;
        world.pause_changed(Pause {
            project: true,
            ..Pause::default()
        });
        world.done(running).await;
        sleep(A_WHILE).await;
        assert_eq!(world.state(waiting).as_str(), "queued");
        world.pause_changed(Pause::default());
        world.done(waiting).await;
        world.check();
    });
}

#[test]
fn queued_jobs_wait_while_the_object_store_fails() {
    for is_node in [false, true] {
        run(async {
            let generator = ScriptedGenerator::always(Act::Take(Duration::from_secs(60)));
            let mut plan = Plan::with(generator.clone(), 1);
            if is_node {
                plan = plan.among_nodes();
            }
            let world = plan.start();
            world.system.joined().await.expect("it joins");
            let running = world.accept(A, Tier::Fast, "running").await;
            until("the first one runs", || generator.running() == 1).await;
            let waiting = world.accept(A, Tier::Fast, "waiting").await;
            world.shelf.set_lost(true);
            world.done(running).await;
            sleep(A_WHILE).await;
            assert_eq!(world.state(waiting).as_str(), "queued");
            assert_eq!(generator.prompts(), ["running"]);
            world.shelf.set_lost(false);
            world.done(waiting).await;
            world.check();
        });
    }
}

#[test]
fn a_pause_survives_a_restart() {
    run(async {
        let world = Plan::with(quick(), 1).start();
        let pause = Pause {
            project: true,
            ..Pause::default()
        };
        commit_and_wait(&*world.engine, vec![PAUSE.put(&(), &pause)]).expect("stored");
        world.pause_changed(pause);
        let id = world.accept(A, Tier::Fast, "a fox").await;
        let again = Plan::over(world.engine.clone(), quick(), 1).start();
        sleep(A_WHILE).await;
        assert_eq!(again.state(id).as_str(), "queued");
        again.pause_changed(Pause::default());
        again.done(id).await;
    });
}

/// Stores a pause, and publishes it.
fn pause(world: &World, pause: &Pause) {
    commit_and_wait(&*world.engine, vec![PAUSE.put(&(), pause)]).expect("stored");
    world.pause_changed(pause.clone());
}

#[test]
fn a_job_that_a_power_cut_interrupted_runs_again_during_a_pause() {
    let project = Pause {
        project: true,
        ..Pause::default()
    };
    let fast = Pause {
        tiers: [true, false, false],
        ..Pause::default()
    };
    for covers in [project, fast] {
        run(async {
            let engine = fresh("100");
            let hangs = ScriptedGenerator::always(Act::Hang);
            let world = Plan::over(Arc::clone(&engine) as _, hangs, 2).start();
            let begun = world.accept(A, Tier::Fast, "begun").await;
            let also = world.accept(A, Tier::Fast, "also begun").await;
            until("they run", || {
                [begun, also].map(|it| world.state(it).as_str()) == ["processing"; 2]
            })
            .await;
            let waiting = world.accept(A, Tier::Fast, "waiting").await;
            pause(&world, &covers);
            let generator = ScriptedGenerator::always(Act::Take(Duration::from_secs(60)));
            let image = Arc::new(MemoryEngine::from_image(engine.image()));
            let world = Plan::over(image, generator.clone(), 1).start();
            until("the first one runs", || generator.running() == 1).await;
            let jobs = world.system.queue();
            let depths = jobs.depths();
            assert_eq!((depths.queued, depths.running), ([1, 0, 0], 2));
            assert_eq!(jobs.depths_of(A), depths);
            assert_eq!(world.position(also), None);
            assert_eq!(world.position(waiting), Some(1));
            world.done(begun).await;
            world.done(also).await;
            sleep(A_WHILE).await;
            assert_eq!(world.state(waiting).as_str(), "queued");
            assert_eq!(world.money(A), ["99.922", "0.039"]);
            pause(&world, &Pause::default());
            world.done(waiting).await;
            assert_eq!(generator.prompts(), ["begun", "also begun", "waiting"]);
            world.check();
        });
    }
}

/// A node leaves with two taken jobs: one whose run had begun, and one whose run had not.
#[test]
fn a_node_takes_over_only_begun_jobs_during_a_pause() {
    run(async {
        let engine = fresh("100");
        let hangs = ScriptedGenerator::always(Act::Hang);
        let world = Plan::over(Arc::clone(&engine) as _, hangs, 1)
            .among_nodes()
            .start();
        world.system.joined().await.expect("it joins");
        let begun = world.accept(A, Tier::Fast, "begun").await;
        until("it runs", || world.state(begun).as_str() == "processing").await;
        let covers = Pause {
            tiers: [true, false, false],
            ..Pause::default()
        };
        let taken = world.accept(A, Tier::Fast, "taken").await;
        let waiting = world.accept(A, Tier::Fast, "waiting").await;
        pause(&world, &covers);
        world.system.drain(Duration::ZERO).await;
        // As if the node had taken it before the pause.
        let node = world.system.node().expect("a node").id;
        let places = QUEUE.all(&world.store).wait().expect("readable");
        let (place, _) = places[0];
        assert_eq!(place.job, taken);
        let job = TakenJob {
            account: A,
            tier: Tier::Fast,
            class: place.class,
        };
        let take = vec![QUEUE.delete(&place), TAKEN_JOBS.put(&(node, taken), &job)];
        commit_and_wait(&*engine, take).expect("stored");
        let generator = quick();
        world.system.return_jobs().await;
        world.system.leave().await;
        let world = Plan::over(engine, generator.clone(), 1)
            .among_nodes()
            .start();
        world.system.joined().await.expect("it joins");
        world.done(begun).await;
        sleep(TAKE_TIME).await;
        let states = [taken, waiting].map(|it| world.state(it));
        assert_eq!(states, [JobState::Queued, JobState::Queued]);
        pause(&world, &Pause::default());
        world.done(waiting).await;
        assert_eq!(generator.prompts(), ["begun", "taken", "waiting"]);
        world.check();
    });
}
