//! Kinds of values in request bodies: the parser and the schema of each.

use crate::body::{self, Body, Presence};
use crate::fields::{Fields, kind};
use crate::schema::{or_null, with_description, words};
use crate::visible_text;
use ipnet::{IpNet, Ipv4Net};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::fmt::Display;
use std::marker::PhantomData;
use std::net::IpAddr;
use tintype_storage::domain::amount::Amount as DomainAmount;
use tintype_storage::domain::api_key::RateLimit as DomainRateLimit;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::ledger::Balances;
use tintype_storage::domain::person::{Email as DomainEmail, MAX_EMAIL_CHARS, Role as DomainRole};
use tintype_storage::domain::request::MAX_URL_CHARS;
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::Encoding as DomainEncoding;
use uuid::Uuid;

const MAX_NAME_CHARS: usize = 200;
const MAX_REFERENCE_CHARS: usize = 500;
const MAX_REASON_CHARS: usize = 200;
const MAX_RANGES: usize = 64;
/// The prefix of IPv4-mapped IPv6 addresses.
const MAPPED_BITS: u8 = 96;
/// Of the sustained rate and of the burst size.
const MAX_PER_SECOND: u32 = 1_000_000;
const MAX_LIVE: u32 = 1_000_000;
/// A pattern that every valid text matches. The parser also refuses invisible characters.
const HAS_VISIBLE: &str = r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$";
const AMOUNT: &str = r"^-?0*[0-9]{1,15}(\.[0-9]{1,6}0*)?$";
const AMOUNT_FROM_ZERO: &str = r"^0*[0-9]{1,15}(\.[0-9]{1,6}0*)?$";

/// A kind of value.
pub trait Kind {
    type Value;

    /// Parses a value that is present. `None` if it has a fault.
    fn read<'a>(fields: &mut Fields<'a>, name: &str, raw: &'a RawValue) -> Option<Self::Value>;

    fn schema() -> Value;
}

/// A required field.
pub struct Required<K>(PhantomData<K>);

/// A field that may be absent or `null`, unless [`Fields::requiring`] names it.
pub struct Optional<K>(PhantomData<K>);

/// A field in which `null` and absence have different meanings.
pub struct Nullable<K>(PhantomData<K>);

impl<K: Kind> Presence for Required<K> {
    type Value = K::Value;
    const IS_REQUIRED: bool = true;

    fn take(fields: &mut Fields<'_>, name: &str) -> Option<K::Value> {
        match fields.raw(name) {
            Some(raw) => K::read(fields, name, raw),
            None => {
                fields.fault(name, "is required");
                None
            }
        }
    }

    fn schema(_: bool) -> Value {
        K::schema()
    }
}

impl<K: Kind> Presence for Optional<K> {
    type Value = Option<K::Value>;
    const IS_REQUIRED: bool = false;

    fn take(fields: &mut Fields<'_>, name: &str) -> Option<Option<K::Value>> {
        if fields.requires(name) {
            return Required::<K>::take(fields, name).map(Some);
        }
        match fields.optional(name) {
            Some(raw) => K::read(fields, name, raw).map(Some),
            None => Some(None),
        }
    }

    fn schema(is_required: bool) -> Value {
        match is_required {
            true => K::schema(),
            false => or_null(K::schema()),
        }
    }
}

impl<K: Kind> Presence for Nullable<K> {
    type Value = Option<Option<K::Value>>;
    const IS_REQUIRED: bool = false;

    fn take(fields: &mut Fields<'_>, name: &str) -> Option<Option<Option<K::Value>>> {
        match fields.has(name) {
            true => Optional::<K>::take(fields, name).map(Some),
            false => Some(None),
        }
    }

    fn schema(_: bool) -> Value {
        or_null(K::schema())
    }
}

/// Declares kinds of strings, each with its parser and schema.
macro_rules! strings {
    ($($(#[$doc:meta])* $name:ident: $value:ty = $parse:expr, $schema:expr;)+) => {$(
        $(#[$doc])*
        pub struct $name;

        impl Kind for $name {
            type Value = $value;

            fn read<'a>(fields: &mut Fields<'a>, name: &str, raw: &'a RawValue) -> Option<$value> {
                let text = fields.string_of(name, raw)?;
                let parse: fn(String) -> Result<$value, String> = $parse;
                fields.checked(name, parse(text))
            }

            fn schema() -> Value {
                $schema
            }
        }
    )+};
}

strings!(
    /// A display name. It is not trimmed.
    Name: String = |text| short_text(text, MAX_NAME_CHARS),
        json!({"type": "string", "minLength": 1, "maxLength": MAX_NAME_CHARS, "pattern": HAS_VISIBLE, "description": "A display name. It has a visible character, and no control characters or invisible characters."});
    /// The reason of a pause, for callers.
    Reason: String = |text| short_text(text, MAX_REASON_CHARS),
        json!({"type": "string", "minLength": 1, "maxLength": MAX_REASON_CHARS, "pattern": HAS_VISIBLE});
    /// The operator's reference of a deposit.
    Reference: String = |text| match text.chars().count() {
        0 => Ok(text),
        1..=MAX_REFERENCE_CHARS => visible_text::check(&text).map(|()| text),
        _ => Err(format!("must have at most {MAX_REFERENCE_CHARS} characters")),
    }, json!({"type": "string", "maxLength": MAX_REFERENCE_CHARS, "pattern": format!("^$|{HAS_VISIBLE}")});
    /// A webhook's URL. The use case checks its address.
    WebhookUrl: String = Ok,
        json!({"type": "string", "format": "uri", "pattern": "^https?://", "minLength": 1, "maxLength": MAX_URL_CHARS});
    /// The encoding of webhook bodies.
    Encoding: DomainEncoding = |word| word.parse().map_err(|_| "must be ascii or utf8".to_owned()),
        words(DomainEncoding::names());
    Email: DomainEmail = |text| text.parse().map_err(display),
        json!({"type": "string", "minLength": 3, "maxLength": MAX_EMAIL_CHARS});
    Role: DomainRole = |word| word.parse().map_err(|_| "must be owner or viewer".to_owned()),
        words(DomainRole::names());
    Moment: Timestamp = |text| Timestamp::parse(&text).ok_or_else(|| {
        "must be an RFC 3339 date and time, such as \"2030-01-31T12:00:00Z\"".to_owned()
    }), json!({"type": "string", "format": "date-time"});
    /// The cursor of a redelivery.
    Cursor: Uuid = |text| Uuid::try_parse(&text).map_err(|_| "must be a next_cursor of this call".to_owned()),
        json!({"type": "string", "format": "uuid"});
    /// A job's id.
    Job: JobId = |text| text.parse().map_err(|_| "must be the id of a job".to_owned()),
        json!({"type": "string", "format": "uuid"});
    OpeningBalance: DomainAmount = |text| {
        let amount: DomainAmount = text.parse().map_err(display)?;
        Balances::default().deposit(amount).map_err(display)?;
        Ok(amount)
    }, amount(AMOUNT, "25.00");
    /// A deposit, or a negative correction.
    DepositAmount: DomainAmount = |text| match text.parse::<DomainAmount>() {
        Ok(amount) if amount.is_zero() => Err("must not be zero".to_owned()),
        parsed => parsed.map_err(display),
    }, amount(AMOUNT, "25.00");
    /// An amount that is a limit.
    Limit: DomainAmount = |text| match text.parse::<DomainAmount>() {
        Ok(amount) if amount.is_negative() => Err("must not be negative".to_owned()),
        parsed => parsed.map_err(display),
    }, amount(AMOUNT_FROM_ZERO, "5.00");
);

fn amount(pattern: &str, example: &str) -> Value {
    json!({"type": "string", "pattern": pattern, "examples": [example]})
}

fn display(error: impl Display) -> String {
    error.to_string()
}

fn short_text(text: String, max_chars: usize) -> Result<String, String> {
    match (1..=max_chars).contains(&text.chars().count()) {
        true => visible_text::check(&text).map(|()| text),
        false => Err(format!("must have 1 to {max_chars} characters")),
    }
}

/// Declares kinds of booleans, each with its schema.
macro_rules! booleans {
    ($($(#[$doc:meta])* $name:ident: $schema:expr;)+) => {$(
        $(#[$doc])*
        pub struct $name;

        impl Kind for $name {
            type Value = bool;

            fn read<'a>(fields: &mut Fields<'a>, name: &str, raw: &'a RawValue) -> Option<bool> {
                fields.bool_of(name, raw)
            }

            fn schema() -> Value {
                $schema
            }
        }
    )+};
}

booleans!(
    Flag: json!({"type": "boolean"});
    /// A boolean with the default `false`.
    FlagOrFalse: json!({"type": "boolean", "default": false});
);

/// A nested object. Its faults are reported with their paths.
pub struct Object<B>(PhantomData<B>);

impl<B: Body> Kind for Object<B> {
    type Value = B;

    fn read<'a>(fields: &mut Fields<'a>, name: &str, raw: &'a RawValue) -> Option<B> {
        let found = kind(raw);
        if found != "an object" {
            fields.fault(name, format!("must be an object, not {found}"));
            return None;
        }
        let faults = match body::read::<B>(raw.get().as_bytes()) {
            Ok(object) => return Some(object),
            Err(faults) => faults,
        };
        for fault in faults {
            match fault.field.as_str() {
                "body" => fields.fault(name, fault.message),
                field => fields.fault(format!("{name}.{field}"), fault.message),
            }
        }
        None
    }

    fn schema() -> Value {
        B::schema(&[])
    }
}

/// The limit of live jobs.
pub struct MaxConcurrent;

impl Kind for MaxConcurrent {
    type Value = u32;

    fn read<'a>(fields: &mut Fields<'a>, name: &str, raw: &'a RawValue) -> Option<u32> {
        let limit = raw.get().parse().ok();
        let limit = limit.filter(|it| (1..=MAX_LIVE).contains(it));
        fields.checked(
            name,
            limit.ok_or("must be a whole number from 1 to 1,000,000"),
        )
    }

    fn schema() -> Value {
        json!({"type": "integer", "minimum": 1, "maximum": MAX_LIVE})
    }
}

/// For how many hours the old value of a rotated key remains valid.
pub struct OverlapHours;

impl OverlapHours {
    pub const DEFAULT: u64 = 24;
    pub const MAX: u64 = 24 * 30;
}

impl Kind for OverlapHours {
    type Value = u64;

    fn read<'a>(fields: &mut Fields<'a>, name: &str, raw: &'a RawValue) -> Option<u64> {
        let hours = raw.get().parse().ok();
        let hours = hours.filter(|it| (0..=Self::MAX).contains(it));
        let expected = || format!("must be a whole number from 0 to {}", Self::MAX);
        fields.checked(name, hours.ok_or_else(expected))
    }

    fn schema() -> Value {
        json!({"type": "integer", "minimum": 0, "maximum": Self::MAX, "default": Self::DEFAULT})
    }
}

/// The models of a key, without duplicates.
pub struct Models;

impl Kind for Models {
    type Value = Vec<Tier>;

    fn read<'a>(fields: &mut Fields<'a>, name: &str, raw: &'a RawValue) -> Option<Vec<Tier>> {
        let words = fields.strings_of(name, raw)?;
        let mut models = Vec::new();
        let mut is_valid = true;
        for (at, word) in words.iter().enumerate() {
            match word.parse::<Tier>() {
                Ok(tier) if !models.contains(&tier) => models.push(tier),
                Ok(_) => {}
                Err(_) => {
                    fields.fault(format!("{name}[{at}]"), "must be one of fast, quality, pro");
                    is_valid = false;
                }
            }
        }
        if words.is_empty() {
            let message = "must name at least one model; send null for all";
            fields.fault(name, message);
            is_valid = false;
        }
        is_valid.then_some(models)
    }

    fn schema() -> Value {
        json!({"type": "array", "minItems": 1, "items": words(Tier::names())})
    }
}

/// Names of backends. The use case checks that the configuration has them.
pub struct BackendNames;

impl Kind for BackendNames {
    type Value = Vec<String>;

    fn read<'a>(fields: &mut Fields<'a>, name: &str, raw: &'a RawValue) -> Option<Vec<String>> {
        fields.strings_of(name, raw)
    }

    fn schema() -> Value {
        json!({"type": "array", "items": {"type": "string"}})
    }
}

/// IP ranges or single addresses. An empty list is refused, because it could mean "no address" as well as "any address", and a
/// mistake would lock or open the key.
pub struct AddressRanges;

impl Kind for AddressRanges {
    type Value = Vec<IpNet>;

    fn read<'a>(fields: &mut Fields<'a>, name: &str, raw: &'a RawValue) -> Option<Vec<IpNet>> {
        let texts = fields.strings_of(name, raw)?;
        if !(1..=MAX_RANGES).contains(&texts.len()) {
            let message = format!(
                "must name 1 to {MAX_RANGES} ranges; leave it out, or send null, for everywhere"
            );
            fields.fault(name, message);
        }
        let mut ranges = Vec::new();
        for (at, text) in texts.iter().enumerate() {
            let net = text.parse::<IpNet>().ok();
            let address = || text.parse::<IpAddr>().ok().map(IpNet::from);
            match net.or_else(address) {
                Some(range) => ranges.push(unmap(range.trunc())),
                None => fields.fault(
                    format!("{name}[{at}]"),
                    "must be an address or a range such as \"192.0.2.0/24\"",
                ),
            }
        }
        Some(ranges)
    }

    fn schema() -> Value {
        json!({
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_RANGES,
            "items": {"type": "string", "examples": ["192.0.2.0/24"]},
        })
    }
}

/// Converts an IPv4-mapped range to IPv4, because callers' addresses are compared in that form.
fn unmap(range: IpNet) -> IpNet {
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

pub struct RateLimit;

impl Kind for RateLimit {
    type Value = DomainRateLimit;

    fn read<'a>(fields: &mut Fields<'a>, name: &str, raw: &'a RawValue) -> Option<DomainRateLimit> {
        let Ok(rate) = serde_json::from_str::<RateFields>(raw.get()) else {
            let message = match kind(raw) {
                "an object" => "must have per_second and burst, whole numbers from 1 to 1,000,000, and nothing else".to_owned(),
                other => format!("must be an object {{\"per_second\": 5, \"burst\": 10}}, not {other}"),
            };
            fields.fault(name, message);
            return None;
        };
        let RateFields { per_second, burst } = rate;
        for (part, number) in [("per_second", per_second), ("burst", burst)] {
            if !(1..=MAX_PER_SECOND).contains(&number) {
                let message = "must be a whole number from 1 to 1,000,000";
                fields.fault(format!("{name}.{part}"), message);
            }
        }
        Some(DomainRateLimit { per_second, burst })
    }

    fn schema() -> Value {
        let number = || json!({"type": "integer", "minimum": 1, "maximum": MAX_PER_SECOND});
        json!({
            "type": "object",
            "properties": {
                "per_second": with_description(number(), "The sustained rate, in requests per second."),
                "burst": with_description(number(), "The burst size, in requests."),
            },
            "required": ["per_second", "burst"],
            "additionalProperties": false,
        })
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RateFields {
    per_second: u32,
    burst: u32,
}
