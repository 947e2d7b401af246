//! Hostile calls of every group for a chosen time, beside well-behaved accounts.

use crate::callers::{GROUPS, Group, Status, Target};
use crate::world::{World, create_jobs};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The default duration. The load lasts longer if a group or a good account needs it.
const SECONDS: u64 = 5;
const HOSTILE: usize = 8;
/// Each good account creates at least this many jobs beside the hostile calls.
const GOOD_JOBS: usize = 5;
/// Hostile callers call at most this many groups for each job of a good account. A slow machine slows both.
const GROUPS_PER_JOB: usize = 100;

fn duration() -> Duration {
    let seconds = std::env::var("TINTYPE_ABUSE_SECONDS").ok();
    match seconds.map_or(SECONDS, |it| it.parse().expect("a number of seconds")) {
        0 => Duration::MAX,
        seconds => Duration::from_secs(seconds),
    }
}

/// Right for any call: the machine was too slow to read it within the time limit of a head.
const LATE: &[Status] = &[Some(408)];

/// What the hostile callers see.
#[derive(Default)]
struct Seen {
    groups: AtomicUsize,
    statuses: Mutex<BTreeMap<(&'static str, Status), usize>>,
}

impl Seen {
    fn add(&self, group: &Group, statuses: Vec<Status>) {
        self.groups.fetch_add(1, Ordering::Relaxed);
        let mut counts = self.statuses.lock();
        for status in statuses {
            *counts.entry((group.name, status)).or_insert(0) += 1;
        }
    }

    /// The wanted statuses that no call has had.
    fn missing(&self) -> Vec<(&'static str, Status)> {
        let counts = self.statuses.lock();
        let wanted = GROUPS
            .iter()
            .flat_map(|group| group.wanted.iter().map(|it| (group.name, *it)));
        wanted.filter(|it| !counts.contains_key(it)).collect()
    }

    /// Prints the counts and asserts that each group got what it wanted, and nothing wrong.
    fn assert_right(&self) {
        let mut wrong = Vec::new();
        for (key, count) in &*self.statuses.lock() {
            println!("{}: {count} times {:?}", key.0, key.1);
            let group = GROUPS.iter().find(|it| it.name == key.0).unwrap();
            let is_right = [group.wanted, group.right, LATE].concat().contains(&key.1);
            if !is_right {
                wrong.push(*key);
            }
        }
        assert_eq!(wrong, [], "wrong answers");
        assert_eq!(self.missing(), [], "answers that never came");
    }
}

#[test]
fn good_accounts_succeed_beside_hostile_calls_of_every_group() {
    let world = World::start(&[("LIMITS__FETCHES_PER_SECOND", "0")]);
    let good = [world.customer("100000"), world.customer("100000")];
    let bad = [world.customer("100000"), world.customer("0")];
    let hook = serde_json::json!({"url": world.origin.url("/slow.png")});
    world.admin(&format!("/accounts/{}/webhooks", bad[0].account), &hook);
    let over = AtomicBool::new(false);
    let seen = Seen::default();
    let jobs = [AtomicUsize::new(0), AtomicUsize::new(0)];
    let fewest = || {
        jobs.iter()
            .map(|it| it.load(Ordering::Relaxed))
            .min()
            .unwrap()
    };
    let groups = || seen.groups.load(Ordering::Relaxed);
    let (began, lasts) = (Instant::now(), duration());
    let observations = thread::scope(|scope| {
        let (process, over, world, bad, seen) = (&world.process, &over, &world, &bad, &seen);
        let behaving = good.iter().zip(&jobs);
        let behaving: Vec<_> = behaving
            .map(|(it, made)| scope.spawn(move || create_jobs(process, it, made, over)))
            .collect();
        let hostile: Vec<_> = (0..HOSTILE)
            .map(|at| {
                scope.spawn(move || {
                    let target = Target::new(world, &bad[0], Some(&bad[1]));
                    // Each thread starts with another group, so that the groups overlap.
                    for group in GROUPS.iter().cycle().skip(at * 3) {
                        if over.load(Ordering::Relaxed) {
                            return;
                        }
                        seen.add(group, (group.call)(&target));
                    }
                })
            })
            .collect();
        let enough = || fewest() >= GOOD_JOBS && seen.missing().is_empty();
        // A service that serves no good account, or never gives a wanted answer, ends the load too.
        let extended = || !enough() && groups() < GROUPS_PER_JOB * GOOD_JOBS;
        let ended = || {
            hostile.iter().any(|it| it.is_finished()) || behaving.iter().any(|it| it.is_finished())
        };
        while (began.elapsed() < lasts || extended()) && !ended() {
            thread::sleep(Duration::from_millis(100));
        }
        over.store(true, Ordering::Relaxed);
        for thread in hostile {
            thread.join().unwrap();
        }
        let behaving = behaving.into_iter().map(|it| it.join().unwrap());
        behaving.collect::<Vec<_>>()
    });
    println!(
        "{} groups beside {} jobs or more of each good account",
        groups(),
        fewest()
    );
    seen.assert_right();
    for it in observations {
        it.assert_all_succeeded("a good account");
    }
    assert!(
        groups() <= GROUPS_PER_JOB * fewest(),
        "good accounts wait too long"
    );
    world.end();
}
