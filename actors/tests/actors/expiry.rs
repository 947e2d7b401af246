//! Jobs that expire if they do not begin in time.

use crate::generators::{Act, ScriptedGenerator};
use crate::world::{A, Plan, World, fresh, quick, run, settle, until};
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::EXPIRED;
use tintype_storage::domain::tier::Tier;

/// By the clock of a world, which advances by a millisecond at each read.
const SOON: Duration = Duration::from_millis(50);

async fn accepted(world: &World, prompt: &str, after: Duration) -> JobId {
    let answer = world.send_until(A, Tier::Fast, prompt, Some(after)).await;
    answer.expect("an answer").expect("accepted").job
}

#[test]
fn decisions_14_a_job_that_does_not_start_before_its_expiry_fails_uncharged() {
    run(async {
        let generator = ScriptedGenerator::always(Act::Take(Duration::from_secs(30)));
        let world = Plan::with(generator.clone(), 1).start();
        let running = accepted(&world, "running", SOON).await;
        until("it runs", || generator.running() == 1).await;
        let late = accepted(&world, "late", SOON).await;
        let patient = world.accept(A, Tier::Fast, "patient").await;
        assert_eq!(world.failure(late).await, EXPIRED);
        settle().await;
        assert_eq!(world.shelf.forgotten(), [late]);
        assert_eq!(world.position(patient), Some(1));
        world.done(running).await;
        world.done(patient).await;
        assert_eq!(generator.prompts(), ["running", "patient"]);
        assert_eq!(world.money(A), ["99.922", "0.00"]);
        world.check();
    });
}

#[test]
fn decisions_14_the_expiry_of_a_queued_job_survives_a_restart() {
    let engine = fresh("100");
    let held = Arc::clone(&engine);
    run(async move {
        let world = Plan::over(held, ScriptedGenerator::always(Act::Hang), 1).start();
        let running = world.accept(A, Tier::Fast, "running").await;
        until("it runs", || world.state(running).as_str() == "processing").await;
        accepted(&world, "late", SOON).await;
        world.system.stop();
    });
    run(async move {
        let plan = Plan {
            now: crate::world::START + 3_600_000,
            ..Plan::over(engine, quick(), 1)
        };
        let world = plan.start();
        world.idle().await;
        let of_account = world.jobs(A);
        let late = of_account
            .iter()
            .find(|it| it.inputs.is_empty() && it.state.as_str() == "failed");
        let late = late.expect("a failed job").id;
        assert_eq!(world.failure(late).await, EXPIRED);
        world.check();
    });
}
