//! API keys.

use crate::field::Moment as MomentField;
use crate::field::{
    AddressRanges, Flag, Limit, MaxConcurrent, Models, Name, Nullable, Optional, OverlapHours,
    RateLimit,
};
use crate::text::{Id, KeyText, Moment, Money, TierWord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::{self, KeyChange};
use tintype_storage::domain::spending::{Period, Spending};
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;

body!(KeyChange {
    name: Optional<Name>,
    /// The models that the key may use. `null`: all.
    models: Nullable<Models>,
    /// Is the key active?
    active: Optional<Flag>,
    /// When the key expires. `null`: never.
    expires_at: Nullable<MomentField>,
    /// The total spend limit. `null`: no limit.
    spend_limit: Nullable<Limit>,
    /// The spend limit per day (UTC). `null`: no limit.
    spend_limit_daily: Nullable<Limit>,
    /// The spend limit per calendar month (UTC). `null`: no limit.
    spend_limit_monthly: Nullable<Limit>,
    /// The rate limit. `null`: the limit of the configuration.
    rate_limit: Nullable<RateLimit>,
    /// IP addresses and ranges that the key may be used from. `null`: any address.
    allowed_ips: Nullable<AddressRanges>,
    /// How many jobs of the key may be queued or processing at the same time. `null`: no limit.
    max_concurrent: Nullable<MaxConcurrent>,
});

/// A request to rotate a key.
#[derive(Default)]
pub struct Rotation {
    pub overlap_hours: Option<u64>,
}

body!(Rotation {
    /// For how many hours the old key remains valid. 0 revokes all earlier keys immediately.
    overlap_hours: Optional<OverlapHours>,
});

impl Rotation {
    /// How long the old key remains valid.
    pub fn overlap(&self) -> Duration {
        Duration::from_secs(self.overlap_hours.unwrap_or(OverlapHours::DEFAULT) * 3_600)
    }
}

/// A rate limit.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Rate {
    /// The sustained rate, in requests per second.
    pub per_second: u32,
    /// The burst size, in requests.
    pub burst: u32,
}

impl From<api_key::RateLimit> for Rate {
    fn from(rate: api_key::RateLimit) -> Self {
        Self {
            per_second: rate.per_second,
            burst: rate.burst,
        }
    }
}

/// An API key.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct ApiKey {
    /// The key's id, which is not secret.
    pub key_id: Id,
    /// The account of the key.
    pub account_id: Id,
    /// The API key itself. Shown only once, when it is created or rotated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "KeyText")]
    pub api_key: Option<KeyText>,
    /// The first characters of the API key, such as `tt_2Wa7`.
    pub prefix: String,
    /// Did the service create the key for the panel's playground, whose images are charged to it?
    pub system: bool,
    /// A display name.
    pub name: String,
    /// The models that the key may use.
    pub models: Vec<TierWord>,
    /// Is the key active?
    pub active: bool,
    /// When the key expires. `null`: never.
    pub expires_at: Option<Moment>,
    /// The total spend limit. `null`: no limit.
    pub spend_limit: Option<Money>,
    /// The spend limit per day (UTC). `null`: no limit.
    pub spend_limit_daily: Option<Money>,
    /// The spend limit per calendar month (UTC). `null`: no limit.
    pub spend_limit_monthly: Option<Money>,
    /// The total spent.
    pub spent: Money,
    /// The amount spent in the current day (UTC).
    pub spent_today: Money,
    /// The amount spent in the current calendar month (UTC).
    pub spent_this_month: Money,
    /// Reserved for jobs of the key that have not ended. Each spend limit counts it in addition to the amount spent.
    pub reserved: Money,
    /// The rate limit. `null`: the limit of the configuration.
    pub rate_limit: Option<Rate>,
    /// IP addresses and ranges that the key may be used from. `null`: any address.
    pub allowed_ips: Option<Vec<String>>,
    /// How many jobs of the key may be queued or processing at the same time. `null`: no limit.
    pub max_concurrent: Option<u32>,
    /// When the key was last used. `null`: never.
    pub last_used_at: Option<Moment>,
    /// Until when a rotated-out key remains valid. `null`: none does.
    pub previous_valid_until: Option<Moment>,
    /// When the key was created.
    pub created_at: Moment,
}

impl ApiKey {
    /// `text` is the value of a new key. `system`: the service created the key for the playground.
    pub fn new(
        key: api_key::ApiKey,
        system: bool,
        spending: &Spending,
        reserved: Amount,
        last_use: Option<Timestamp>,
        text: Option<String>,
        now: Timestamp,
    ) -> Self {
        let spent = |period| spending.within(period, now).into();
        Self {
            key_id: key.id.into(),
            account_id: key.account.into(),
            api_key: text.map(KeyText::from),
            system,
            models: models(&key),
            active: key.active,
            expires_at: key.expires_at.map(Moment::from),
            spend_limit: key.spend_limit.map(Money::from),
            spend_limit_daily: key.spend_limit_daily.map(Money::from),
            spend_limit_monthly: key.spend_limit_monthly.map(Money::from),
            spent: spent(Period::Total),
            spent_today: spent(Period::Day),
            spent_this_month: spent(Period::Month),
            reserved: reserved.into(),
            rate_limit: key.rate_limit.map(Rate::from),
            allowed_ips: key.range_texts(),
            max_concurrent: key.max_concurrent,
            last_used_at: last_use.map(Moment::from),
            previous_valid_until: key.overlap_ends(now).map(Moment::from),
            created_at: key.created_at.into(),
            prefix: key.text_prefix,
            name: key.name,
        }
    }
}

fn models(key: &api_key::ApiKey) -> Vec<TierWord> {
    let allowed = Tier::ALL.into_iter().filter(|tier| key.allows(*tier));
    allowed.map(|tier| tier.as_str().into()).collect()
}

/// The caller's key.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Key")]
pub struct OwnKey {
    /// The key's id, which is not secret.
    pub key_id: Id,
    /// The key's display name.
    pub name: String,
    /// The models that the key may use.
    pub models: Vec<TierWord>,
    /// Is the key active?
    pub active: bool,
    /// When the key expires. `null`: never.
    pub expires_at: Option<Moment>,
    /// The total spend limit. `null`: no limit.
    pub spend_limit: Option<Money>,
    /// The total spent.
    pub spent: Money,
    /// Reserved for jobs of the key that have not ended. Each spend limit counts it in addition to the amount spent.
    pub reserved: Money,
    /// Present only if set: the spend limit per calendar month (UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Money")]
    pub spend_limit_monthly: Option<Money>,
    /// Present only with `spend_limit_monthly`: the amount spent in the current calendar month (UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Money")]
    pub spent_this_month: Option<Money>,
    /// Present only if set: the spend limit per day (UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Money")]
    pub spend_limit_daily: Option<Money>,
    /// Present only with `spend_limit_daily`: the amount spent in the current day (UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Money")]
    pub spent_today: Option<Money>,
    /// Present only if set: how many jobs of the key may be queued or processing at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    pub max_concurrent: Option<u32>,
    /// Present only if set: IP addresses and ranges that the key may be used from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub allowed_ips: Option<Vec<String>>,
    /// The rate limit of the key, or else of the configuration. `null`: no limit.
    pub rate_limit: Option<Rate>,
    /// When the key was created.
    pub created_at: Moment,
}

impl OwnKey {
    /// `rate` is the effective rate limit.
    pub fn new(
        key: &api_key::ApiKey,
        spending: &Spending,
        reserved: Amount,
        rate: Option<api_key::RateLimit>,
        now: Timestamp,
    ) -> Self {
        let spent = |period| spending.within(period, now).into();
        Self {
            key_id: key.id.into(),
            name: key.name.clone(),
            models: models(key),
            active: key.active,
            expires_at: key.expires_at.map(Moment::from),
            spend_limit: key.spend_limit.map(Money::from),
            spent: spent(Period::Total),
            reserved: reserved.into(),
            spend_limit_monthly: key.spend_limit_monthly.map(Money::from),
            spent_this_month: key.spend_limit_monthly.map(|_| spent(Period::Month)),
            spend_limit_daily: key.spend_limit_daily.map(Money::from),
            spent_today: key.spend_limit_daily.map(|_| spent(Period::Day)),
            max_concurrent: key.max_concurrent,
            allowed_ips: key.range_texts(),
            rate_limit: rate.map(Rate::from),
            created_at: key.created_at.into(),
        }
    }
}
