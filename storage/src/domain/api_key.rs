//! API keys: their values, their stored hashes and their restrictions.

use super::amount::Amount;
use super::ids::{AccountId, KeyId};
use super::spending::SpendLimits;
use super::tier::Tier;
use super::time::Timestamp;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub const PREFIX: &str = "tt_";
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BODY: usize = 43;
const CHECK: usize = 6;
/// Characters of the body that are stored as text: 24 of 256 bits, too few to guess the rest.
const SHOWN: usize = 4;

/// SHA-256 of a key's value. The value itself is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyHash(pub [u8; 32]);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKey {
    /// Not secret.
    pub id: KeyId,
    pub account: AccountId,
    pub name: String,
    /// `None` allows all models.
    pub models: Option<Vec<Tier>>,
    pub active: bool,
    /// The key is invalid from this time on.
    pub expires_at: Option<Timestamp>,
    /// Over the key's lifetime.
    pub spend_limit: Option<Amount>,
    /// Per UTC day.
    pub spend_limit_daily: Option<Amount>,
    /// Per UTC calendar month.
    pub spend_limit_monthly: Option<Amount>,
    pub rate_limit: Option<RateLimit>,
    /// Empty allows every address.
    pub allowed_ips: Vec<IpNet>,
    /// Earlier values that are still valid.
    pub retired: Vec<RetiredHash>,
    pub created_at: Timestamp,
    /// The first characters of the value, for people.
    pub text_prefix: String,
    /// Limits the key's jobs that are not terminal.
    pub max_concurrent: Option<u32>,
}

/// A value that was valid before a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetiredHash {
    pub hash: KeyHash,
    /// Invalid from this time on.
    pub until: Timestamp,
}

/// What remains of a deleted key: ledger and usage still name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletedKey {
    pub name: String,
    pub deleted_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimit {
    /// The sustained rate, at least 1.
    pub per_second: u32,
    /// At least 1.
    pub burst: u32,
}

/// Why a known key is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyRefusal {
    #[error("the API key is inactive")]
    Inactive,
    #[error("the account of the API key is inactive")]
    AccountInactive,
    #[error("the API key has expired")]
    Expired,
}

impl ApiKey {
    /// An unnamed key without restrictions.
    pub const fn with_all_rights(id: KeyId, account: AccountId, created_at: Timestamp) -> Self {
        Self {
            id,
            account,
            name: String::new(),
            models: None,
            active: true,
            expires_at: None,
            spend_limit: None,
            spend_limit_daily: None,
            spend_limit_monthly: None,
            rate_limit: None,
            allowed_ips: Vec::new(),
            retired: Vec::new(),
            created_at,
            text_prefix: String::new(),
            max_concurrent: None,
        }
    }

    /// Is this key valid at `now`?
    pub fn admit(&self, account_is_active: bool, now: Timestamp) -> Result<(), KeyRefusal> {
        if !account_is_active {
            return Err(KeyRefusal::AccountInactive);
        }
        if !self.active {
            return Err(KeyRefusal::Inactive);
        }
        if self.expires_at.is_some_and(|end| end <= now) {
            return Err(KeyRefusal::Expired);
        }
        Ok(())
    }

    /// Is this key valid from `address`, a range of one address?
    pub fn admits_from(&self, address: IpNet) -> bool {
        self.allowed_ips.is_empty() || self.allowed_ips.iter().any(|net| net.contains(&address))
    }

    pub fn spend_limits(&self) -> SpendLimits {
        SpendLimits {
            total: self.spend_limit,
            monthly: self.spend_limit_monthly,
            daily: self.spend_limit_daily,
        }
    }

    /// Replaces the key's value `old`. Returns the rotated key and the hashes that are no longer valid. The old value stays valid
    /// until `until`; with `None` every earlier value ends at once.
    pub fn rotate(
        &self,
        old: KeyHash,
        until: Option<Timestamp>,
        now: Timestamp,
    ) -> (Self, Vec<KeyHash>) {
        let (kept, ended): (Vec<_>, Vec<_>) = self
            .retired
            .iter()
            .partition(|it| until.is_some() && now < it.until);
        let mut rotated = self.clone();
        rotated.retired = kept;
        rotated
            .retired
            .extend(until.map(|until| RetiredHash { hash: old, until }));
        (rotated, ended.into_iter().map(|it| it.hash).collect())
    }

    /// The time until which an earlier value is valid; `None` if none is valid at `now`.
    pub fn overlap_ends(&self, now: Timestamp) -> Option<Timestamp> {
        let ends = self.retired.iter().map(|it| it.until);
        ends.filter(|until| now < *until).max()
    }

    pub fn allows(&self, tier: Tier) -> bool {
        self.models
            .as_ref()
            .is_none_or(|models| models.contains(&tier))
    }

    /// The allowed address ranges; `None` allows every address.
    pub fn range_texts(&self) -> Option<Vec<String>> {
        let ranges = || self.allowed_ips.iter().map(ToString::to_string).collect();
        (!self.allowed_ips.is_empty()).then(ranges)
    }
}

/// A partial update. An outer `None` keeps the value; an inner `None` removes it.
#[derive(Default)]
pub struct KeyChange {
    pub name: Option<String>,
    pub active: Option<bool>,
    pub models: Option<Option<Vec<Tier>>>,
    pub expires_at: Option<Option<Timestamp>>,
    pub spend_limit: Option<Option<Amount>>,
    pub spend_limit_daily: Option<Option<Amount>>,
    pub spend_limit_monthly: Option<Option<Amount>>,
    pub rate_limit: Option<Option<RateLimit>>,
    pub allowed_ips: Option<Option<Vec<IpNet>>>,
    pub max_concurrent: Option<Option<u32>>,
}

impl KeyChange {
    pub fn apply(self, key: ApiKey) -> ApiKey {
        ApiKey {
            name: self.name.unwrap_or(key.name),
            active: self.active.unwrap_or(key.active),
            models: self.models.unwrap_or(key.models),
            expires_at: self.expires_at.unwrap_or(key.expires_at),
            spend_limit: self.spend_limit.unwrap_or(key.spend_limit),
            spend_limit_daily: self.spend_limit_daily.unwrap_or(key.spend_limit_daily),
            spend_limit_monthly: self.spend_limit_monthly.unwrap_or(key.spend_limit_monthly),
            rate_limit: self.rate_limit.unwrap_or(key.rate_limit),
            allowed_ips: match self.allowed_ips {
                Some(ranges) => ranges.unwrap_or_default(),
                None => key.allowed_ips,
            },
            max_concurrent: self.max_concurrent.unwrap_or(key.max_concurrent),
            ..key
        }
    }
}

/// Formats a key from 256 random bits: `tt_`, 43 base62 characters, 6 characters of checksum.
///
/// The checksum distinguishes a mistyped or truncated key from a revoked one without a look-up. Secret scanners can check it too.
pub fn text(random: &[u8; 32]) -> String {
    let mut body = base62(random, BODY);
    body.push_str(&checksum(&body));
    format!("{PREFIX}{body}")
}

pub fn text_prefix(text: &str) -> String {
    text.chars().take(PREFIX.len() + SHOWN).collect()
}

/// Includes the checksum.
pub fn is_well_formed(text: &str) -> bool {
    parts(text).is_some_and(|(body, check)| checksum(body) == check)
}

/// Has the text the prefix and the length of a key? Checks nothing else.
pub fn has_form(text: &str) -> bool {
    parts(text).is_some()
}

/// The random part and the checksum.
fn parts(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix(PREFIX)?;
    (rest.len() == BODY + CHECK && rest.is_ascii()).then(|| rest.split_at(BODY))
}

/// The hash under which a key is stored.
pub fn hash(text: &str) -> KeyHash {
    KeyHash(Sha256::digest(text.as_bytes()).into())
}

fn checksum(body: &str) -> String {
    let digest = Sha256::digest([PREFIX.as_bytes(), body.as_bytes()].concat());
    base62(&digest[..4], CHECK)
}

/// Base 62, most significant digit first, exactly `digits` long: 43 digits hold 256 bits, 6 hold 32.
fn base62(bytes: &[u8], digits: usize) -> String {
    let mut number = bytes.to_vec();
    let mut text = vec![b'0'; digits];
    for digit in text.iter_mut().rev() {
        let mut rest = 0u32;
        for byte in &mut number {
            let value = rest * 256 + u32::from(*byte);
            *byte = (value / 62) as u8;
            rest = value % 62;
        }
        *digit = ALPHABET[rest as usize];
    }
    text.into_iter().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_52_characters_with_a_checksum() {
        let key = text(&[0xff; 32]);
        assert_eq!(key.len(), 3 + 43 + 6);
        assert!(is_well_formed(&key));
        assert_eq!(
            text(&[0; 32]),
            format!("tt_{}{}", "0".repeat(43), checksum(&"0".repeat(43)))
        );
        assert_ne!(text(&[1; 32]), text(&[2; 32]));
        assert_eq!(text_prefix(&key), key[..7]);
    }

    #[test]
    fn a_changed_or_truncated_key_is_malformed() {
        let key = text(&[7; 32]);
        for at in 0..key.len() {
            let mut bytes = key.clone().into_bytes();
            bytes[at] = if bytes[at] == b'x' { b'y' } else { b'x' };
            assert!(
                !is_well_formed(&String::from_utf8(bytes).unwrap()),
                "changed at {at}"
            );
            assert!(!is_well_formed(&key[..at]), "cut at {at}");
        }
        assert!(!is_well_formed(&format!("{key} ")));
        assert!(!is_well_formed(&"é".repeat(30)));
    }

    #[test]
    fn a_key_is_rejected_from_the_moment_of_its_expiry() {
        let end = Timestamp::from_millis(1_000);
        let id = uuid::Uuid::nil();
        let key = ApiKey {
            name: "k".into(),
            models: Some(vec![Tier::Fast]),
            expires_at: Some(end),
            allowed_ips: vec!["10.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()],
            ..ApiKey::with_all_rights(KeyId(id), AccountId(id), Timestamp::from_millis(0))
        };
        let before = Timestamp::from_millis(999);
        assert_eq!(key.admit(true, before), Ok(()));
        assert_eq!(key.admit(true, end), Err(KeyRefusal::Expired));
        let of_account_off = key.admit(false, before);
        assert_eq!(of_account_off, Err(KeyRefusal::AccountInactive));
        assert!(key.allows(Tier::Fast) && !key.allows(Tier::Pro));
        let from = |text: &str| key.admits_from(text.parse().unwrap());
        assert!(from("10.1.2.3/32") && from("::1/128"));
        assert!(!from("11.1.2.3/32") && !from("::2/128"));
    }
}
