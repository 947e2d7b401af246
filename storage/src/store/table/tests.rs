//! A record of a made-up earlier format is read, checked, exported and replaced like one of the current format.

use super::{AnyTable, Table};
use crate::domain::ids::AccountId;
use crate::engine::{Wait as _, commit_and_wait};
use crate::store::codec::Earlier;
use crate::store::{All, Store, StoreError};
use crate::testing::memory::MemoryEngine;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use uuid::Uuid;

/// The current format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Payer {
    id: AccountId,
    name: String,
    active: bool,
}

/// Before a payer could be inactive.
#[derive(Serialize, Deserialize)]
struct Payer0 {
    id: AccountId,
    name: String,
}

const EARLIER: Earlier<Payer> = &[(0, |bytes| {
    let (Payer0 { id, name }, rest) = postcard::take_from_bytes(bytes)?;
    let active = true;
    Ok((Payer { id, name, active }, rest))
})];

const CURRENT_VERSION: u8 = 1;

static PAYERS: Table<AccountId, Payer> = Table::<AccountId, Payer>::new(b"a", "payer")
    .fits(|id, it| it.id == *id)
    .earlier(EARLIER);

const ID: AccountId = AccountId(Uuid::from_u128(7));

fn payer() -> Payer {
    Payer {
        id: ID,
        name: "Ada".into(),
        active: true,
    }
}

fn format_0() -> Vec<u8> {
    let Payer { id, name, .. } = payer();
    postcard::to_extend(&Payer0 { id, name }, vec![0]).expect("encoded")
}

/// A store with one record of format 0.
fn store() -> Store {
    let engine = MemoryEngine::new();
    commit_and_wait(&engine, vec![(PAYERS.key(&ID), Some(format_0()))]).expect("commit");
    Store::new(Arc::new(engine))
}

fn stored(store: &Store) -> Vec<u8> {
    let value = store.engine().get(&PAYERS.key(&ID)).wait();
    value.expect("read").expect("a value")
}

#[test]
fn a_record_of_an_earlier_format_is_read_and_fits_its_key() {
    let store = store();
    assert_eq!(PAYERS.get(&store, &ID).wait().expect("read"), Some(payer()));
    let mut visited = Vec::new();
    let read = PAYERS.each(&store, &All, |id, it| {
        visited.push((id, it));
        Ok(())
    });
    read.wait().expect("read");
    assert_eq!(visited, [(ID, payer())]);
    let (other, payers) = (AccountId(Uuid::from_u128(8)), &PAYERS as &dyn AnyTable);
    for (id, expected) in [(ID, true), (other, false)] {
        let fits = payers.fits(&PAYERS.key(&id), &format_0());
        assert_eq!(fits.expect("a record"), expected, "{id}");
    }
}

#[test]
fn a_record_of_an_earlier_format_is_exported_in_the_current_one() {
    let line = PAYERS.to_json(&format_0()).expect("exported");
    assert_eq!(
        line,
        PAYERS.to_json(&PAYERS.encode(&payer())).expect("exported")
    );
    let imported = PAYERS.parse_json(&line).expect("imported");
    assert_eq!(imported, PAYERS.encode(&payer()));
}

#[test]
fn the_next_change_of_a_record_writes_it_in_the_current_format() {
    let store = store();
    let read = PAYERS.get(&store, &ID).wait();
    let mut changed = read.expect("read").expect("a record");
    assert_eq!(stored(&store)[0], 0, "reading changes nothing");
    changed.active = false;
    commit_and_wait(&**store.engine(), vec![PAYERS.put(&ID, &changed)]).expect("commit");
    assert_eq!(stored(&store)[0], CURRENT_VERSION);
    assert_eq!(PAYERS.get(&store, &ID).wait().expect("read"), Some(changed));
}

#[test]
fn a_record_of_an_earlier_format_is_corrupt_if_truncated_or_extended() {
    let is_corrupt = |bytes: &[u8]| {
        let read = PAYERS.decode(bytes);
        matches!(read, Err(StoreError::Damaged { kind: "payer", .. }))
    };
    let bytes = format_0();
    for length in 0..bytes.len() {
        assert!(is_corrupt(&bytes[..length]), "cut to {length}");
    }
    assert!(is_corrupt(&[bytes.as_slice(), &[0]].concat()));
}

#[test]
fn a_record_of_a_newer_format_is_not_corrupt() {
    let bytes = format_0();
    for version in CURRENT_VERSION + 1..=u8::MAX {
        let read = PAYERS.decode(&[&[version], &bytes[1..]].concat());
        let Err(StoreError::NewerFormat {
            kind,
            found,
            newest,
        }) = read
        else {
            panic!("{version}: {read:?}");
        };
        assert_eq!((kind, found, newest), ("payer", version, CURRENT_VERSION));
    }
}
