//! Failing backends are skipped, probed, and used again; weights distribute the runs.

use crate::generators::{Act, ScriptedGenerator};
use crate::world::{A, B, Plan, World, quick, run, until};
use std::time::Duration;
use tintype_actors::backends::Health;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::tier::Tier;
use tokio::time::sleep;

fn two(first: &ScriptedGenerator, second: &ScriptedGenerator) -> Plan {
    let mut plan = Plan::with(first.clone(), 1);
    plan.backends.push((second.clone(), 1));
    plan.route = vec![0, 1];
    plan.retries = 0;
    plan
}

async fn one_after_the_other(world: &World, count: usize) {
    for _ in 0..count {
        let id = world.accept(A, Tier::Fast, "a fox").await;
        world.done(id).await;
    }
}

fn healths(world: &World) -> Vec<Health> {
    let backends = world.system.backends();
    backends.into_iter().map(|it| it.health).collect()
}

#[test]
fn a_failing_backend_is_not_used_until_a_probe_succeeds() {
    run(async {
        let faults = vec![Act::Transient(None); 5];
        let (first, second) = (ScriptedGenerator::new(faults, Act::Image), quick());
        let world = two(&first, &second).start();
        one_after_the_other(&world, 8).await;
        assert_eq!((first.seen().len(), second.seen().len()), (5, 8));
        assert_eq!(healths(&world), [Health::Down, Health::Up]);
        let down = &world.system.backends()[0];
        assert_eq!(down.faults, 5, "the failures are still reported");
        assert!(
            down.probe_in
                .is_some_and(|it| it <= Duration::from_secs(10))
        );
        sleep(Duration::from_secs(10)).await;
        one_after_the_other(&world, 3).await;
        assert_eq!((first.seen().len(), second.seen().len()), (8, 8));
        assert_eq!(healths(&world), [Health::Up, Health::Up]);
        world.check();
    });
}

#[test]
fn an_account_whose_requests_fail_does_not_keep_other_accounts_from_a_backend() {
    run(async {
        let first = ScriptedGenerator::new(vec![Act::Transient(None); 6], Act::Image);
        let mut plan = Plan::with(first.clone(), 1);
        plan.retries = 0;
        let world = plan.start();
        for _ in 0..5 {
            let id = world.accept(A, Tier::Fast, "a poisoned request").await;
            world.failure(id).await;
        }
        assert_eq!(healths(&world), [Health::Down]);
        let waiting = world.accept(A, Tier::Fast, "another one").await;
        sleep(Duration::from_secs(1)).await;
        assert_eq!(world.state(waiting).as_str(), "queued");
        let id = world.accept(B, Tier::Fast, "a fox").await;
        world.done(id).await;
        let seen = first.seen();
        assert_eq!(seen.len(), 7, "the job that waited is the first probe");
        assert!(seen[6].at - seen[4].at < Duration::from_secs(2));
        assert_eq!(healths(&world), [Health::Up]);
        world.check();
    });
}

/// Nothing can probe the backend for the account whose job is paused.
#[test]
fn a_paused_job_of_another_account_does_not_end_the_cool_down_of_a_backend() {
    run(async {
        let first = ScriptedGenerator::new(vec![Act::Transient(None); 5], Act::Image);
        let mut plan = Plan::with(first.clone(), 1);
        plan.retries = 0;
        let world = plan.start();
        world.pause_changed(Pause {
            tiers: [true, false, false],
            ..Pause::default()
        });
        world.accept(B, Tier::Fast, "paused").await;
        for _ in 0..5 {
            let id = world.accept(A, Tier::Quality, "a fox").await;
            world.failure(id).await;
        }
        let waiting = world.accept(A, Tier::Quality, "another one").await;
        sleep(Duration::from_secs(1)).await;
        assert_eq!(world.state(waiting).as_str(), "queued");
        assert_eq!(healths(&world), [Health::Down]);
        world.done(waiting).await;
        assert_eq!(healths(&world), [Health::Up], "after the cool-down");
    });
}

#[test]
fn failures_of_one_account_do_not_open_the_breaker_while_another_account_succeeds() {
    run(async {
        let mut acts = vec![Act::Image];
        acts.extend(vec![Act::Transient(None); 8]);
        let first = ScriptedGenerator::new(acts, Act::Image);
        let mut plan = Plan::with(first.clone(), 1);
        plan.retries = 0;
        let world = plan.start();
        let id = world.accept(B, Tier::Fast, "a fox").await;
        world.done(id).await;
        for _ in 0..8 {
            let id = world.accept(A, Tier::Fast, "a poisoned request").await;
            world.failure(id).await;
        }
        let first = &world.system.backends()[0];
        assert_eq!((first.health, first.faults), (Health::Degraded, 8));
        world.check();
    });
}

/// A server whose model has failed returns black images at once, and would otherwise fail the whole queue.
#[test]
fn unusable_images_open_the_breaker_and_queued_jobs_wait() {
    run(async {
        let first = ScriptedGenerator::new(vec![Act::BackendFault; 5], Act::Image);
        let world = Plan::with(first.clone(), 1).start();
        for account in [A, B, A, B, A] {
            let id = world.accept(account, Tier::Fast, "a fox").await;
            world.failure(id).await;
        }
        assert_eq!(healths(&world), [Health::Down]);
        let waiting = world.accept(B, Tier::Fast, "a fox").await;
        sleep(Duration::from_secs(1)).await;
        assert_eq!(world.state(waiting).as_str(), "queued");
        world.done(waiting).await;
        assert_eq!(healths(&world), [Health::Up], "after the cool-down");
        world.check();
    });
}

#[test]
fn a_backend_that_passes_a_test_gets_the_next_run_at_once() {
    run(async {
        let first = ScriptedGenerator::new(vec![Act::Transient(None); 5], Act::Image);
        let world = two(&first, &quick()).start();
        one_after_the_other(&world, 5).await;
        assert_eq!(healths(&world), [Health::Down, Health::Up]);
        let error = world.system.backends()[0].last_error.clone();
        let failed = error.expect("an error");
        world.system.backend_tested(0, Err(failed.clone()));
        assert_eq!(
            healths(&world)[0],
            Health::Down,
            "a failed test does not end the cool-down"
        );
        world.system.backend_tested(0, Ok(failed.at));
        let tested = &world.system.backends()[0];
        assert_eq!(
            (tested.health, tested.probe_in),
            (Health::Down, Some(Duration::ZERO))
        );
        one_after_the_other(&world, 1).await;
        assert_eq!(first.seen().len(), 6);
        assert_eq!(healths(&world), [Health::Up, Health::Up]);
        world.check();
    });
}

#[test]
fn the_health_of_a_backend_follows_its_answers() {
    run(async {
        let acts = vec![Act::Transient(None), Act::Image, Act::BackendFault];
        let (first, second) = (ScriptedGenerator::new(acts, Act::Image), quick());
        let world = two(&first, &second).start();
        let first = || world.system.backends().swap_remove(0);
        assert_eq!(healths(&world), [Health::Unknown, Health::Unknown]);
        let before = first();
        assert_eq!((before.last_answer_at, before.last_error), (None, None));
        one_after_the_other(&world, 1).await;
        assert_eq!(healths(&world), [Health::Degraded, Health::Up]);
        let failed = first();
        let error = failed.last_error.expect("an error");
        assert_eq!(
            error.cause, "its log says more",
            "the cause for the operator"
        );
        assert_eq!(failed.last_answer_at, None);
        one_after_the_other(&world, 1).await;
        assert_eq!(healths(&world), [Health::Up, Health::Up]);
        let up = first();
        assert_eq!(
            up.last_error,
            Some(error),
            "the last error is still reported"
        );
        assert!(up.last_answer_at.is_some());
        // One failure does not open its breaker.
        one_after_the_other(&world, 1).await;
        assert_eq!(healths(&world), [Health::Degraded, Health::Up]);
        assert_eq!(first().faults, 1);
        world.check();
    });
}

#[test]
fn while_one_run_probes_a_backend_other_runs_use_the_next_backend() {
    run(async {
        let mut acts = vec![Act::Transient(None); 5];
        acts.push(Act::Take(Duration::from_secs(30)));
        let (first, second) = (ScriptedGenerator::new(acts, Act::Image), quick());
        let mut plan = two(&first, &second);
        plan.backends[0].1 = 4;
        let world = plan.start();
        one_after_the_other(&world, 5).await;
        sleep(Duration::from_secs(10)).await;
        let probing = world.accept(A, Tier::Fast, "a fox").await;
        one_after_the_other(&world, 3).await;
        assert_eq!(healths(&world)[0], Health::Probing);
        assert_eq!((first.seen().len(), second.seen().len()), (6, 8));
        world.done(probing).await;
        assert_eq!(healths(&world)[0], Health::Up);
        world.check();
    });
}

#[test]
fn jobs_are_still_tried_when_all_breakers_are_open() {
    run(async {
        let first = ScriptedGenerator::new(vec![Act::Transient(None); 6], Act::Image);
        let mut plan = Plan::with(first.clone(), 1);
        plan.retries = 6;
        let world = plan.start();
        one_after_the_other(&world, 2).await;
        assert_eq!(first.seen().len(), 8, "six failures and two images");
        assert_eq!(healths(&world), [Health::Up]);
        assert_eq!(world.money(A), ["99.922", "0.00"]);
        world.check();
    });
}

#[test]
fn answers_without_an_image_are_retried_and_keep_the_breaker_closed() {
    run(async {
        let first = ScriptedGenerator::always(Act::NoImage);
        let mut plan = Plan::with(first.clone(), 1);
        plan.retries = 6;
        let world = plan.start();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        assert_eq!(world.failure(id).await, "only words");
        assert_eq!(first.seen().len(), 7);
        assert_eq!(healths(&world), [Health::Up]);
        assert_eq!(world.money(A), ["100.00", "0.00"]);
    });
}

#[test]
fn a_run_fails_over_when_the_breaker_opens() {
    run(async {
        let (first, second) = (ScriptedGenerator::always(Act::Transient(None)), quick());
        let mut plan = two(&first, &second);
        plan.retries = 10;
        let world = plan.start();
        one_after_the_other(&world, 1).await;
        assert_eq!((first.seen().len(), second.seen().len()), (5, 1));
        world.check();
    });
}

#[test]
fn jobs_wait_in_the_queue_for_the_remaining_backend() {
    run(async {
        let first = ScriptedGenerator::new(vec![Act::Transient(None); 5], Act::Hang);
        let second = ScriptedGenerator::always(Act::Take(Duration::from_secs(1)));
        let mut plan = two(&first, &second);
        plan.run_timeout = Duration::from_secs(5);
        let world = plan.start();
        one_after_the_other(&world, 5).await;
        // Eight seconds of work for one slot: if all began at once, some would exceed the deadline of five seconds.
        let mut jobs = Vec::new();
        for _ in 0..8 {
            jobs.push(world.accept(A, Tier::Fast, "a fox").await);
        }
        for id in jobs {
            world.done(id).await;
        }
        assert_eq!(first.seen().len(), 5);
        world.check();
    });
}

#[test]
fn weights_distribute_the_runs_and_a_backend_without_weight_is_in_reserve() {
    run(async {
        let (heavy, light, reserve) = (quick(), quick(), quick());
        let mut plan = two(&heavy, &light);
        plan.backends.push((reserve.clone(), 1));
        plan.route = vec![2, 0, 1];
        plan.weights = vec![None, Some(3), Some(1)];
        let world = plan.start();
        one_after_the_other(&world, 8).await;
        let seen = [&heavy, &light, &reserve].map(|it| it.seen().len());
        assert_eq!(seen, [6, 2, 0]);
        world.check();
    });
}

#[test]
fn jobs_wait_for_the_only_backend_until_a_probe_is_due() {
    run(async {
        let first = ScriptedGenerator::new(vec![Act::Transient(None); 6], Act::Image);
        let mut plan = Plan::with(first.clone(), 2);
        plan.retries = 0;
        let world = plan.start();
        for _ in 0..5 {
            let id = world.accept(A, Tier::Fast, "a fox").await;
            world.failure(id).await;
        }
        assert_eq!(healths(&world), [Health::Down]);
        let jobs = [
            world.accept(A, Tier::Fast, "the first probe").await,
            world.accept(A, Tier::Fast, "the second probe").await,
            world.accept(A, Tier::Fast, "after it").await,
        ];
        sleep(Duration::from_secs(9)).await;
        assert!(jobs.iter().all(|id| world.state(*id).as_str() == "queued"));
        assert_eq!(world.failure(jobs[0]).await, "it is busy");
        world.done(jobs[1]).await;
        world.done(jobs[2]).await;
        let seen = first.seen();
        let waits = [5, 6, 7].map(|at: usize| (seen[at].at - seen[at - 1].at).as_secs());
        assert_eq!(waits, [10, 20, 0]);
        world.check();
    });
}

/// A backend with two slots and an open breaker, which repeats failed tries and next answers with these acts.
async fn open_with_retries(acts: impl IntoIterator<Item = Act>) -> (ScriptedGenerator, World) {
    let failures = vec![Act::Transient(None); 6].into_iter();
    let generator = ScriptedGenerator::new(failures.chain(acts), Act::Image);
    let world = Plan::with(generator.clone(), 2).start();
    for _ in 0..2 {
        let id = world.accept(A, Tier::Fast, "a fox").await;
        world.failure(id).await;
    }
    assert_eq!(healths(&world), [Health::Down]);
    (generator, world)
}

#[test]
fn a_job_begins_after_the_cool_down_while_the_failed_probe_waits_for_its_next_try() {
    run(async {
        let five_minutes = Some(Duration::from_secs(300));
        let (generator, world) = open_with_retries([Act::Transient(five_minutes)]).await;
        let jobs = [
            world.accept(A, Tier::Fast, "the probe").await,
            world.accept(A, Tier::Fast, "the next probe").await,
        ];
        world.done(jobs[1]).await;
        let seen = generator.seen();
        assert_eq!([seen[6].job, seen[7].job], jobs);
        assert_eq!((seen[7].at - seen[6].at).as_secs(), 120);
        world.done(jobs[0]).await;
        world.check();
    });
}

#[test]
fn a_job_of_another_account_that_came_during_a_probe_begins_when_the_probe_fails() {
    run(async {
        let (generator, world) = open_with_retries([Act::Hang]).await;
        let probe = world.accept(A, Tier::Fast, "a poisoned request").await;
        until("it probes", || healths(&world) == [Health::Probing]).await;
        let other = world.accept(B, Tier::Fast, "a fox").await;
        world.done(other).await;
        let seen = generator.seen();
        assert_eq!([seen[6].job, seen[7].job], [probe, other]);
        assert_eq!((seen[7].at - seen[6].at).as_secs(), 60);
        world.done(probe).await;
        world.check();
    });
}

#[test]
fn a_try_that_does_not_reach_the_backend_does_not_change_its_breaker() {
    run(async {
        for act in [Act::Unsupported, Act::InvalidRequest, Act::Storage] {
            let mut acts = vec![Act::Transient(None); 4];
            acts.push(act.clone());
            acts.push(Act::Transient(None));
            let (first, second) = (ScriptedGenerator::new(acts, Act::Image), quick());
            let world = two(&first, &second).start();
            one_after_the_other(&world, 4).await;
            let id = world.accept(A, Tier::Fast, "a fox").await;
            until("it ends", || world.state(id).is_terminal()).await;
            assert_eq!(world.system.backends()[0].faults, 4, "{act:?}");
            one_after_the_other(&world, 1).await;
            assert_eq!(healths(&world), [Health::Down, Health::Up], "{act:?}");
        }
    });
}

#[test]
fn after_a_probe_that_does_not_reach_the_backend_the_next_run_probes() {
    run(async {
        let mut acts = vec![Act::Transient(None); 5];
        acts.push(Act::Unsupported);
        let (first, second) = (ScriptedGenerator::new(acts, Act::Image), quick());
        let world = two(&first, &second).start();
        one_after_the_other(&world, 5).await;
        sleep(Duration::from_secs(10)).await;
        one_after_the_other(&world, 1).await;
        assert_eq!(healths(&world), [Health::Down, Health::Up]);
        one_after_the_other(&world, 1).await;
        assert_eq!((first.seen().len(), second.seen().len()), (7, 6));
        assert_eq!(healths(&world), [Health::Up, Health::Up]);
    });
}

#[test]
fn the_late_answer_of_a_try_that_timed_out_is_ignored() {
    run(async {
        let slow = ScriptedGenerator::always(Act::Take(Duration::from_secs(90)));
        let second = ScriptedGenerator::always(Act::Take(Duration::from_secs(50)));
        let world = two(&slow, &second).start();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        world.done(id).await;
        sleep(Duration::from_secs(100)).await;
        assert_eq!((slow.running(), second.running()), (0, 0));
        assert_eq!(world.money(A), ["99.961", "0.00"], "charged once");
        world.check();
    });
}

#[test]
fn a_backend_that_rejects_every_request_costs_a_few_jobs_and_not_the_whole_queue() {
    run(async {
        for (act, error) in [
            (Act::BackendRejectsAll, "its key is wrong"),
            (Act::Misconfigured, "it has no model"),
        ] {
            let generator = ScriptedGenerator::new(vec![act; 6], Act::Image);
            let world = Plan::with(generator.clone(), 1).start();
            let mut jobs = Vec::new();
            for _ in 0..30 {
                jobs.push(world.accept(A, Tier::Fast, "a fox").await);
            }
            for (at, id) in jobs.iter().enumerate() {
                // Five failures open the breaker, and the sixth is the first probe.
                match at < 6 {
                    true => assert_eq!(world.failure(*id).await, error),
                    false => world.done(*id).await,
                }
            }
            assert_eq!(generator.seen().len(), jobs.len(), "no retries");
            world.check();
        }
    });
}

#[test]
fn one_accounts_requests_that_a_backend_cannot_serve_do_not_keep_another_account_from_it() {
    run(async {
        let mut acts = vec![Act::Image];
        acts.extend(vec![Act::Misconfigured; 8]);
        let world = Plan::with(ScriptedGenerator::new(acts, Act::Image), 1).start();
        let id = world.accept(B, Tier::Fast, "a fox").await;
        world.done(id).await;
        for _ in 0..8 {
            let id = world
                .accept(A, Tier::Fast, "a request for a missing node")
                .await;
            world.failure(id).await;
        }
        assert_eq!(healths(&world), [Health::Degraded]);
    });
}
