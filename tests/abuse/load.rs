//! Hostile calls of every group for a chosen time, beside well-behaved accounts.

use crate::callers::{GROUPS, Target};
use crate::world::{World, create_jobs};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The default, enough for each group to run.
const SECONDS: u64 = 5;
const HOSTILE: usize = 8;

fn duration() -> Duration {
    let seconds = std::env::var("TINTYPE_ABUSE_SECONDS").ok();
    match seconds.map_or(SECONDS, |it| it.parse().expect("a number of seconds")) {
        0 => Duration::MAX,
        seconds => Duration::from_secs(seconds),
    }
}

#[test]
fn good_accounts_succeed_beside_hostile_calls_of_every_group() {
    let world = World::start();
    let good = [world.customer("100000"), world.customer("100000")];
    let bad = [world.customer("100"), world.customer("0")];
    let hook = serde_json::json!({"url": world.origin.url("/slow.png")});
    world.admin(&format!("/accounts/{}/webhooks", bad[0].account), &hook);
    let over = AtomicBool::new(false);
    let (began, lasts) = (Instant::now(), duration());
    let seen = thread::scope(|scope| {
        let (process, over, world, bad) = (&world.process, &over, &world, &bad);
        let behaving = good.each_ref();
        let behaving = behaving.map(|it| scope.spawn(move || create_jobs(process, it, over)));
        let hostile: Vec<_> = (0..HOSTILE)
            .map(|at| {
                scope.spawn(move || {
                    let target = Target::new(world, &bad[0], Some(&bad[1]));
                    let mut statuses = BTreeMap::new();
                    // Each thread starts with another group, so that the groups overlap.
                    for (name, call) in GROUPS.iter().cycle().skip(at * 3) {
                        if over.load(Ordering::Relaxed) {
                            return statuses;
                        }
                        for status in call(&target) {
                            *statuses.entry((*name, status)).or_insert(0_u64) += 1;
                        }
                    }
                    statuses
                })
            })
            .collect();
        while began.elapsed() < lasts && !hostile.iter().any(|it| it.is_finished()) {
            thread::sleep(Duration::from_millis(100));
        }
        over.store(true, Ordering::Relaxed);
        let mut statuses = BTreeMap::new();
        for thread in hostile {
            for (key, count) in thread.join().unwrap() {
                *statuses.entry(key).or_insert(0) += count;
            }
        }
        for ((name, status), count) in &statuses {
            println!("{name}: {count} times {status:?}");
            assert_ne!(*status, Some(500), "{name}");
        }
        behaving.map(|it| it.join().unwrap())
    });
    for seen in seen {
        seen.assert_all_succeeded("a good account");
    }
    world.end();
}
