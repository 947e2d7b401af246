//! Tries, waits and the way to the next back end, by a clock that jumps.

use crate::generators::{Act, Scripted};
use crate::world::{A, Plan, quick, run};
use std::time::Duration;
use tintype_actors::backends::Health;
use tintype_storage::domain::tier::Tier;
use tokio::time::Instant;

/// Time between the orders that a generator has seen.
fn waits(generator: &Scripted) -> Vec<Duration> {
    let seen = generator.seen();
    seen.windows(2).map(|two| two[1].at - two[0].at).collect()
}

#[test]
fn a_transient_fault_is_tried_again_after_a_growing_wait() {
    run(async {
        let generator = Scripted::new([Act::Transient(None), Act::Transient(None)], Act::Picture);
        let world = Plan::with(generator.clone(), 1).start();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        world.done(id).await;
        let waits = waits(&generator);
        let bounds = [(250, 510), (500, 1_010)];
        assert_eq!(waits.len(), bounds.len());
        for (wait, (least, most)) in waits.iter().zip(bounds) {
            assert!((least..=most).contains(&wait.as_millis()), "{waits:?}");
        }
        assert_eq!(world.money(A), ["99.961", "0.00"], "paid once");
        world.check();
    });
}

#[test]
fn what_the_back_end_asks_for_is_not_undercut() {
    run(async {
        let asked = Some(Duration::from_secs(7));
        let generator = Scripted::new([Act::Transient(asked)], Act::Picture);
        let world = Plan::with(generator.clone(), 1).start();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        world.done(id).await;
        let wait = waits(&generator)[0];
        assert!((7_000..=7_010).contains(&wait.as_millis()), "{wait:?}");
    });
}

#[test]
fn after_the_last_try_comes_the_next_back_end_with_its_own_model() {
    run(async {
        let (first, second) = (Scripted::always(Act::Transient(None)), quick());
        let mut plan = Plan::with(first.clone(), 1);
        plan.backends.push((second.clone(), 1));
        plan.route = vec![0, 1];
        let world = plan.start();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        world.done(id).await;
        let models = |generator: &Scripted| -> Vec<_> {
            let seen = generator.seen().into_iter();
            seen.map(|seen| (seen.job, seen.model)).collect()
        };
        assert_eq!(models(&first), vec![(id, Some("model-0".into())); 3]);
        assert_eq!(models(&second), [(id, Some("model-1".into()))]);
        assert_eq!(world.money(A), ["99.961", "0.00"], "paid once");
        world.check();
    });
}

#[test]
fn what_is_broken_is_left_at_once_and_the_last_reason_is_told() {
    run(async {
        let first = Scripted::always(Act::Broken);
        let second = Scripted::always(Act::Transient(None));
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
fn a_try_without_an_answer_is_given_up_and_repeated() {
    run(async {
        let generator = Scripted::new([Act::Hang], Act::Picture);
        let mut plan = Plan::with(generator.clone(), 1);
        plan.try_timeout = Duration::from_secs(20);
        let world = plan.start();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        world.done(id).await;
        assert!(waits(&generator)[0] >= Duration::from_secs(20));
        assert_eq!(generator.running(), 0, "what was given up is gone");
    });
}

#[test]
fn who_asks_to_be_left_alone_for_long_is_left_to_another_or_else_waited_for() {
    run(async {
        let minutes = Duration::from_secs(180);
        let busy = || Scripted::new([Act::Transient(Some(minutes))], Act::Picture);
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
fn a_wait_that_is_longer_than_the_run_has_time_is_not_begun() {
    run(async {
        let asked = Act::Transient(Some(Duration::from_secs(3_600)));
        let generator = Scripted::always(asked);
        let world = Plan::with(generator.clone(), 1).start();
        let began = Instant::now();
        let id = world.accept(A, Tier::Fast, "a fox").await;
        assert_eq!(world.failure(id).await, "it is busy");
        assert_eq!(generator.seen().len(), 1);
        assert!(began.elapsed() < Duration::from_secs(60));
    });
}

#[test]
fn a_fault_of_our_own_store_ends_the_run_and_is_no_back_ends() {
    run(async {
        let (first, second) = (Scripted::always(Act::Storage), quick());
        let mut plan = Plan::with(first.clone(), 1);
        plan.backends.push((second.clone(), 1));
        plan.route = vec![0, 1];
        let world = plan.start();
        for _ in 0..3 {
            let id = world.accept(A, Tier::Fast, "a fox").await;
            assert_eq!(world.failure(id).await, "the disk is gone");
        }
        assert_eq!((first.seen().len(), second.seen().len()), (9, 0));
        let told = world.system.backends();
        assert_eq!((told[0].health, told[0].faults), (Health::Unknown, 0));
    });
}

#[test]
fn a_picture_that_cannot_be_stored_is_not_made_again_elsewhere() {
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
