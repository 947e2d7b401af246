//! API keys.

use crate::field::Moment as MomentField;
use crate::field::{
    AddressRanges, Flag, Limit, MaxConcurrent, Models, Name, Nullable, Optional, OverlapHours,
    RateLimit,
};
use crate::schema::Count;
use crate::text::{Id, KeyText, Moment, Money, TierWord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tintype_storage::domain::api_key::{self, KeyChange};
use tintype_storage::domain::spending::{Period, Spending};
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;

body!(KeyChange {
    name: Optional<Name>,
    /// The models that it may ask for. `null`: all.
    models: Nullable<Models>,
    /// Switched on.
    active: Optional<Flag>,
    /// Until when it is valid. `null`: for ever.
    expires_at: Nullable<MomentField>,
    /// The most that it may spend over all its life. `null`: no such limit.
    spend_limit: Nullable<Limit>,
    /// The most that it may spend in a day of UTC. `null`: no such limit.
    spend_limit_daily: Nullable<Limit>,
    /// The most that it may spend in a calendar month of UTC. `null`: no such limit.
    spend_limit_monthly: Nullable<Limit>,
    /// How often it may call. `null`: as the configuration says.
    rate_limit: Nullable<RateLimit>,
    /// Addresses and ranges that it may be used from. `null`: everywhere.
    allowed_ips: Nullable<AddressRanges>,
    /// How many of its jobs may be queued or processing at once. `null`: no such limit.
    max_concurrent: Nullable<MaxConcurrent>,
});

/// A new text for a key.
#[derive(Default)]
pub struct Rotation {
    pub overlap_hours: Option<u64>,
}

body!(Rotation {
    /// Hours that the old text stays valid. 0 ends every earlier text at once.
    overlap_hours: Optional<OverlapHours>,
});

impl Rotation {
    /// How long the old text stays valid.
    pub fn overlap(&self) -> Duration {
        Duration::from_secs(self.overlap_hours.unwrap_or(OverlapHours::DEFAULT) * 3_600)
    }
}

/// How often there may be a call.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Rate {
    /// Calls a second.
    #[schemars(with = "Count")]
    pub per_second: u32,
    /// Calls at once, after a quiet time.
    #[schemars(with = "Count")]
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

/// A key on the wire.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ApiKey {
    /// The key's id, which is no secret.
    pub key_id: Id,
    /// Whose it is.
    pub account_id: Id,
    /// Shown once, when the key is made or rotated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "KeyText")]
    pub api_key: Option<KeyText>,
    /// The first characters of its text, such as `tt_2Wa7`; `null`: it is from before they were kept.
    pub prefix: Option<String>,
    /// The service made it for itself: images of the panel's playground are charged under it.
    pub system: bool,
    /// A name for people.
    pub name: String,
    /// The models that it may ask for.
    pub models: Vec<TierWord>,
    /// Switched on.
    pub active: bool,
    /// Until when it is valid.
    pub expires_at: Option<Moment>,
    /// The most that it may spend over all its life.
    pub spend_limit: Option<Money>,
    /// The most that it may spend in a day of UTC.
    pub spend_limit_daily: Option<Money>,
    /// The most that it may spend in a calendar month of UTC.
    pub spend_limit_monthly: Option<Money>,
    /// What it has spent over all its life.
    pub spent: Money,
    /// What it has spent in this day of UTC.
    pub spent_today: Money,
    /// What it has spent in this calendar month of UTC.
    pub spent_this_month: Money,
    /// How often it may call; `null`: as the configuration says.
    pub rate_limit: Option<Rate>,
    /// Addresses and ranges that it may be used from; `null`: everywhere.
    pub allowed_ips: Option<Vec<String>>,
    /// How many of its jobs may be queued or processing at once; `null`: no such limit.
    #[schemars(with = "Option<Count>")]
    pub max_concurrent: Option<u32>,
    /// When it was last used.
    pub last_used_at: Option<Moment>,
    /// Until when an earlier text of it is valid.
    pub previous_valid_until: Option<Moment>,
    /// When it was made.
    pub created_at: Moment,
}

impl ApiKey {
    /// A key with what it has spent and when it was used; `text` is that of a new key, `system` says whether the service made it
    /// for itself.
    pub fn new(
        key: api_key::ApiKey,
        system: bool,
        spending: &Spending,
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
    let allowed = Tier::ALL.iter().filter(|tier| key.allows(**tier));
    allowed.map(|tier| tier.word().into()).collect()
}

/// What the caller's own key may do.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Key", deny_unknown_fields)]
pub struct OwnKey {
    /// The key's id, which is no secret.
    pub key_id: Id,
    /// Its name.
    pub name: String,
    /// The models that it may ask for.
    pub models: Vec<TierWord>,
    /// Switched on.
    pub active: bool,
    /// Until when it is valid.
    pub expires_at: Option<Moment>,
    /// The most that it may spend over all its life.
    pub spend_limit: Option<Money>,
    /// What it has spent.
    pub spent: Money,
    #[serde(flatten)]
    pub month: Option<OwnMonthlyLimit>,
    #[serde(flatten)]
    pub day: Option<OwnDailyLimit>,
    #[serde(flatten)]
    pub live: Option<OwnMaxConcurrent>,
    /// How often it may call, be it by its own limit or by that of the configuration.
    pub rate_limit: Option<Rate>,
    /// When it was made.
    pub created_at: Moment,
}

/// Of a key with a limit per calendar month.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Month")]
pub struct OwnMonthlyLimit {
    /// Only of a key with such a limit: the most that it may spend in a calendar month of UTC.
    pub spend_limit_monthly: Money,
    /// Only of a key with such a limit.
    pub spent_this_month: Money,
}

/// Of a key with a limit per day.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Day")]
pub struct OwnDailyLimit {
    /// Only of a key with such a limit: the most that it may spend in a day of UTC.
    pub spend_limit_daily: Money,
    /// Only of a key with such a limit.
    pub spent_today: Money,
}

/// Of a key with a limit of live jobs.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Live")]
pub struct OwnMaxConcurrent {
    /// Only of a key with such a limit: how many of its jobs may be queued or processing at once.
    #[schemars(with = "Count")]
    pub max_concurrent: u32,
}

impl OwnKey {
    /// A key with what it has spent; `rate` is the one that holds for it.
    pub fn new(
        key: &api_key::ApiKey,
        spending: &Spending,
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
            month: key.spend_limit_monthly.map(|limit| OwnMonthlyLimit {
                spend_limit_monthly: limit.into(),
                spent_this_month: spent(Period::Month),
            }),
            day: key.spend_limit_daily.map(|limit| OwnDailyLimit {
                spend_limit_daily: limit.into(),
                spent_today: spent(Period::Day),
            }),
            live: key
                .max_concurrent
                .map(|max_concurrent| OwnMaxConcurrent { max_concurrent }),
            rate_limit: rate.map(Rate::from),
            created_at: key.created_at.into(),
        }
    }
}
