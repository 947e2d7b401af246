//! Whether a key may submit a job. The decision that reserves the job's price applies this rule.

use super::api_key::{ApiKey, KeyHash, KeyRefusal, RateLimit};
use super::tier::Tier;
use super::time::Timestamp;
use ipnet::IpNet;

/// How the caller presented the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PresentedKey {
    /// SHA-256 of the presented text.
    pub hash: KeyHash,
    /// The client's address as a range of one; `None` if unknown.
    pub address: Option<IpNet>,
    /// The key's own rate limit when the call was counted.
    pub rate_limit: Option<RateLimit>,
}

/// Why a key may not submit a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallerRefusal {
    /// The key was removed, or the presented text is no longer valid.
    #[error("the API key is not valid; check that you copied all of it")]
    Unknown,
    #[error(transparent)]
    Key(#[from] KeyRefusal),
    #[error("the API key may not be used from {}", .0.map_or_else(|| "an unknown address".to_owned(), |it| it.addr().to_string()))]
    Address(Option<IpNet>),
    #[error("this API key is not scoped for the {0} model")]
    Model(Tier),
}

/// Checks a key whose current text has the hash `current`. `shown` is `None` for calls from the panel, which present no key.
///
/// # Errors
/// The first refusal, in the published order.
pub fn check_caller(
    current: &KeyHash,
    key: &ApiKey,
    shown: Option<&PresentedKey>,
    tier: Tier,
    account_is_active: bool,
    now: Timestamp,
) -> Result<(), CallerRefusal> {
    let opens = |shown: &PresentedKey| {
        let mut retired = key.retired.iter();
        shown.hash == *current || retired.any(|it| it.hash == shown.hash && now < it.until)
    };
    if !shown.is_none_or(opens) {
        return Err(CallerRefusal::Unknown);
    }
    key.admit(account_is_active, now)?;
    if let Some(shown) = shown
        && !key.allowed_ips.is_empty()
        && !shown.address.is_some_and(|it| key.admits_from(it))
    {
        return Err(CallerRefusal::Address(shown.address));
    }
    if key.allows(tier) {
        Ok(())
    } else {
        Err(CallerRefusal::Model(tier))
    }
}

/// Is `now` a stricter rate limit than `counted`? `None` means unlimited.
pub fn is_stricter(now: Option<RateLimit>, counted: Option<RateLimit>) -> bool {
    match (now, counted) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(now), Some(counted)) => {
            now.per_second < counted.per_second || now.burst < counted.burst
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::api_key::RetiredHash;
    use crate::domain::ids::{AccountId, KeyId};
    use uuid::Uuid;

    const CURRENT: KeyHash = KeyHash([1; 32]);
    const RETIRED: KeyHash = KeyHash([2; 32]);

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn key() -> ApiKey {
        let id = Uuid::nil();
        ApiKey {
            models: Some(vec![Tier::Fast]),
            expires_at: Some(at(1_000)),
            allowed_ips: vec!["10.0.0.0/8".parse().unwrap()],
            retired: vec![RetiredHash {
                hash: RETIRED,
                until: at(500),
            }],
            ..ApiKey::with_all_rights(KeyId(id), AccountId(id), at(0))
        }
    }

    fn shown(hash: KeyHash, address: Option<&str>) -> PresentedKey {
        PresentedKey {
            hash,
            address: address.map(|it| it.parse().unwrap()),
            rate_limit: None,
        }
    }

    #[test]
    fn each_term_of_a_key_is_checked_and_the_first_refusal_is_returned() {
        let good = shown(CURRENT, Some("10.0.0.1/32"));
        let check = |key: &ApiKey, shown: Option<&PresentedKey>, tier, active, now| {
            check_caller(&CURRENT, key, shown, tier, active, at(now))
        };
        let fast = |shown: &PresentedKey, now| check(&key(), Some(shown), Tier::Fast, true, now);
        assert_eq!(fast(&good, 999), Ok(()));
        assert_eq!(fast(&good, 1_000), Err(KeyRefusal::Expired.into()));
        let retired = shown(RETIRED, Some("10.0.0.1/32"));
        assert_eq!(fast(&retired, 499), Ok(()));
        assert_eq!(fast(&retired, 500), Err(CallerRefusal::Unknown));
        let unknown = shown(KeyHash([3; 32]), Some("10.0.0.1/32"));
        assert_eq!(fast(&unknown, 1_000), Err(CallerRefusal::Unknown));
        for address in [None, Some("11.0.0.1/32")] {
            let from = shown(CURRENT, address);
            assert_eq!(fast(&from, 0), Err(CallerRefusal::Address(from.address)));
        }
        assert_eq!(
            check(&key(), Some(&good), Tier::Pro, true, 0),
            Err(CallerRefusal::Model(Tier::Pro))
        );
        assert_eq!(
            check(&key(), Some(&good), Tier::Pro, false, 0),
            Err(KeyRefusal::AccountInactive.into())
        );
        let inactive = ApiKey {
            active: false,
            ..key()
        };
        assert_eq!(
            check(&inactive, None, Tier::Fast, true, 0),
            Err(KeyRefusal::Inactive.into())
        );
        assert_eq!(check(&key(), None, Tier::Fast, true, 0), Ok(()));
    }

    #[test]
    fn a_rate_limit_is_stricter_in_either_figure_and_where_there_was_none() {
        let limit = |per_second, burst| Some(RateLimit { per_second, burst });
        assert!(is_stricter(limit(9, 9), None));
        assert!(is_stricter(limit(1, 9), limit(2, 2)));
        assert!(is_stricter(limit(9, 1), limit(2, 2)));
        assert!(!is_stricter(limit(2, 2), limit(2, 2)));
        assert!(!is_stricter(None, limit(1, 1)));
    }
}
