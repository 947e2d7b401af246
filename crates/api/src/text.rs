//! Types of string values, with their schemas.

use crate::schema::{EXAMPLE_ID, inline_schema, schema, words};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::borrow::Cow;
use std::fmt::Display;
use std::ops::Deref;
use tintype_storage::domain::aspect_ratio::AspectRatio;
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::batch;
use tintype_storage::domain::delivery::{self, DeliveryKind, FailReason};
use tintype_storage::domain::job;
use tintype_storage::domain::ledger::EntryKind;
use tintype_storage::domain::operator_event::EventType;
use tintype_storage::domain::person::Role;
use tintype_storage::domain::tier::{Mode, Resolution, Tier};
use tintype_storage::domain::webhook::Encoding;

/// The format of amounts in responses.
const MONEY: &str = r"^-?[0-9]{1,15}\.[0-9]{2,6}$";

macro_rules! text_type {
    ($(#[$doc:meta])* $name:ident($inner:ty) => $schema:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub struct $name($inner);

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0.into()
            }
        }

        inline_schema!($name, $schema);
    };
}

/// Text types that are built from any type with `Display`.
macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident => $schema:expr),+ $(,)?) => {$(
        text_type!($(#[$doc])* $name(String) => $schema);

        impl<T: Display> From<T> for $name {
            fn from(value: T) -> Self {
                Self(value.to_string())
            }
        }
    )+};
}

/// Text types that are built from the static words of the domain, without a copy.
macro_rules! word_types {
    ($($(#[$doc:meta])* $name:ident => $words:expr),+ $(,)?) => {$(
        text_type!($(#[$doc])* $name(Cow<'static, str>) => words($words));

        impl From<&'static str> for $name {
            fn from(word: &'static str) -> Self {
                Self(Cow::Borrowed(word))
            }
        }
    )+};
}

texts!(
    /// An id.
    Id => json!({"type": "string", "format": "uuid", "examples": [EXAMPLE_ID]}),
    /// A date and time.
    Moment => json!({"type": "string", "format": "date-time", "examples": ["2026-11-20T20:10:58.145Z"]}),
    /// A date.
    Day => json!({"type": "string", "format": "date", "examples": ["2026-11-20"]}),
    /// An amount of money, positive or negative.
    Money => json!({"type": "string", "pattern": MONEY, "examples": ["12.00"]}),
    /// An absolute URL.
    Url => json!({"type": "string", "format": "uri"}),
    /// A path on this server.
    UrlPath => json!({"type": "string", "format": "uri-reference"}),
    /// The value of an API key.
    KeyText => json!({"type": "string", "pattern": "^tt_[0-9A-Za-z]{49}$"}),
    /// The text of a webhook's secret.
    SecretText => json!({"type": "string", "pattern": "^whsec_[0-9A-Za-z+/]+=*$"}),
    /// An aspect ratio, or `auto`, which follows the first input image.
    AspectWord => words(AspectRatio::ALL.iter().map(ToString::to_string).chain(["auto".to_owned()])),
);

word_types!(
    /// A job's state.
    JobStatus => job::JobStatus::names(),
    /// A batch's state.
    BatchStatus => batch::BatchStatus::names(),
    /// The state of a new job.
    Queued => ["queued"],
    /// The status of the process.
    ProcessStatusWord => ["ok", "ready"],
    /// The status of the service.
    ServiceWord => ["up", "limited", "paused", "stopping"],
    /// A model.
    TierWord => Tier::names(),
    /// With input images or without.
    ModeWord => Mode::names(),
    /// An aspect ratio.
    RatioWord => AspectRatio::ALL.map(AspectRatio::as_str),
    /// A resolution.
    ResolutionWord => Resolution::names(),
    /// A kind of ledger entry.
    EntryWord => EntryKind::names(),
    /// The encoding of webhook bodies.
    EncodingWord => Encoding::names(),
    /// A delivery's state.
    DeliveryStatus => delivery::DeliveryStatus::names(),
    /// A kind of delivery.
    DeliveryKindWord => DeliveryKind::names(),
    /// A type of operator event.
    OperatorEventWord => EventType::names(),
    /// Why a delivery failed.
    DeliveryReason => FailReason::names(),
    /// The API that created a job.
    OriginWord => ["native", "synchronous", "batch", "background"],
    /// The author of a change.
    ActorWord => ["operator", "service", "person"],
    /// The kind of a change.
    ActionWord => Action::names(),
    /// A person's role.
    RoleWord => Role::names(),
    /// The state of a person's invitation.
    PersonStatus => ["active", "invited", "expired"],
    /// A node's state.
    NodeWord => ["up", "leaving", "dead"],
    /// A backend's health.
    HealthWord => ["unknown", "up", "degraded", "down", "probing"],
);
