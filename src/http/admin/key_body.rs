//! What a body says of an API key that is made or changed.

use super::accounts::read_name;
use crate::api::fields::{Fields, kind};
use crate::web::problem::Problem;
use ipnet::{IpNet, Ipv4Net};
use std::net::IpAddr;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::{ApiKey, RateLimit};
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;

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

/// What a body says of a key. An outer `None` is a field that was not sent; an inner one is `null`.
#[derive(Default)]
pub struct KeyChange {
    name: Option<String>,
    active: Option<bool>,
    models: Option<Option<Vec<Tier>>>,
    expires_at: Option<Option<Timestamp>>,
    spend_limit: Option<Option<Amount>>,
    spend_limit_daily: Option<Option<Amount>>,
    spend_limit_monthly: Option<Option<Amount>>,
    rate_limit: Option<Option<RateLimit>>,
    allowed_ips: Option<Option<Vec<IpNet>>>,
}

impl KeyChange {
    /// From a body; a key that is made needs a name.
    pub fn read(body: &[u8], name_required: bool) -> Result<Self, Problem> {
        let mut fields = Fields::parse(body).map_err(Problem::validation)?;
        let name = if name_required {
            fields.required_string("name")
        } else {
            fields.optional_string("name")
        };
        let change = Self {
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
        fields.finish(FIELDS).map_err(Problem::validation)?;
        Ok(change)
    }

    /// The key as it will be.
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
            ..key
        }
    }
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
