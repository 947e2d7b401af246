//! Pausing tiers and the whole project.

use crate::generators::{Act, ScriptedGenerator};
use crate::world::{A, Plan, quick, run, until};
use std::time::Duration;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::tier::Tier;
use tintype_storage::engine::commit_and_wait;
use tintype_storage::store::tables::PAUSE;
use tokio::time::sleep;

/// Longer than any job that is not paused takes.
const A_WHILE: Duration = Duration::from_secs(3_600);

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
        assert_eq!(
            world.system.waiting_jobs().depths().queued[Tier::Fast.index()],
            1
        );
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
