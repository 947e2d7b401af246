//! Typed UUIDs, so that a key's id cannot be used as a job's.

use super::time::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use uuid::{ContextV7, Uuid};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub Uuid);

        impl $name {
            /// The 16 bytes, most significant first: byte order is creation order.
            pub fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }
        }

        impl From<$name> for Uuid {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::domain::ids::NotAnId;

            /// Accepts only the hyphenated form; braces or missing hyphens are rejected.
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let id = Uuid::try_parse(text).ok().filter(|_| text.len() == 36);
                id.map(Self).ok_or($crate::domain::ids::NotAnId)
            }
        }
    };
}

pub(crate) use id;

/// The account of records that concern the whole service.
pub const SERVICE: AccountId = AccountId(Uuid::nil());

impl JobId {
    /// A lower bound of all ids created at this time or later.
    pub fn first_of(moment: Timestamp) -> Self {
        Self(first_id_of(moment))
    }

    pub fn next(self) -> Self {
        Self(Uuid::from_u128(self.0.as_u128().saturating_add(1)))
    }
}

/// A lower bound of all version 7 ids created at this time or later.
pub fn first_id_of(moment: Timestamp) -> Uuid {
    // The upper 48 bits of such an id are its time. Times are never negative.
    Uuid::from_u128((moment.millis().unsigned_abs() as u128) << 80)
}

#[derive(Debug, thiserror::Error)]
#[error("expected an id such as 01a1fa95-2c1f-7c3a-9d5e-3f6b8a4c2d10")]
pub struct NotAnId;

id!(AccountId);
id!(
    /// The id of an API key. Not secret, unlike the key.
    KeyId
);
id!(
    /// UUID version 7: ids sort by time of acceptance.
    JobId
);
id!(
    /// A process that shares a store with others. Random at each start.
    NodeId
);
id!(
    /// UUID version 7: ids sort by time of acceptance.
    BatchId
);
id!(
    /// UUID version 7: ids sort by upload time.
    FileId
);
id!(
    /// UUID version 7: ids sort by time of the change.
    AuditId
);
id!(TransactionId);

/// Generates version 7 ids that always rise, even if the clock is set back.
pub struct IdSource {
    state: Mutex<State>,
}

struct State {
    context: ContextV7,
    newest: i64,
}

impl IdSource {
    /// `floor` is the time of the newest id in use; new ids sort after it.
    pub fn new(floor: Timestamp) -> Self {
        Self {
            state: Mutex::new(State {
                context: ContextV7::new(),
                // Within one millisecond a new context may start below the old one, so skip that millisecond.
                newest: floor.millis() + 1,
            }),
        }
    }

    /// Makes future ids sort after an id of this time.
    pub fn raise(&self, floor: Timestamp) {
        let mut state = self.state.lock();
        state.newest = state.newest.max(floor.millis() + 1);
    }

    /// No id is later than this time. It is later than the clock if the clock was set back.
    pub fn newest(&self) -> Timestamp {
        Timestamp::from_millis(self.state.lock().newest)
    }

    /// The next id at `now`, or at the newest time seen if the clock went back.
    pub fn next(&self, now: Timestamp) -> Uuid {
        // Hold the lock while generating: within one millisecond the context's counter keeps ids apart, and it must see the
        // times in order.
        let mut state = self.state.lock();
        state.newest = state.newest.max(now.millis());
        let seconds = state.newest.div_euclid(1000) as u64;
        let nanos = state.newest.rem_euclid(1000) as u32 * 1_000_000;
        Uuid::new_v7(uuid::Timestamp::from_unix(&state.context, seconds, nanos))
    }
}

/// The time in a version 7 id; `None` for another version.
pub fn moment_of(id: &Uuid) -> Option<Timestamp> {
    let (seconds, nanos) = id
        .get_timestamp()
        .filter(|_| id.get_version_num() == 7)?
        .to_unix();
    Some(Timestamp::from_millis(
        seconds as i64 * 1000 + i64::from(nanos / 1_000_000),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_increase_even_if_the_clock_is_set_back() {
        let source = IdSource::new(Timestamp::from_millis(5_000));
        let mut last = source.next(Timestamp::from_millis(1_000));
        for millis in [9_000, 9_000, 3_000, 0, 9_001, 8_999, 9_001] {
            for _ in 0..10_000 {
                let next = source.next(Timestamp::from_millis(millis));
                assert!(next > last);
                last = next;
            }
        }
        assert_eq!(last.get_version_num(), 7);
        assert!(moment_of(&last).unwrap() >= Timestamp::from_millis(9_001));
        assert!(moment_of(&last).unwrap() <= source.newest());
    }

    #[test]
    fn ids_after_a_restart_sort_after_those_before_it() {
        let now = Timestamp::from_millis(5_000);
        for _ in 0..200 {
            let last = IdSource::new(Timestamp::from_millis(0)).next(now);
            let floor = moment_of(&last).unwrap();
            assert!(IdSource::new(floor).next(Timestamp::from_millis(10)) > last);
        }
    }

    #[test]
    fn the_first_id_of_a_moment_sorts_between_those_before_and_those_after() {
        for millis in [0, 1, 5_000, 1_795_000_000_001] {
            let moment = Timestamp::from_millis(millis);
            let first = JobId::first_of(moment);
            let made = |at| JobId(IdSource::new(Timestamp::from_millis(0)).next(at));
            assert!(first <= made(moment));
            assert!(millis < 2 || first > made(Timestamp::from_millis(millis - 1)));
        }
    }

    #[test]
    fn hostile_36_text_that_is_not_a_hyphenated_uuid_is_rejected() {
        let good = "01890a5d-ac96-774b-bcce-b302099a8057";
        assert!(good.parse::<JobId>().is_ok());
        assert!(good.to_uppercase().parse::<JobId>().is_ok());
        for bad in [
            "",
            "x",
            "01890a5dac96774bbcceb302099a8057",
            "{01890a5d-ac96-774b-bcce-b302099a8057}",
            "urn:uuid:01890a5d-ac96-774b-bcce-b302099a8057",
        ] {
            assert!(bad.parse::<JobId>().is_err(), "{bad}");
        }
    }
}
