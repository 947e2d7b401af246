//! A record as stored. The first byte selects the table. A readable record survives a round trip, and a truncated or extended
//! record is not readable.

use tintype_storage::store::tables::*;
use tintype_storage::store::{Record, StoreError, Table, TableKey};

macro_rules! each {
    ($chosen:expr, $bytes:expr, $($table:ident),+ $(,)?) => {{
        let checks: &[fn(&[u8])] = &[$(|bytes| check(&$table, bytes)),+];
        checks[$chosen % checks.len()]($bytes);
    }};
}

pub fn run(input: &[u8]) {
    if let Some((chosen, bytes)) = input.split_first() {
        each!(
            usize::from(*chosen),
            bytes,
            LIVE_JOBS,
            ACCOUNTS,
            API_KEYS,
            LEDGER,
            IDEMPOTENCY,
            PAUSE,
            API_KEYS_BY_ID,
            API_KEY_SPENDING,
            AUDIT_LOG,
            API_KEY_LAST_USE,
            RETIRED_API_KEYS,
            ATTEMPTS,
            DUE_DELIVERIES,
            DELIVERIES,
            WEBHOOKS,
            PEOPLE,
            SESSIONS,
            PEOPLE_BY_EMAIL,
            OPERATOR_SESSIONS,
            FIRST_KEY,
            DAILY_USAGE,
            DELIVERY_ACCOUNTS,
            BATCHES,
            BATCH_PROGRESS,
            UPLOADED_FILES,
            FILE_BATCHES,
            SEARCH_INDEX,
            ACCOUNT_LOADS,
            SERVED_TURNS,
            NODES,
            TAKEN_JOBS,
            LOCKS,
            DUE_BY_SHARD,
            SHARD_HOLDERS,
            SHARED_SLOTS,
            RATE_COUNTS,
            ADOPTION,
            WAITING_CALLERS,
            LAST_EXPORT,
            TEST_DELIVERIES,
        );
    }
}

fn check<K: TableKey, R: Record>(table: &Table<K, R>, bytes: &[u8]) {
    let record = match table.decode(bytes) {
        Ok(record) => record,
        Err(fault) => return damaged(table.name(), fault),
    };
    let written = table.encode(&record);
    let read = table
        .decode(&written)
        .expect("what was read can be written and read");
    assert_eq!(table.encode(&read), written);
    let cut = &written[..written.len() - 1];
    for other in [cut, &[written.as_slice(), &[0]].concat()] {
        match table.decode(other) {
            Ok(_) => panic!("a damaged {} is read", table.name()),
            Err(fault) => damaged(table.name(), fault),
        }
    }
}

fn damaged(name: &str, fault: StoreError) {
    match fault {
        StoreError::Damaged { kind, reason } => {
            assert_eq!(kind, name);
            assert!(!reason.is_empty());
        }
        other => panic!("{other}"),
    }
}
