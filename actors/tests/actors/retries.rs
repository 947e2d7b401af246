//! Attempts, backoff and failover, by the paused clock.

use crate::generators::{Act, ScriptedGenerator};
use crate::world::{A, B, Plan, World, quick, run};
use std::sync::atomic::Ordering;
use std::time::Duration;
use tintype_actors::backends::Health;
use tintype_storage::domain::tier::Tier;
use tokio::time::Instant;

/// The times between the tasks of a generator.
fn waits(generator: &ScriptedGenerator) -> Vec<Duration> {
    let seen = generator.seen();
    seen.windows(2).map(|two| two[1].at - two[0].at).collect()
}

#[test]
fn a_transient_failure_is_retried_after_a_growing_wait() {
    run(async {
        let generator =
            ScriptedGenerator::new([Act::Transient(None), Act::Transient(None)], Act::Image);
        let world = Plan::with(generator.clone(), 1).start();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        world.done(id).await;
        let waits = waits(&generator);
        let bounds = [(250, 510), (500, 1_010)];
        assert_eq!(waits.len(), bounds.len());
        for (wait, (least, most)) in waits.iter().zip(bounds) {
            assert!((least..=most).contains(&wait.as_millis()), "{waits:?}");
        }
        assert_eq!(world.money(A), ["99.961", "0.00"], "charged once");
        world.check();
    });
}

#[test]
fn a_retry_waits_as_long_as_the_backend_requests() {
    run(async {
        let asked = Some(Duration::from_secs(7));
        let generator = ScriptedGenerator::new([Act::Transient(asked)], Act::Image);
        let world = Plan::with(generator.clone(), 1).start();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        world.done(id).await;
        let wait = waits(&generator)[0];
        assert!((7_000..=7_010).contains(&wait.as_millis()), "{wait:?}");
    });
}

#[test]
fn after_the_last_try_the_run_fails_over_with_the_model_of_the_next_backend() {
    run(async {
        let (first, second) = (ScriptedGenerator::always(Act::Transient(None)), quick());
        let mut plan = Plan::with(first.clone(), 1);
        plan.backends.push((second.clone(), 1));
        plan.route = vec![0, 1];
        let world = plan.start();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        world.done(id).await;
        let models = |generator: &ScriptedGenerator| -> Vec<_> {
            let seen = generator.seen().into_iter();
            seen.map(|seen| (seen.job, seen.model)).collect()
        };
        assert_eq!(models(&first), vec![(id, Some("model-0".into())); 3]);
        assert_eq!(models(&second), [(id, Some("model-1".into()))]);
        assert_eq!(world.money(A), ["99.961", "0.00"], "charged once");
        world.check();
    });
}

#[test]
fn a_broken_backend_is_not_retried_and_the_job_reports_the_last_error() {
    run(async {
        let first = ScriptedGenerator::always(Act::BackendFault);
        let second = ScriptedGenerator::always(Act::Transient(None));
        let mut plan = Plan::with(first.clone(), 1);
        plan.backends.push((second.clone(), 1));
        plan.route = vec![0, 1];
        let world = plan.start();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        assert_eq!(world.failure(id).await, "it is busy");
        assert_eq!((first.seen().len(), second.seen().len()), (1, 3));
        assert_eq!(world.money(A), ["100.00", "0.00"]);
        world.check();
    });
}

#[test]
fn a_try_that_times_out_is_repeated() {
    run(async {
        let generator = ScriptedGenerator::new([Act::Hang], Act::Image);
        let mut plan = Plan::with(generator.clone(), 1);
        plan.attempt_timeout = Duration::from_secs(20);
        let world = plan.start();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        world.done(id).await;
        assert!(waits(&generator)[0] >= Duration::from_secs(20));
        assert_eq!(generator.running(), 0, "the future of the try is dropped");
    });
}

#[test]
fn a_long_retry_after_causes_a_failover_or_else_a_wait() {
    run(async {
        let minutes = Duration::from_secs(180);
        let busy = || ScriptedGenerator::new([Act::Transient(Some(minutes))], Act::Image);
        let (first, second) = (busy(), quick());
        let mut plan = Plan::with(first.clone(), 1);
        plan.backends.push((second.clone(), 1));
        plan.route = vec![0, 1];
        let world = plan.start();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        world.done(id).await;
        assert_eq!((first.seen().len(), second.seen().len()), (1, 1));

        let only = busy();
        let world = Plan::with(only.clone(), 1).start();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        world.done(id).await;
        let wait = waits(&only)[0];
        assert!((180..182).contains(&wait.as_secs()), "{wait:?}");
    });
}

#[test]
fn a_run_fails_at_once_if_the_wait_exceeds_its_deadline() {
    run(async {
        let asked = Act::Transient(Some(Duration::from_secs(3_600)));
        let generator = ScriptedGenerator::always(asked);
        let world = Plan::with(generator.clone(), 1).start();
        let began = Instant::now();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        assert_eq!(world.failure(id).await, "it is busy");
        assert_eq!(generator.seen().len(), 1);
        assert!(began.elapsed() < Duration::from_secs(60));
    });
}

#[test]
fn a_failure_of_the_object_store_ends_the_run_and_does_not_count_against_the_backend() {
    run(async {
        let (first, second) = (ScriptedGenerator::always(Act::Storage), quick());
        let mut plan = Plan::with(first.clone(), 1);
        plan.backends.push((second.clone(), 1));
        plan.route = vec![0, 1];
        let world = plan.start();
        for _ in 0..3 {
            let id = world.accept(A, Tier::Fast, "a fox").await;
            assert_eq!(world.failure(id).await, "the disk is gone");
        }
        assert_eq!((first.seen().len(), second.seen().len()), (9, 0));
        let backends = world.system.backends();
        assert_eq!(
            (backends[0].health, backends[0].faults),
            (Health::Unknown, 0)
        );
    });
}

#[test]
fn an_image_that_cannot_be_stored_does_not_fail_over() {
    run(async {
        let (first, second) = (quick(), quick());
        let mut plan = Plan::with(first.clone(), 1);
        plan.backends.push((second.clone(), 1));
        plan.route = vec![0, 1];
        let world = plan.start();
        world.shelf.fill();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        assert_eq!(world.failure(id).await, "the shelf is full");
        assert_eq!((first.seen().len(), second.seen().len()), (1, 0));
        world.check();
    });
}

#[test]
fn only_invalid_images_count_as_invalid_images_of_the_backend() {
    enum Store {
        Rejects,
        Fails,
        Hangs,
    }
    run(async {
        for (store, invalid) in [(Store::Rejects, 1), (Store::Fails, 0), (Store::Hangs, 0)] {
            let plan = Plan::with(quick(), 1);
            let run_timeout = plan.run_timeout;
            let world = plan.start();
            match store {
                Store::Rejects => world.shelf.refuse(),
                Store::Fails => world.shelf.fill(),
                Store::Hangs => world.shelf.take(run_timeout * 2),
            }
            let job = world.accept(A, Tier::Fast, "a fox").await;
            let error = world.failure(job).await;
            let counted = &world.system.stats().backends[0].invalid_images;
            assert_eq!(counted.load(Ordering::Relaxed), invalid, "{error}");
            world.check();
        }
    });
}

/// The health and the consecutive failures of the only backend.
fn only_backend(world: &World) -> (Health, u32) {
    let backend = world.system.backends().swap_remove(0);
    (backend.health, backend.faults)
}

/// The backend has answered each time, so only the check of its image shows the fault.
#[test]
fn damaged_images_open_the_breaker_and_queued_jobs_wait() {
    run(async {
        let generator = ScriptedGenerator::new(vec![Act::DamagedImage; 6], Act::Image);
        let world = Plan::with(generator.clone(), 1).start();
        for account in [A, B, A, B, A] {
            let id = world.accept(account, Tier::Fast, "a fox").await;
            assert_eq!(world.failure(id).await, "it is not an image");
        }
        assert_eq!(only_backend(&world), (Health::Down, 5));
        let stats = &world.system.stats().backends[0];
        assert_eq!(
            stats.recent.figures(world.system.accounts().now()).failed,
            5
        );
        let probe = world.accept(B, Tier::Fast, "a fox").await;
        let waiting = world.accept(B, Tier::Fast, "a fox").await;
        world.failure(probe).await;
        assert_eq!(only_backend(&world), (Health::Down, 6));
        world.done(waiting).await;
        assert_eq!(only_backend(&world), (Health::Up, 0));
        let seen = generator.seen();
        let waits = [5, 6].map(|at: usize| (seen[at].at - seen[at - 1].at).as_secs());
        assert_eq!(waits, [10, 20]);
        world.check();
    });
}

#[test]
fn a_probe_with_an_image_ends_the_outage_before_the_image_is_uploaded() {
    run(async {
        let generator = ScriptedGenerator::new(vec![Act::DamagedImage; 5], Act::Image);
        let world = Plan::with(generator.clone(), 2).start();
        for account in [A, B, A, B, A] {
            let id = world.accept(account, Tier::Fast, "a fox").await;
            world.failure(id).await;
        }
        assert_eq!(only_backend(&world), (Health::Down, 5));
        world.shelf.take(Duration::from_secs(30));
        let jobs = [
            world.accept(A, Tier::Fast, "a fox").await,
            world.accept(B, Tier::Fast, "a fox").await,
        ];
        for id in jobs {
            world.done(id).await;
        }
        let seen = generator.seen();
        assert!(seen[6].at - seen[5].at < Duration::from_secs(1));
        world.check();
    });
}

#[test]
fn damaged_images_of_one_account_do_not_open_the_breaker_while_another_account_succeeds() {
    run(async {
        let mut acts = vec![Act::Image];
        acts.extend(vec![Act::DamagedImage; 8]);
        let world = Plan::with(ScriptedGenerator::new(acts, Act::Image), 1).start();
        let id = world.accept(B, Tier::Fast, "a fox").await;
        world.done(id).await;
        for _ in 0..8 {
            let id = world.accept(A, Tier::Fast, "a poisoned request").await;
            world.failure(id).await;
        }
        assert_eq!(only_backend(&world), (Health::Degraded, 8));
        world.check();
    });
}

#[test]
fn an_image_that_cannot_be_stored_is_a_success_of_its_backend() {
    run(async {
        for is_full in [true, false] {
            let faults = vec![Act::Transient(None); 4];
            let mut plan = Plan::with(ScriptedGenerator::new(faults, Act::Image), 1);
            plan.retries = 0;
            let run_timeout = plan.run_timeout;
            let world = plan.start();
            for _ in 0..4 {
                let id = world.accept(A, Tier::Fast, "a fox").await;
                world.failure(id).await;
            }
            assert_eq!(only_backend(&world), (Health::Degraded, 4));
            match is_full {
                true => world.shelf.fill(),
                false => world.shelf.take(run_timeout * 2),
            }
            let id = world.accept(A, Tier::Fast, "a fox").await;
            world.failure(id).await;
            assert_eq!(only_backend(&world), (Health::Up, 0));
            world.check();
        }
    });
}
