//! The worst case for memory: hundreds of concurrent calls whose images are slow, or enormous once decoded.

use crate::callers::{Target, send};
use crate::world::{Observations, World, create_jobs};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const CALLS: usize = 200;
/// However slow the machine is, each call has an answer.
const PATIENCE: Duration = Duration::from_secs(120);
/// Calls per key: its burst of fetches.
const PER_KEY: usize = 20;

#[test]
fn two_hundred_concurrent_hostile_calls_use_little_memory_and_fail_no_other_call() {
    let world = World::start(&[]);
    let good = world.customer("100000");
    let keys: Vec<_> = (0..CALLS / PER_KEY)
        .map(|_| world.customer("100"))
        .collect();
    let (over, made) = (AtomicBool::new(false), AtomicUsize::new(0));
    let seen = thread::scope(|scope| {
        let process = &world.process;
        let (over, made, good) = (&over, &made, &good);
        let behaving = scope.spawn(move || create_jobs(process, good, made, over));
        let hostile: Vec<_> = (0..CALLS)
            .map(|at| {
                let target = Target::new(&world, &keys[at / PER_KEY], None);
                scope.spawn(move || match at % 4 {
                    0 | 1 => send(&target.of_images("/slow.png", 14, true), PATIENCE),
                    2 => send(&target.of_images("/huge.png", 14, false), PATIENCE),
                    _ => send(&target.of_images("/wide.png", 3, false), PATIENCE),
                })
            })
            .collect();
        let mut statuses = std::collections::BTreeMap::new();
        for call in hostile {
            *statuses.entry(call.join().unwrap()).or_insert(0) += 1;
        }
        println!("hostile calls by status: {statuses:?}");
        over.store(true, Ordering::Relaxed);
        let seen: Observations = behaving.join().unwrap();
        for wanted in [422, 503] {
            assert!(statuses.contains_key(&Some(wanted)), "no {wanted}");
        }
        // An origin that is too slow is a 502, and so many callers may be too slow with their requests.
        statuses.retain(|it, _| !matches!(it, Some(202 | 408 | 422 | 502 | 503)));
        assert!(statuses.is_empty(), "wrong answers: {statuses:?}");
        seen
    });
    seen.assert_all_succeeded("an account beside 200 hostile calls");
    world.end();
}
