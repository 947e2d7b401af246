//! Recovery at a restart.

use crate::generators::{Act, ScriptedGenerator};
use crate::world::{A, B, Plan, START, World, fresh, quick, run, until};
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::{FailureKind, JobEvent, JobState};
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::{SealedSecret, Webhook, WebhookId};
use tintype_storage::engine::commit_and_wait;
use tintype_storage::testing::memory::MemoryEngine;

/// The engine after a power cut, with six jobs of A and one of B. The first three of A and the one of B were running.
async fn cut_power() -> (Arc<MemoryEngine>, Vec<JobId>) {
    let engine = fresh("100");
    let generator = ScriptedGenerator::always(Act::Hang);
    let world = Plan::over(Arc::clone(&engine) as _, generator.clone(), 4).start();
    let mut jobs = Vec::new();
    for at in 0..3 {
        jobs.push(world.accept(A, Tier::Fast, &format!("a{at}")).await);
    }
    jobs.push(world.accept(B, Tier::Fast, "b0").await);
    until("four run", || {
        jobs.iter()
            .all(|job| world.state(*job).as_str() == "processing")
    })
    .await;
    for at in 3..6 {
        jobs.push(world.accept(A, Tier::Fast, &format!("a{at}")).await);
    }
    (Arc::new(MemoryEngine::from_image(engine.image())), jobs)
}

fn started_at(world: &World, job: JobId) -> (i64, u32) {
    match world.state(job) {
        JobState::Processing { started_at, runs } => (started_at.millis(), runs),
        JobState::Done { started_at, .. } => (started_at.millis(), 0),
        other => panic!("{other:?}"),
    }
}

#[test]
fn begun_jobs_run_first_and_all_jobs_run_in_the_order_of_acceptance() {
    run(async {
        let (engine, jobs) = cut_power().await;
        let generator = ScriptedGenerator::always(Act::Take(Duration::from_secs(1)));
        let mut plan = Plan::over(engine, generator.clone(), 1);
        plan.now = START + 60_000;
        let world = plan.start();
        assert_eq!(world.system.queue().live(), jobs.len());
        let began: Vec<i64> = jobs[..4]
            .iter()
            .map(|job| started_at(&world, *job).0)
            .collect();
        assert!(began.iter().all(|at| *at < START + 60_000));
        assert!(
            jobs[4..]
                .iter()
                .all(|job| world.state(*job) == JobState::Queued)
        );
        // A new job waits behind the recovered ones.
        world.accept(A, Tier::Fast, "new").await;
        world.idle().await;
        assert_eq!(
            generator.prompts(),
            ["a0", "b0", "a1", "a2", "a3", "a4", "a5", "new"]
        );
        for (job, began) in jobs.iter().zip(began) {
            assert_eq!(started_at(&world, *job), (began, 0), "the start time stays");
        }
        assert_eq!(world.money(A), ["99.727", "0.00"]);
        assert_eq!(world.money(B), ["99.961", "0.00"]);
        world.check();
    });
}

#[test]
fn a_begun_job_runs_before_the_waiting_jobs_of_other_accounts() {
    run(async {
        let engine = fresh("100");
        let world = Plan::over(
            Arc::clone(&engine) as _,
            ScriptedGenerator::always(Act::Hang),
            1,
        )
        .start();
        let begun = world.accept(B, Tier::Fast, "begun").await;
        until("it runs", || world.state(begun).as_str() == "processing").await;
        world.accept(A, Tier::Fast, "waiting").await;
        let generator = quick();
        let image = MemoryEngine::from_image(engine.image());
        let world = Plan::over(Arc::new(image), generator.clone(), 1).start();
        world.idle().await;
        assert_eq!(generator.prompts(), ["begun", "waiting"]);
    });
}

#[test]
fn a_job_that_has_used_all_runs_fails() {
    run(async {
        let (mut engine, jobs) = cut_power().await;
        for restart in 1..=2 {
            let world = Plan::over(
                Arc::clone(&engine) as _,
                ScriptedGenerator::always(Act::Hang),
                9,
            )
            .start();
            until("the run is counted", || {
                started_at(&world, jobs[0]).1 == restart + 1
            })
            .await;
            engine = Arc::new(MemoryEngine::from_image(engine.image()));
        }
        let generator = quick();
        let world = Plan::over(engine, generator.clone(), 9).start();
        for job in &jobs[..4] {
            assert_eq!(world.failure(*job).await, "interrupted");
        }
        world.idle().await;
        assert!(world.shelf.forgotten().contains(&jobs[0]));
        // The others have used two runs, and have one left.
        for job in &jobs[4..] {
            world.done(*job).await;
        }
        assert_eq!(world.money(A), ["99.883", "0.00"]);
        assert_eq!(world.money(B), ["100.00", "0.00"]);
        world.check();
    });
}

#[test]
fn hostile_109_order_is_preserved_if_the_clock_is_set_back_over_a_restart() {
    run(async {
        let engine = fresh("100");
        let world = Plan::over(Arc::clone(&engine) as _, quick(), 1).start();
        let first = world.accept(A, Tier::Fast, "first").await;
        world.done(first).await;
        let entry = world
            .deposit(A, "5")
            .await
            .expect("an answer")
            .expect("a deposit");

        let mut plan = Plan::over(engine, quick(), 1);
        plan.now = START - 500_000;
        let world = plan.start();
        let second = world.accept(A, Tier::Fast, "second").await;
        assert!(second > first);
        world.done(second).await;
        let later = world
            .deposit(A, "-1")
            .await
            .expect("an answer")
            .expect("a correction");
        assert!(later.id > entry.id, "ledger entries sort by time");
        world.check();
    });
}

/// A new id sorts after the newest record of any kind, so the oldest webhook stays the oldest.
#[test]
fn hostile_109_ids_increase_over_a_restart_even_if_the_clock_was_set_back() {
    run(async {
        for last in ["a failed job", "a webhook"] {
            let engine = fresh("100");
            let refuses = ScriptedGenerator::always(Act::Refused);
            let world = Plan::over(Arc::clone(&engine) as _, refuses, 1).start();
            let made = if last == "a webhook" {
                let now = Timestamp::from_millis(START + 1_000);
                let id = world.system.process().ids.next(now);
                let webhook = webhook(WebhookId(id), now);
                commit_and_wait(&*engine, world.store.put_webhook(&webhook)).expect("a webhook");
                id
            } else {
                let job = world.accept(A, Tier::Fast, "a fox").await;
                world.failure(job).await;
                job.0
            };
            let earlier = START - 500_000;
            let mut plan = Plan::over(engine, quick(), 1);
            plan.now = earlier;
            let world = plan.start();
            let ids = &world.system.process().ids;
            let next = ids.next(Timestamp::from_millis(earlier));
            assert!(next > made, "after {last}");
        }
    });
}

fn webhook(id: WebhookId, created_at: Timestamp) -> Webhook {
    Webhook::new(
        id,
        A,
        "https://receiver.example/",
        SealedSecret(vec![0]),
        created_at,
    )
}

#[test]
fn a_job_that_ended_before_the_power_cut_stays_ended() {
    run(async {
        let engine = fresh("100");
        let world = Plan::over(Arc::clone(&engine) as _, quick(), 1).start();
        let done = world.accept(A, Tier::Fast, "done").await;
        world.done(done).await;
        let generator = quick();
        let image = MemoryEngine::from_image(engine.image());
        let world = Plan::over(Arc::new(image), generator.clone(), 1).start();
        assert_eq!(world.system.queue().live(), 0);
        let late = world
            .apply(
                A,
                done,
                JobEvent::Fail {
                    error: "late".into(),
                    kind: FailureKind::Broken,
                },
            )
            .await;
        assert!(
            late.expect("an answer").is_err(),
            "a late result is ignored"
        );
        assert_eq!(world.money(A), ["99.961", "0.00"]);
        assert!(generator.seen().is_empty());
        world.check();
    });
}
