//! API keys on the wire.

use super::account::read_name;
use super::fields::{Fields, kind};
use super::kinds;
use crate::application::api_keys::{self, KeyChange};
use crate::application::error::Error;
use crate::application::state::AppState;
use ipnet::{IpNet, Ipv4Net};
use schemars::JsonSchema;
use serde::Serialize;
use std::net::IpAddr;
use std::time::Duration;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::{ApiKey, RateLimit};
use tintype_storage::domain::spending::Period;
use tintype_storage::domain::tier::Tier;

/// The fields of a key.
pub const FIELDS: &[&str] = &[
    "name",
    "models",
    "active",
    "expires_at",
    "spend_limit",
    "spend_limit_daily",
    "spend_limit_monthly",
    "rate_limit",
    "allowed_ips",
];

/// Ranges of addresses that a key may have.
pub const MAX_RANGES: usize = 64;
/// Of an IPv6 address that stands for an IPv4 one, those that come first.
const MAPPED_BITS: u8 = 96;
/// Calls a second, or at once, that a key may be given.
pub const MAX_PER_SECOND: u32 = 1_000_000;

/// Hours that the old text of a rotated key is valid, unless asked otherwise.
pub const DEFAULT_OVERLAP_HOURS: u64 = 24;
/// The most that can be asked for.
pub const MAX_OVERLAP_HOURS: u64 = 24 * 30;
/// The fields of a rotation.
pub const ROTATION: &[&str] = &["overlap_hours"];

/// How often a key may call.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Rate", deny_unknown_fields)]
pub struct Rate {
    /// Calls a second.
    #[schemars(with = "kinds::Count")]
    pub per_second: u32,
    /// Calls at once, after a quiet time.
    #[schemars(with = "kinds::Count")]
    pub burst: u32,
}

/// A key on the wire.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ApiKey", deny_unknown_fields)]
pub struct KeyView {
    /// The key's id, which is no secret.
    #[schemars(with = "kinds::Id")]
    key_id: String,
    /// Whose it is.
    #[schemars(with = "kinds::Id")]
    account_id: String,
    /// Shown once, when the key is made or rotated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "kinds::KeyText")]
    api_key: Option<String>,
    /// A name for people.
    name: String,
    /// The models that it may ask for.
    #[schemars(with = "Vec<kinds::TierWord>")]
    models: Vec<&'static str>,
    /// Switched on.
    active: bool,
    /// Until when it is valid.
    #[schemars(with = "Option<kinds::Moment>")]
    expires_at: Option<String>,
    /// The most that it may spend over all its life.
    #[schemars(with = "Option<kinds::Money>")]
    spend_limit: Option<String>,
    /// The most that it may spend in a day of UTC.
    #[schemars(with = "Option<kinds::Money>")]
    spend_limit_daily: Option<String>,
    /// The most that it may spend in a calendar month of UTC.
    #[schemars(with = "Option<kinds::Money>")]
    spend_limit_monthly: Option<String>,
    /// What it has spent over all its life.
    #[schemars(with = "kinds::Money")]
    spent: String,
    /// What it has spent in this day of UTC.
    #[schemars(with = "kinds::Money")]
    spent_today: String,
    /// What it has spent in this calendar month of UTC.
    #[schemars(with = "kinds::Money")]
    spent_this_month: String,
    /// How often it may call; `null`: as the configuration says.
    rate_limit: Option<Rate>,
    /// Addresses and ranges that it may be used from; `null`: everywhere.
    allowed_ips: Option<Vec<String>>,
    /// When it was last used.
    #[schemars(with = "Option<kinds::Moment>")]
    last_used_at: Option<String>,
    /// Until when an earlier text of it is valid.
    #[schemars(with = "Option<kinds::Moment>")]
    previous_valid_until: Option<String>,
    /// When it was made.
    #[schemars(with = "kinds::Moment")]
    created_at: String,
}

impl KeyView {
    /// A key with what it has spent and when it was used, as far as is known now.
    pub fn new(state: &AppState, key: ApiKey, api_key: Option<String>) -> Result<Self, Error> {
        let now = state.now();
        let spending = state.store.key_spending(key.id)?;
        let spent = |period| spending.within(period, now).to_string();
        let written = state.store.key_last_use(key.id)?;
        let last_use = state.key_ring.last_use(key.id).max(written);
        Ok(Self {
            key_id: key.id.to_string(),
            account_id: key.account.to_string(),
            api_key,
            models: api_keys::models(&key),
            active: key.active,
            expires_at: text(key.expires_at),
            spend_limit: text(key.spend_limit),
            spend_limit_daily: text(key.spend_limit_daily),
            spend_limit_monthly: text(key.spend_limit_monthly),
            spent: spent(Period::Total),
            spent_today: spent(Period::Day),
            spent_this_month: spent(Period::Month),
            rate_limit: key.rate_limit.map(|rate| Rate {
                per_second: rate.per_second,
                burst: rate.burst,
            }),
            allowed_ips: api_keys::ranges(&key),
            last_used_at: text(last_use),
            previous_valid_until: text(key.overlap_ends(now)),
            created_at: key.created_at.to_string(),
            name: key.name,
        })
    }
}

fn text(value: Option<impl ToString>) -> Option<String> {
    value.map(|it| it.to_string())
}

/// What a body says of a key; one that is made needs a name.
pub fn read(body: &[u8], name_required: bool) -> Result<KeyChange, Error> {
    let mut fields = Fields::parse(body).map_err(Error::invalid)?;
    let name = if name_required {
        fields.required_string("name")
    } else {
        fields.optional_string("name")
    };
    let change = KeyChange {
        name: read_name(&mut fields, name),
        active: fields.optional_bool("active"),
        models: nullable(&mut fields, "models", models),
        expires_at: nullable(&mut fields, "expires_at", |fields| {
            fields.optional_time("expires_at")
        }),
        spend_limit: limit(&mut fields, "spend_limit"),
        spend_limit_daily: limit(&mut fields, "spend_limit_daily"),
        spend_limit_monthly: limit(&mut fields, "spend_limit_monthly"),
        rate_limit: nullable(&mut fields, "rate_limit", rate_limit),
        allowed_ips: nullable(&mut fields, "allowed_ips", allowed_ips),
    };
    fields.finish(FIELDS).map_err(Error::invalid)?;
    Ok(change)
}

/// How long the text before a rotation stays valid. A rotation needs no body.
pub fn read_overlap(body: Option<&[u8]>) -> Result<Duration, Error> {
    let mut hours = Some(DEFAULT_OVERLAP_HOURS);
    if let Some(body) = body {
        let mut fields = Fields::parse(body).map_err(Error::invalid)?;
        if let Some(raw) = fields.optional("overlap_hours") {
            let read = raw.get().parse().ok();
            hours = read.filter(|hours| (0..=MAX_OVERLAP_HOURS).contains(hours));
        }
        if hours.is_none() {
            let message = format!("must be a whole number from 0 to {MAX_OVERLAP_HOURS}");
            fields.fault("overlap_hours", message);
        }
        fields.finish(ROTATION).map_err(Error::invalid)?;
    }
    let hours = hours.unwrap_or(DEFAULT_OVERLAP_HOURS);
    Ok(Duration::from_secs(hours * 3_600))
}

/// Tells a field that was not sent from one that is `null`.
fn nullable<'a, T>(
    fields: &mut Fields<'a>,
    name: &str,
    read: impl FnOnce(&mut Fields<'a>) -> Option<T>,
) -> Option<Option<T>> {
    fields.has(name).then(|| read(fields))
}

fn models(fields: &mut Fields<'_>) -> Option<Vec<Tier>> {
    let words = fields.optional_strings("models")?;
    let mut models = Vec::new();
    for (at, word) in words.iter().enumerate() {
        match word.parse::<Tier>() {
            Ok(tier) if !models.contains(&tier) => models.push(tier),
            Ok(_) => {}
            Err(_) => fields.fault(format!("models[{at}]"), "must be one of fast, quality, pro"),
        }
    }
    if words.is_empty() {
        fields.fault(
            "models",
            "must name at least one model; leave it out, or send null, for all",
        );
    }
    Some(models)
}

fn limit(fields: &mut Fields<'_>, name: &str) -> Option<Option<Amount>> {
    let limit = nullable(fields, name, |fields| fields.optional_amount(name));
    if limit.flatten().is_some_and(Amount::is_negative) {
        fields.fault(name, "must not be negative");
    }
    limit
}

/// Ranges of addresses, or single ones. An empty list would lock the key, or open it, by a slip: `null` opens it.
fn allowed_ips(fields: &mut Fields<'_>) -> Option<Vec<IpNet>> {
    let texts = fields.optional_strings("allowed_ips")?;
    if !(1..=MAX_RANGES).contains(&texts.len()) {
        let message = format!(
            "must name 1 to {MAX_RANGES} ranges; leave it out, or send null, for everywhere"
        );
        fields.fault("allowed_ips", message);
    }
    let mut ranges = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        let net = text.parse::<IpNet>().ok();
        let address = || text.parse::<IpAddr>().ok().map(IpNet::from);
        match net.or_else(address) {
            Some(range) => ranges.push(plain(range.trunc())),
            None => fields.fault(
                format!("allowed_ips[{at}]"),
                "must be an address or a range such as \"192.0.2.0/24\"",
            ),
        }
    }
    Some(ranges)
}

/// IPv4 addresses that are written as IPv6 ones are compared as what they are: so are those of callers.
fn plain(range: IpNet) -> IpNet {
    let IpNet::V6(mapped) = range else {
        return range;
    };
    let length = mapped.prefix_len().checked_sub(MAPPED_BITS);
    let address = mapped.network().to_ipv4_mapped();
    let plain = address
        .zip(length)
        .map(|(address, length)| Ipv4Net::new(address, length));
    match plain {
        Some(Ok(plain)) => IpNet::V4(plain),
        _ => range,
    }
}

fn rate_limit(fields: &mut Fields<'_>) -> Option<RateLimit> {
    let raw = fields.optional("rate_limit")?;
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wire {
        per_second: u32,
        burst: u32,
    }
    let Ok(Wire { per_second, burst }) = serde_json::from_str(raw.get()) else {
        let message = match kind(raw) {
            "an object" => "must have per_second and burst, whole numbers from 1 to 1,000,000, and nothing else".to_owned(),
            other => format!("must be an object {{\"per_second\": 5, \"burst\": 10}}, not {other}"),
        };
        fields.fault("rate_limit", message);
        return None;
    };
    for (name, number) in [("per_second", per_second), ("burst", burst)] {
        if !(1..=MAX_PER_SECOND).contains(&number) {
            let message = "must be a whole number from 1 to 1,000,000";
            fields.fault(format!("rate_limit.{name}"), message);
        }
    }
    Some(RateLimit { per_second, burst })
}
