//! Conformance cases for rounds.

use super::{get, scan, write};
use crate::engine::{
    Direction, Engine, EngineError, Key, KeyRange, ReadRequest, ReadResults, RoundStep, Value,
};
use crate::testing::rounds::{Outcome, increment, number, put, round_of};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// Starts a round that locks and reads `keys`.
fn begin(
    engine: &Arc<dyn Engine>,
    keys: &[&str],
    decide: impl FnMut(&ReadResults) -> RoundStep + Send + 'static,
) -> Receiver<Outcome> {
    round_of(keys, decide).start(engine)
}

fn run(
    engine: &Arc<dyn Engine>,
    keys: &[&str],
    decide: impl FnMut(&ReadResults) -> RoundStep + Send + 'static,
) -> Outcome {
    round_of(keys, decide).run(engine)
}

pub fn the_increments_of_many_rounds_add_up(engine: &Arc<dyn Engine>) {
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let rounds: Vec<_> = (0..125)
                    .map(|_| begin(engine, &["n"], increment(&["n"])))
                    .collect();
                for outcome in rounds {
                    outcome.recv().expect("an outcome").expect("a commit");
                }
            });
        }
    });
    assert_eq!(get(engine, "n").as_deref(), Some("1000"));
}

pub fn the_reads_of_a_round_are_current(engine: &Arc<dyn Engine>) {
    let log = || ReadRequest::Scan(KeyRange::prefix(b"log"), Direction::Falling, 1);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let decide = move |reads: &ReadResults| {
                        let Some(lines) = reads.pairs(&log()) else {
                            return RoundStep::Read(vec![log()]);
                        };
                        let count = number(reads, "n");
                        let newest = lines.first().map(|(key, _)| key.clone());
                        let expected = (count > 0).then(|| format!("log{count:04}").into_bytes());
                        assert_eq!(newest, expected);
                        let line = put(&format!("log{:04}", count + 1), count);
                        RoundStep::Write(vec![put("n", count + 1), line])
                    };
                    run(engine, &["n"], decide).expect("a commit");
                }
            });
        }
    });
    assert_eq!(get(engine, "n").as_deref(), Some("200"));
    let lines = scan(engine, KeyRange::prefix(b"log"), Direction::Rising, 999);
    assert_eq!(lines.len(), 200);
}

pub fn the_first_reads_of_a_round_that_holds_an_absent_key_are_current(engine: &Arc<dyn Engine>) {
    let all = || ReadRequest::Scan(KeyRange::prefix(b""), Direction::Rising, 999);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let decide = move |reads: &ReadResults| {
                        let lines = reads.pairs(&all()).expect("it was asked for");
                        let is_line = |(key, _): &(Key, Value)| key.starts_with(b"log");
                        assert!(lines.iter().all(is_line), "the key is absent");
                        let count = u32::try_from(lines.len()).expect("a small number");
                        RoundStep::Write(vec![put(&format!("log{count:04}"), count)])
                    };
                    let round = round_of(&["absent"], decide).reading(vec![all()]);
                    round.run(engine).expect("a commit");
                }
            });
        }
    });
    let lines = scan(engine, KeyRange::prefix(b""), Direction::Rising, 999);
    assert_eq!(lines.len(), 100);
    assert_eq!(get(engine, "absent"), None);
}

pub fn a_limited_scan_of_a_round_does_not_count_the_absent_keys_that_it_holds(
    engine: &Arc<dyn Engine>,
) {
    write(engine, &[("b1", ""), ("b2", ""), ("b3", "")]);
    let first = |count| ReadRequest::Scan(KeyRange::prefix(b""), Direction::Rising, count);
    let decide = move |reads: &ReadResults| {
        let keys = |count| {
            let pairs = reads.pairs(&first(count))?;
            let keys = pairs.iter().map(|(key, _)| key.as_slice());
            Some(keys.collect::<Vec<_>>().concat())
        };
        assert_eq!(keys(1).as_deref(), Some(&b"b1"[..]));
        match keys(2) {
            None => RoundStep::Read(vec![first(2)]),
            Some(keys) => {
                assert_eq!(keys, b"b1b2");
                RoundStep::Write(Vec::new())
            }
        }
    };
    let round = round_of(&["a1", "a2"], decide).reading(vec![first(1)]);
    round.run(engine).expect("a decision");
}

pub fn rounds_with_overlapping_keys_all_end(engine: &Arc<dyn Engine>) {
    const KEYS: [&[&str]; 5] = [&["a", "b"], &["b", "a"], &["c", "b"], &["a", "c"], &["b"]];
    std::thread::scope(|scope| {
        for keys in KEYS {
            scope.spawn(move || {
                let rounds: Vec<_> = (0..40)
                    .map(|_| begin(engine, keys, increment(keys)))
                    .collect();
                for outcome in rounds {
                    outcome.recv().expect("an outcome").expect("a commit");
                }
            });
        }
    });
    let numbers = ["a", "b", "c"].map(|key| get(engine, key));
    assert_eq!(numbers.map(Option::unwrap_or_default), ["120", "160", "80"]);
}

pub fn a_round_gets_the_further_reads_that_it_requests(engine: &Arc<dyn Engine>) {
    write(engine, &[("a", "7"), ("b7", "3")]);
    let decide = |reads: &ReadResults| {
        let other = format!("b{}", number(reads, "a"));
        match reads.value(other.as_bytes()) {
            None => RoundStep::Read(vec![ReadRequest::Get(other.into_bytes())]),
            Some(_) => RoundStep::Write(vec![put("sum", 7 + number(reads, &other))]),
        }
    };
    run(engine, &["a"], decide).expect("a commit");
    assert_eq!(get(engine, "sum").as_deref(), Some("10"));
}

pub fn a_decision_that_panics_changes_nothing(engine: &Arc<dyn Engine>) {
    write(engine, &[("n", "1")]);
    let refused = run(engine, &["n"], |_| panic!("on purpose"));
    assert!(matches!(refused, Err(EngineError::Panicked)), "{refused:?}");
    assert_eq!(get(engine, "n").as_deref(), Some("1"));
    run(engine, &["n"], increment(&["n"])).expect("the key is free again");
    assert_eq!(get(engine, "n").as_deref(), Some("2"));
}

pub fn each_round_is_done_once(engine: &Arc<dyn Engine>) {
    let large = |_: &ReadResults| {
        let value = vec![b'x'; crate::engine::MAX_VALUE_BYTES + 1];
        RoundStep::Write(vec![(b"n".to_vec(), Some(value))])
    };
    let rounds = [
        begin(engine, &["n"], increment(&["n"])),
        begin(engine, &["n"], |_| RoundStep::Write(Vec::new())),
        begin(engine, &["n"], large),
        begin(engine, &["n"], |_| panic!("on purpose")),
        begin(engine, &["n"], increment(&["n"])),
    ];
    let outcomes = rounds.map(|round| round.iter().map(|it| it.is_ok()).collect::<Vec<_>>());
    let expected = [true, true, false, false, true].map(|is_ok| vec![is_ok]);
    assert_eq!(outcomes, expected);
    assert_eq!(get(engine, "n").as_deref(), Some("2"));
}

pub fn a_round_without_writes_is_done(engine: &Arc<dyn Engine>) {
    write(engine, &[("n", "1")]);
    run(engine, &["n"], |_| RoundStep::Write(Vec::new())).expect("done");
    run(engine, &[], |_| RoundStep::Write(Vec::new())).expect("done");
    assert_eq!(get(engine, "n").as_deref(), Some("1"));
}

pub fn other_reads_see_a_round_once_it_is_done(engine: &Arc<dyn Engine>) {
    for expected in 1..=50 {
        run(engine, &["n"], increment(&["n"])).expect("a commit");
        assert_eq!(get(engine, "n"), Some(expected.to_string()));
    }
}

pub fn a_closed_engine_refuses_rounds(engine: &Arc<dyn Engine>) {
    engine.close();
    let refused = run(engine, &["n"], increment(&["n"]));
    assert!(matches!(refused, Err(EngineError::Stopped)), "{refused:?}");
    assert_eq!(get(engine, "n"), None);
}
