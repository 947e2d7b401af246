//! The conformance suite: the cases that every engine must pass.

mod rounds;

use crate::engine::{
    Commit, Direction, Engine, EngineError, Key, KeyRange, MAX_VALUE_BYTES, Value, commit_and_wait,
};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A case: its name, and a function that panics on a violation.
pub type Case = (&'static str, fn(&Arc<dyn Engine>));

macro_rules! cases {
    ($($case:path),* $(,)?) => {
        &[$((stringify!($case), $case)),*]
    };
}

/// Each case gets an empty engine.
pub const CASES: &[Case] = cases![
    a_written_value_is_read_back,
    a_removed_key_has_no_value,
    a_commit_is_whole,
    a_scan_returns_its_range_in_order_both_ways,
    a_scan_stops_at_its_limit,
    empty_crossed_and_open_ranges_are_scanned,
    keys_are_bytes_and_sort_as_such,
    commits_appear_in_the_order_of_submission,
    every_commit_of_many_threads_is_answered,
    an_empty_commit_is_answered,
    a_value_above_the_bound_is_refused_and_changes_nothing,
    a_closed_engine_refuses_commits,
    a_closed_engine_can_be_read_and_closed_again,
    many_keys_are_read_in_their_order,
    rounds::the_increments_of_many_rounds_add_up,
    rounds::the_reads_of_a_round_are_current,
    rounds::the_first_reads_of_a_round_that_holds_an_absent_key_are_current,
    rounds::a_limited_scan_of_a_round_does_not_count_the_absent_keys_that_it_holds,
    rounds::rounds_with_overlapping_keys_all_end,
    rounds::a_round_gets_the_further_reads_that_it_requests,
    rounds::a_decision_that_panics_changes_nothing,
    rounds::each_round_is_done_once,
    rounds::a_round_without_writes_is_done,
    rounds::other_reads_see_a_round_once_it_is_done,
    rounds::a_closed_engine_refuses_rounds,
];

fn put(key: &str, value: &str) -> (Key, Option<Value>) {
    (key.as_bytes().to_vec(), Some(value.as_bytes().to_vec()))
}

fn write(engine: &Arc<dyn Engine>, pairs: &[(&str, &str)]) {
    commit_and_wait(
        &**engine,
        pairs.iter().map(|(key, value)| put(key, value)).collect(),
    )
    .expect("commit");
}

fn get(engine: &Arc<dyn Engine>, key: &str) -> Option<String> {
    engine
        .get(key.as_bytes())
        .wait()
        .expect("get")
        .map(|value| String::from_utf8(value).expect("text"))
}

fn scan(
    engine: &Arc<dyn Engine>,
    range: KeyRange,
    direction: Direction,
    limit: usize,
) -> Vec<String> {
    let pairs = engine.scan(&range, direction, limit).wait().expect("scan");
    pairs
        .into_iter()
        .map(|(key, _)| String::from_utf8(key).expect("text"))
        .collect()
}

fn a_written_value_is_read_back(engine: &Arc<dyn Engine>) {
    assert_eq!(get(engine, "a"), None);
    write(engine, &[("a", "1")]);
    assert_eq!(get(engine, "a").as_deref(), Some("1"));
    write(engine, &[("a", "2")]);
    assert_eq!(get(engine, "a").as_deref(), Some("2"));
    write(engine, &[("b", "")]);
    assert_eq!(get(engine, "b").as_deref(), Some(""));
}

fn a_removed_key_has_no_value(engine: &Arc<dyn Engine>) {
    write(engine, &[("a", "1"), ("b", "1")]);
    commit_and_wait(
        &**engine,
        vec![(b"a".to_vec(), None), (b"never".to_vec(), None)],
    )
    .expect("commit");
    assert_eq!(
        (get(engine, "a"), get(engine, "b").as_deref()),
        (None, Some("1"))
    );
}

fn a_commit_is_whole(engine: &Arc<dyn Engine>) {
    write(engine, &[("from", "10"), ("to", "0")]);
    commit_and_wait(
        &**engine,
        vec![
            (b"from".to_vec(), None),
            put("to", "10"),
            put("log", "moved"),
        ],
    )
    .expect("commit");
    assert_eq!(
        (
            get(engine, "from"),
            get(engine, "to").as_deref(),
            get(engine, "log").as_deref()
        ),
        (None, Some("10"), Some("moved"))
    );
}

fn a_scan_returns_its_range_in_order_both_ways(engine: &Arc<dyn Engine>) {
    write(
        engine,
        &[
            ("p1", ""),
            ("p3", ""),
            ("p2", ""),
            ("o", ""),
            ("q", ""),
            ("p\u{7f}", ""),
        ],
    );
    let prefix = || KeyRange::prefix(b"p");
    assert_eq!(
        scan(engine, prefix(), Direction::Rising, 10),
        ["p1", "p2", "p3", "p\u{7f}"]
    );
    assert_eq!(
        scan(engine, prefix(), Direction::Falling, 10),
        ["p\u{7f}", "p3", "p2", "p1"]
    );
    assert_eq!(
        scan(
            engine,
            prefix().above(b"p1".to_vec()),
            Direction::Rising,
            10
        ),
        ["p2", "p3", "p\u{7f}"]
    );
    assert_eq!(
        scan(
            engine,
            prefix().below(b"p3".to_vec()),
            Direction::Falling,
            10
        ),
        ["p2", "p1"]
    );
    assert_eq!(
        scan(
            engine,
            prefix().above(b"p3".to_vec()).below(b"p2".to_vec()),
            Direction::Rising,
            10
        ),
        Vec::<String>::new()
    );
    assert_eq!(
        scan(
            engine,
            KeyRange::prefix(&[0xff, 0xff]),
            Direction::Rising,
            10
        ),
        Vec::<String>::new()
    );
}

fn a_scan_stops_at_its_limit(engine: &Arc<dyn Engine>) {
    write(engine, &[("k1", ""), ("k2", ""), ("k3", "")]);
    assert_eq!(
        scan(engine, KeyRange::prefix(b"k"), Direction::Rising, 2),
        ["k1", "k2"]
    );
    assert_eq!(
        scan(engine, KeyRange::prefix(b"k"), Direction::Falling, 1),
        ["k3"]
    );
    for direction in [Direction::Rising, Direction::Falling] {
        assert_eq!(
            scan(engine, KeyRange::prefix(b"k"), direction, 0),
            Vec::<String>::new()
        );
    }
}

fn empty_crossed_and_open_ranges_are_scanned(engine: &Arc<dyn Engine>) {
    write(engine, &[("a", ""), ("b", ""), ("c", "")]);
    let bound = |key: &str| key.as_bytes().to_vec();
    let (a, b, c) = (bound("a"), bound("b"), bound("c"));
    let cases = [
        (Included(b.clone()), Included(b.clone()), "b"),
        (Included(b.clone()), Excluded(b.clone()), ""),
        (Excluded(b.clone()), Included(b.clone()), ""),
        (Excluded(b.clone()), Excluded(b.clone()), ""),
        (Included(c.clone()), Included(a.clone()), ""),
        (Excluded(c.clone()), Excluded(a.clone()), ""),
        (Excluded(a.clone()), Excluded(c.clone()), "b"),
        (Unbounded, Excluded(b.clone()), "a"),
        (Excluded(b), Unbounded, "c"),
    ];
    for (from, to, expected) in cases {
        for direction in [Direction::Rising, Direction::Falling] {
            let range = KeyRange {
                from: from.clone(),
                to: to.clone(),
            };
            assert_eq!(
                scan(engine, range, direction, 9).concat(),
                expected,
                "{from:?} to {to:?}, {direction:?}"
            );
        }
    }
}

fn keys_are_bytes_and_sort_as_such(engine: &Arc<dyn Engine>) {
    let keys: [&[u8]; 6] = [
        b"p",
        b"p\0",
        b"p\0\0",
        b"p\xff",
        b"p\xff\xff",
        b"p\xff\xff\xff",
    ];
    let writes = keys.iter().rev().map(|key| (key.to_vec(), Some(vec![])));
    commit_and_wait(
        &**engine,
        writes.chain([put("q", ""), put("o", "")]).collect(),
    )
    .expect("commit");
    let all = KeyRange::prefix(b"");
    assert_eq!(
        engine
            .scan(&all, Direction::Falling, 99)
            .wait()
            .expect("scan")
            .len(),
        8
    );
    let found = |prefix: &[u8], direction| -> Vec<Key> {
        let pairs = engine.scan(&KeyRange::prefix(prefix), direction, 99);
        pairs
            .wait()
            .expect("scan")
            .into_iter()
            .map(|it| it.0)
            .collect()
    };
    assert_eq!(found(b"p", Direction::Rising), keys);
    assert_eq!(found(b"p\xff", Direction::Rising), keys[3..]);
    assert_eq!(found(b"p\0", Direction::Rising), keys[1..3]);
    let mut falling = found(b"p", Direction::Falling);
    falling.reverse();
    assert_eq!(falling, keys);
}

fn commits_appear_in_the_order_of_submission(engine: &Arc<dyn Engine>) {
    let (sender, receiver) = crossbeam_channel::unbounded();
    for number in 0..500u32 {
        let sender = sender.clone();
        engine.submit(Commit {
            writes: vec![put("last", &number.to_string())],
            done: Box::new(move |outcome| {
                sender
                    .send((number, outcome.is_ok()))
                    .expect("the test listens")
            }),
        });
    }
    drop(sender);
    let answered: Vec<_> = receiver.iter().collect();
    assert_eq!(
        answered,
        (0..500).map(|number| (number, true)).collect::<Vec<_>>()
    );
    assert_eq!(get(engine, "last").as_deref(), Some("499"));
}

fn every_commit_of_many_threads_is_answered(engine: &Arc<dyn Engine>) {
    let answered = Arc::new(AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let answered = Arc::clone(&answered);
            scope.spawn(move || {
                for number in 0..50 {
                    let key = format!("{thread}-{number}");
                    commit_and_wait(&**engine, vec![put(&key, "x")]).expect("commit");
                    assert_eq!(
                        get(engine, &key).as_deref(),
                        Some("x"),
                        "a commit is seen once it is answered"
                    );
                    answered.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
    });
    assert_eq!(answered.load(Ordering::SeqCst), 400);
    assert!(engine.stats().commits >= 400);
}

fn an_empty_commit_is_answered(engine: &Arc<dyn Engine>) {
    commit_and_wait(&**engine, Vec::new()).expect("commit");
}

fn a_value_above_the_bound_is_refused_and_changes_nothing(engine: &Arc<dyn Engine>) {
    let large = |bytes: usize| Some(vec![b'x'; bytes]);
    commit_and_wait(&**engine, vec![(b"fits".to_vec(), large(MAX_VALUE_BYTES))]).expect("commit");
    let refused = commit_and_wait(
        &**engine,
        vec![
            put("beside", "x"),
            (b"large".to_vec(), large(MAX_VALUE_BYTES + 1)),
        ],
    );
    assert!(
        matches!(refused, Err(EngineError::TooLarge { .. })),
        "{refused:?}"
    );
    assert_eq!(get(engine, "beside"), None);
    write(engine, &[("next", "1")]);
}

fn a_closed_engine_refuses_commits(engine: &Arc<dyn Engine>) {
    write(engine, &[("a", "1")]);
    engine.close();
    assert!(matches!(
        commit_and_wait(&**engine, vec![put("b", "1")]),
        Err(EngineError::Stopped)
    ));
}

fn a_closed_engine_can_be_read_and_closed_again(engine: &Arc<dyn Engine>) {
    write(engine, &[("a", "1")]);
    std::thread::scope(|scope| {
        scope.spawn(|| engine.close());
        engine.close();
    });
    engine.close();
    assert_eq!(get(engine, "a").as_deref(), Some("1"));
}

fn many_keys_are_read_in_their_order(engine: &Arc<dyn Engine>) {
    write(engine, &[("a", "1"), ("c", "3")]);
    let keys = ["c", "b", "a"].map(|key| key.as_bytes().to_vec());
    let values = engine.get_many(&keys).wait().expect("values");
    assert_eq!(values, [Some(b"3".to_vec()), None, Some(b"1".to_vec())]);
    assert!(engine.get_many(&[]).wait().expect("values").is_empty());
}
