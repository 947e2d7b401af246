//! The tables: their keys and their creation.

use std::ops::Bound;
use tintype_storage::engine::{Key, KeyRange};

/// The schema of the tables. Statements name it, because a pooler's connections may have other search paths.
pub const SCHEMA: &str = "tintype";
/// The expected value of [`FORMAT_KEY`].
pub const FORMAT: &[u8] = b"5";
/// The key of the tables' format. Keys with a leading zero byte belong to the engine; no record's key has one.
pub const FORMAT_KEY: &[u8] = b"\0format";

/// Longer than every key: an index entry has at most 2,704 bytes.
const ABOVE_ALL_KEYS: [u8; 2_705] = [u8::MAX; 2_705];

/// A table. Records are grouped by rate of change, because dead rows slow down reads of their neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// Updated with each job: balances, spending, usage, settings, and the engine's own keys.
    Account,
    /// Inserted and deleted with each job: live jobs, due entries.
    Live,
    /// Deleted after a day: idempotency keys.
    Recent,
    /// Inserted, and deleted after weeks, if ever: ended jobs, ledger, deliveries, attempts, audit log, batches, operator
    /// events.
    Past,
    /// Few and stable: API keys, webhooks, people, sessions, refunds.
    Rest,
}

impl Relation {
    /// The order in which transactions visit the tables. Within a table most statements visit the keys in rising order, so
    /// deadlocks are rare. Missing held keys are inserted after the existing ones are locked, and deletes follow upserts, so two
    /// processes can still deadlock: the database rolls one transaction back, and its writer repeats it.
    pub const ALL: [Self; 5] = [
        Self::Account,
        Self::Live,
        Self::Recent,
        Self::Past,
        Self::Rest,
    ];

    /// Includes the schema.
    pub fn name(self) -> &'static str {
        match self {
            Self::Account => "tintype.account",
            Self::Live => "tintype.live",
            Self::Recent => "tintype.recent",
            Self::Past => "tintype.past",
            Self::Rest => "tintype.rest",
        }
    }

    pub fn of(key: &[u8]) -> Self {
        key.first().map_or(Self::Rest, |kind| Self::of_kind(*kind))
    }

    /// The table of the keys that begin with `kind`.
    fn of_kind(kind: u8) -> Self {
        Self::of_known_kind(kind).unwrap_or(Self::Rest)
    }

    /// `None`: no record has such a key.
    fn of_known_kind(kind: u8) -> Option<Self> {
        Some(match kind {
            0 | b'D' | b'K' | b'N' | b'T' | b'X' | b'a' | b'd' | b'g' | b'm' | b's' | b'u' => {
                Self::Account
            }
            b'R' | b'j' | b'l' | b'q' | b'x' => Self::Live,
            b'i' => Self::Recent,
            b'A' | b'E' | b'V' | b'b' | b'e' | b'n' | b't' | b'v' => Self::Past,
            b'B' | b'C' | b'F' | b'G' | b'H' | b'I' | b'L' | b'M' | b'P' | b'S' | b'U' | b'W'
            | b'c' | b'f' | b'h' | b'k' | b'o' | b'p' | b'r' | b'w' | b'y' | b'z' => Self::Rest,
            _ => return None,
        })
    }

    fn storage_parameters(self) -> &'static str {
        match self {
            Self::Account => " WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02)",
            Self::Live => {
                " WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, \
                 autovacuum_vacuum_cost_delay = 0)"
            }
            Self::Recent => " WITH (autovacuum_vacuum_scale_factor = 0.05)",
            Self::Past | Self::Rest => "",
        }
    }
}

/// Creates the schema and its tables. Existing ones stay unchanged.
pub fn ddl() -> String {
    let tables = Relation::ALL.map(|relation| {
        format!(
            "CREATE TABLE IF NOT EXISTS {} (key bytea PRIMARY KEY, value bytea NOT NULL){};\n",
            relation.name(),
            relation.storage_parameters()
        )
    });
    let (table, key, format) = (
        Relation::of(FORMAT_KEY).name(),
        literal(FORMAT_KEY),
        literal(FORMAT),
    );
    format!(
        "CREATE SCHEMA IF NOT EXISTS {SCHEMA};\n{}INSERT INTO {table} (key, value) VALUES ({key}, {format}) ON CONFLICT DO NOTHING;\n",
        tables.concat()
    )
}

fn literal(bytes: &[u8]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("'\\x{hex}'")
}

/// A contiguous part of a range in one table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    pub relation: Relation,
    /// The first key, inclusive.
    pub from: Key,
    /// The last key, exclusive.
    pub to: Key,
}

/// The parts of a range in ascending order, without the engine's own keys.
pub fn parts(range: &KeyRange) -> Vec<Part> {
    let from = match &range.from {
        Bound::Included(key) => key.clone(),
        Bound::Excluded(key) => just_above(key),
        Bound::Unbounded => Key::new(),
    };
    let to = match &range.to {
        Bound::Included(key) => just_above(key),
        Bound::Excluded(key) => key.clone(),
        Bound::Unbounded => ABOVE_ALL_KEYS.to_vec(),
    };
    let mut parts: Vec<Part> = Vec::new();
    // Most ranges are within one kind.
    let kinds = from.first().map_or(1, |it| *it.max(&1))..=to.first().map_or(0, |it| *it);
    for kind in kinds {
        let relation = Relation::of_kind(kind);
        let end = kind
            .checked_add(1)
            .map_or_else(|| ABOVE_ALL_KEYS.to_vec(), |next| vec![next]);
        let (from, to) = (from.clone().max(vec![kind]), to.clone().min(end));
        if from >= to {
            continue;
        }
        match parts.last_mut().filter(|last| last.relation == relation) {
            Some(last) => last.to = to,
            None => parts.push(Part { relation, from, to }),
        }
    }
    parts
}

/// The smallest key greater than `key`.
pub fn just_above(key: &[u8]) -> Key {
    [key, b"\0"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::store::tables::prefixes;

    #[test]
    fn each_table_of_records_has_a_place() {
        for prefix in prefixes() {
            let place = Relation::of_known_kind(prefix[0]);
            assert!(place.is_some(), "{}", prefix.escape_ascii());
        }
    }

    #[test]
    fn a_range_of_one_kind_is_one_part() {
        let part = Part {
            relation: Relation::Live,
            from: b"l1".to_vec(),
            to: b"l2".to_vec(),
        };
        assert_eq!(parts(&KeyRange::prefix(b"l1")), std::slice::from_ref(&part));
        let above = Part {
            from: b"l15\0".to_vec(),
            ..part
        };
        assert_eq!(
            parts(&KeyRange::prefix(b"l1").above(b"l15".to_vec())),
            [above]
        );
    }

    #[test]
    fn the_parts_of_all_keys_are_contiguous_and_omit_the_records_of_the_engine() {
        let parts = parts(&KeyRange::prefix(b""));
        assert_eq!(parts.first().map(|it| it.from.as_slice()), Some(&[1][..]));
        assert_eq!(parts.last().map(|it| it.to.len()), Some(2_705));
        for pair in parts.windows(2) {
            assert_eq!(pair[0].to, pair[1].from);
            assert_ne!(pair[0].relation, pair[1].relation);
        }
    }

    #[test]
    fn empty_and_crossed_ranges_have_no_part() {
        let range = |from: Bound<&[u8]>, to: Bound<&[u8]>| KeyRange {
            from: from.map(<[u8]>::to_vec),
            to: to.map(<[u8]>::to_vec),
        };
        assert_eq!(
            parts(&range(Bound::Included(b"b"), Bound::Excluded(b"b"))),
            []
        );
        assert_eq!(
            parts(&range(Bound::Excluded(b"b"), Bound::Included(b"b"))),
            []
        );
        assert_eq!(
            parts(&range(Bound::Included(b"c"), Bound::Included(b"a"))),
            []
        );
        assert_eq!(
            parts(&range(Bound::Included(b"b"), Bound::Included(b"b"))).len(),
            1
        );
    }
}
