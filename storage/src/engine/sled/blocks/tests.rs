//! Blocks against a map, in the middle of a cut, and beside readers.

use super::super::super::{Direction, KeyRange, Value};
use super::super::memtable::Changes;
use super::block::{self, StoredValue};
use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::{ControlFlow, RangeBounds as _};
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Regions of records that are cut beside readers.
const ROUNDS: u32 = 400;

fn store() -> (::sled::Db, BlockTree) {
    let config = ::sled::Config::new().temporary(true).flush_every_ms(None);
    let db = config.open().expect("open");
    let tree = db.open_tree(b"records").expect("tree");
    (db, BlockTree::new(tree))
}

fn apply(blocks: &BlockTree, changes: &Changes) {
    let mut changes = changes.iter().peekable();
    while changes.peek().is_some() {
        blocks.merge(&mut changes).expect("merge");
    }
}

fn records(blocks: &BlockTree, range: &KeyRange, direction: Direction) -> Vec<(Key, Value)> {
    let mut found = Vec::new();
    let visit = |key: Key, value: StoredValue<'_>| {
        let value = blocks.value(&key, value)?;
        found.push((key, value));
        Ok(ControlFlow::Continue(()))
    };
    blocks.scan(range, direction, visit).expect("read");
    found
}

fn all(blocks: &BlockTree) -> BTreeMap<Key, Value> {
    let all = records(blocks, &KeyRange::prefix(b""), Direction::Rising);
    all.into_iter().collect()
}

/// Entries in sled by their first byte.
fn entries(blocks: &BlockTree, prefix: u8) -> usize {
    blocks.tree.scan_prefix([prefix]).count()
}

fn key() -> impl Strategy<Value = Key> {
    let table = prop::sample::select(vec![b'a', b'b']);
    (table, 0u8..4, 0u16..60).prop_map(|(table, account, number)| {
        [&[table, account][..], &[7; 12], &number.to_be_bytes()].concat()
    })
}

fn value() -> impl Strategy<Value = Option<Value>> {
    let length = prop_oneof![4 => 0usize..400, 1 => 400usize..6_000, 1 => 6_000usize..16_384];
    let value = (any::<u8>(), length).prop_map(|(byte, length)| vec![byte; length]);
    prop_oneof![3 => value.prop_map(Some), 1 => Just(None)]
}

fn bound() -> impl Strategy<Value = Bound<Key>> {
    prop_oneof![
        key().prop_map(Bound::Included),
        key().prop_map(Bound::Excluded),
        Just(Bound::Unbounded),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn blocks_contain_the_same_records_as_a_map(
        rounds in prop::collection::vec(prop::collection::btree_map(key(), value(), 1..60), 1..8),
        ranges in prop::collection::vec((bound(), bound()), 8),
    ) {
        let (_db, blocks) = store();
        let mut model: BTreeMap<Key, Value> = BTreeMap::new();
        for changes in rounds {
            apply(&blocks, &changes);
            for (key, value) in changes {
                match value {
                    Some(value) => model.insert(key, value),
                    None => model.remove(&key),
                };
            }
            prop_assert_eq!(&all(&blocks), &model);
        }
        for (from, to) in ranges {
            let range = KeyRange { from, to };
            if range.is_empty() {
                continue;
            }
            let bounds = (range.from.clone(), range.to.clone());
            let within = model.iter().filter(|(key, _)| bounds.contains(*key));
            let mut within: Vec<_> = within.map(|(key, value)| (key.clone(), value.clone())).collect();
            prop_assert_eq!(&records(&blocks, &range, Direction::Rising), &within);
            within.reverse();
            prop_assert_eq!(&records(&blocks, &range, Direction::Falling), &within);
        }
        for (key, value) in &model {
            let found = blocks.get(key).expect("read");
            prop_assert_eq!(found.as_ref(), Some(value));
            prop_assert_eq!(blocks.get(&[&key[..], b"x"].concat()).expect("read"), None);
        }
        let none = model.keys().map(|key| (key.clone(), None)).collect();
        apply(&blocks, &none);
        prop_assert_eq!((entries(&blocks, BLOCKS), entries(&blocks, AFTER_BLOCKS)), (0, 0));
    }

    #[test]
    fn no_damaged_block_makes_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), key in key()) {
        // Either is right: some bytes happen to be a block.
        let _ = block::decode(&key, &bytes, |_| true, |_| true);
        let _ = block::find(&key, &bytes, &key);
    }
}

fn numbered(numbers: impl Iterator<Item = u32>, byte: u8) -> Changes {
    let change = |number: u32| (number.to_be_bytes().to_vec(), Some(vec![byte; 400]));
    numbers.map(change).collect()
}

#[test]
fn appended_records_share_full_blocks() {
    let (_db, blocks) = store();
    for round in 0..100 {
        apply(&blocks, &numbered(round * 10..round * 10 + 10, 1));
    }
    // Five records of 400 bytes in each.
    assert_eq!(entries(&blocks, BLOCKS), 200);
}

/// A crash between the two writes of a cut leaves the moved records in both blocks.
#[test]
fn records_that_a_crash_left_in_two_blocks_count_once_and_stay_deleted() {
    let (_db, blocks) = store();
    apply(&blocks, &numbered(0..4, 1));
    let left = blocks
        .last_block(Bound::Excluded(vec![AFTER_BLOCKS]))
        .expect("read")
        .expect("a block");
    let moved = left
        .records_below(None, |_| true)
        .expect("a block")
        .split_off(2);
    let right = moved[0].key.to_vec();
    let bytes = block::encode(&right, &moved).expect("encode");
    blocks.tree.insert(sled_key(&right), bytes).expect("insert");
    let expect = |changes: &Changes| {
        let expected: Vec<_> = changes
            .iter()
            .filter_map(|(key, value)| Some((key.clone(), value.clone()?)))
            .collect();
        assert_eq!(all(&blocks).into_iter().collect::<Vec<_>>(), expected);
        let mut falling = records(&blocks, &KeyRange::prefix(b""), Direction::Falling);
        falling.reverse();
        assert_eq!(falling, expected);
    };
    expect(&numbered(0..4, 1));
    let mut changed = numbered(0..4, 1);
    changed.extend(numbered(3..4, 2));
    apply(&blocks, &numbered(3..4, 2));
    expect(&changed);
    let deleted = (2u32..4)
        .map(|it| (it.to_be_bytes().to_vec(), None))
        .collect();
    apply(&blocks, &deleted);
    assert_eq!(entries(&blocks, BLOCKS), 1);
    expect(&numbered(0..2, 1));
}

/// Between the two writes of a cut, a reader and a crash find moved records in both blocks.
#[test]
fn the_right_part_of_a_split_block_is_written_first() {
    let (_db, blocks) = store();
    apply(&blocks, &numbered((0..10).step_by(2), 1));
    let mut writes = blocks.tree.watch_prefix([BLOCKS]);
    apply(&blocks, &numbered((1..10).step_by(2), 2));
    let mut sled_keys = Vec::new();
    while let Ok(event) = writes.next_timeout(Duration::ZERO) {
        sled_keys.push(event.key().to_vec());
    }
    assert_eq!(sled_keys.len(), entries(&blocks, BLOCKS));
    assert!(sled_keys.is_sorted_by(|a, b| a > b), "{sled_keys:?}");
}

#[test]
fn readers_miss_no_record_while_blocks_are_split() {
    let (_db, blocks) = store();
    let blocks = &blocks;
    let region = &AtomicU32::new(0);
    let numbers = |region: u32| region * 400..region * 400 + 400;
    // Every tenth record of a region is there before readers look at it. Records between them cut its blocks.
    let (stays, others): (Vec<_>, Vec<_>) = (0..ROUNDS)
        .map(|region| {
            let (stays, others): (Vec<_>, Vec<_>) = numbers(region).partition(|it| it % 10 == 0);
            (
                numbered(stays.into_iter(), 1),
                numbered(others.into_iter(), 2),
            )
        })
        .unzip();
    let stays = &stays;
    let read = move |direction: Direction| {
        while region.load(Ordering::Acquire) < ROUNDS {
            let current = region.load(Ordering::Acquire).min(ROUNDS - 1);
            let stays = &stays[current as usize];
            let begin = numbers(current).start.to_be_bytes().to_vec();
            let range = KeyRange {
                from: Bound::Included(begin),
                to: Bound::Unbounded,
            };
            let mut keys: Vec<Key> = records(blocks, &range, direction)
                .into_iter()
                .map(|(key, _)| key)
                .collect();
            if direction == Direction::Falling {
                keys.reverse();
            }
            assert!(keys.is_sorted_by(|a, b| a < b), "a record was read twice");
            let there = keys.iter().filter(|it| stays.contains_key(*it)).count();
            assert_eq!(there, stays.len(), "{direction:?}");
            for key in stays.keys() {
                assert!(blocks.get(key).expect("read").is_some());
            }
        }
    };
    apply(blocks, &stays[0]);
    std::thread::scope(|scope| {
        let readers = [Direction::Rising, Direction::Falling]
            .map(|direction| scope.spawn(move || read(direction)));
        for (number, others) in others.iter().enumerate() {
            apply(blocks, &stays[number]);
            region.store(number as u32, Ordering::Release);
            apply(blocks, others);
        }
        region.store(ROUNDS, Ordering::Release);
        for reader in readers {
            reader.join().expect("the reader");
        }
    });
}

/// A reader may look for a record of one part in a leaf before that part is there, and then find a part to its left in the next leaf.
#[test]
fn each_part_of_a_cut_is_counted_after_the_parts_to_its_right() {
    let (_db, blocks) = store();
    let counted = || blocks.cuts.load(Ordering::Acquire);
    apply(&blocks, &numbered(0..4, 1));
    assert_eq!((entries(&blocks, BLOCKS), counted()), (1, 0));
    apply(&blocks, &numbered(4..40, 1));
    let parts = entries(&blocks, BLOCKS) as u64;
    assert!(parts > 2, "{parts}");
    assert_eq!(counted(), parts - 1);
}

/// sled never syncs the files to which it writes leaves of more than 128 KiB.
#[test]
fn no_size_of_records_makes_sled_write_a_separate_file() {
    let directory = tempfile::tempdir().expect("directory");
    let config = ::sled::Config::new()
        .path(directory.path())
        .flush_every_ms(None);
    let db = config.open().expect("open");
    let blocks = BlockTree::new(db.open_tree(b"records").expect("tree"));
    for length in [
        1_000, 2_000, 3_000, 5_000, 5_500, 5_628, 5_629, 8_500, 11_000, 16_384,
    ] {
        for round in 0..4u32 {
            let number = |it: u32| it.wrapping_mul(0x9e37_79b1) % 1_000;
            let key = |it: u32| [&[b'a'][..], &number(it).to_be_bytes()].concat();
            let records =
                (round * 60..round * 60 + 60).map(|it| (key(it), Some(vec![round as u8; length])));
            apply(&blocks, &records.collect());
        }
    }
    db.flush().expect("flush");
    let separate = std::fs::read_dir(directory.path().join("blobs")).expect("sled's directory");
    assert_eq!(separate.count(), 0);
}

#[test]
fn a_large_value_that_is_replaced_during_a_read_is_detected() {
    let (_db, blocks) = store();
    let value = |byte: u8| Some(vec![byte; 12_000]);
    let change = |byte| Changes::from([(b"a".to_vec(), value(byte))]);
    apply(&blocks, &change(1));
    let before = blocks
        .last_block(Bound::Excluded(vec![AFTER_BLOCKS]))
        .expect("read")
        .expect("a block");
    let Some(StoredValue::Large(large)) = block::find(b"a", &before.bytes, b"a").expect("a block")
    else {
        panic!("12,000 bytes are large");
    };
    assert_eq!(blocks.read_pieces(b"a", large).expect("read"), value(1));
    apply(&blocks, &change(1));
    assert_eq!(blocks.read_pieces(b"a", large).expect("read"), value(1));
    apply(&blocks, &change(2));
    assert_eq!(blocks.read_pieces(b"a", large).expect("read"), None);
    assert_eq!(blocks.get(b"a").expect("read"), value(2));
    assert_eq!(entries(&blocks, AFTER_BLOCKS), 3);
}
