//! A record as stored. The first byte selects the table: the first byte of the table's keys, or for a setting a digit. A readable
//! record survives a round trip, and a truncated or extended record is not readable.

use tintype_storage::store::tables::*;
use tintype_storage::store::{Record, StoreError, Table, TableKey};

type Check = fn(&[u8]) -> Result<(), StoreError>;

macro_rules! checks {
    ($($chosen:literal $table:ident)+) => { &[$(($chosen, |bytes| check(&$table, bytes))),+] };
}

const CHECKS: &[(u8, Check)] = checks! {
    b'l' LIVE_JOBS
    b'a' ACCOUNTS
    b't' LEDGER
    b'i' IDEMPOTENCY
    b'h' API_KEYS
    b'k' API_KEYS_BY_ID
    b'u' API_KEY_SPENDING
    b'y' API_KEY_LAST_USE
    b'H' DELETED_API_KEYS
    b'L' PANEL_KEYS
    b'r' RETIRED_API_KEYS
    b'w' WEBHOOKS
    b'v' DELIVERIES
    b'V' DELIVERY_ACCOUNTS
    b'q' DUE_DELIVERIES
    b'n' ATTEMPTS
    b'E' OPERATOR_EVENTS
    b'A' AUDIT_LOG
    b'p' PEOPLE
    b'P' PEOPLE_BY_EMAIL
    b'z' SESSIONS
    b'b' BATCHES
    b'g' BATCH_PROGRESS
    b'f' UPLOADED_FILES
    b'B' FILE_BATCHES
    b'c' SEARCH_INDEX
    b'd' DAILY_USAGE
    b'm' ACCOUNT_LOADS
    b'T' SERVED_TURNS
    b'N' NODES
    b'R' TAKEN_JOBS
    b'K' LOCKS
    b'D' SHARD_HOLDERS
    b'C' WAITING_CALLERS
    b'X' RATE_COUNTS
    b'S' TEST_DELIVERIES
    b'0' ADOPTION
    b'1' SHARED_SLOTS
    b'2' PAUSE
    b'3' OPERATOR_SESSIONS
    b'4' FIRST_KEY
    b'5' LAST_BACKUP_OR_EXPORT
    b'6' ALARMS
    b'7' VAULT_KEY
    b'8' BACKEND_PAUSES
};

pub fn run(input: &[u8]) {
    if let Some((chosen, bytes)) = input.split_first() {
        let known = CHECKS.iter().find(|(byte, _)| byte == chosen);
        let (_, check) = known.unwrap_or(&CHECKS[usize::from(*chosen) % CHECKS.len()]);
        drop(check(bytes));
    }
}

/// Returns the error of an unreadable record.
fn check<K: TableKey, R: Record>(table: &Table<K, R>, bytes: &[u8]) -> Result<(), StoreError> {
    let record = table
        .decode(bytes)
        .inspect_err(|fault| assert_unreadable(table.name(), fault))?;
    let written = table.encode(&record);
    let read = table
        .decode(&written)
        .expect("what was read can be written and read");
    assert_eq!(table.encode(&read), written);
    let cut = &written[..written.len() - 1];
    for other in [cut, &[written.as_slice(), &[0]].concat()] {
        match table.decode(other) {
            Ok(_) => panic!("a damaged {} is read", table.name()),
            Err(fault) => assert_unreadable(table.name(), &fault),
        }
    }
    Ok(())
}

fn assert_unreadable(name: &str, fault: &StoreError) {
    match fault {
        StoreError::Damaged { kind, reason } => {
            assert_eq!(*kind, name);
            assert!(!reason.is_empty());
        }
        StoreError::NewerFormat {
            kind,
            found,
            newest,
        } => {
            assert_eq!(*kind, name);
            assert!(found > newest);
        }
        other => panic!("{other}"),
    }
}

/// Otherwise mutations of the corpus would hardly get past the version byte.
#[test]
fn each_input_of_the_corpus_is_a_readable_record_of_its_table_and_each_table_has_one() {
    let inputs = crate::inputs::of("record");
    for input in &inputs {
        let known = CHECKS.iter().find(|(byte, _)| *byte == input[0]);
        let (_, check) = known.expect("a table");
        let read = check(&input[1..]);
        assert!(read.is_ok(), "{}: {read:?}", hex::encode(input));
    }
    for (byte, _) in CHECKS {
        let found = inputs.iter().any(|input| input[0] == *byte);
        assert!(found, "no input for table {:?}", char::from(*byte));
    }
}
