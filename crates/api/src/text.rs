//! Values that are text on the wire: each type knows its schema.

use crate::schema::{EXAMPLE_ID, schema, words};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::borrow::Cow;
use std::fmt::Display;
use std::ops::Deref;
use tintype_storage::domain::aspect_ratio::AspectRatio;
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::canonical::Encoding;
use tintype_storage::domain::tier::{Mode, Resolution, Tier};

/// What amounts look like in answers.
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

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                schema($schema)
            }
        }
    };
}

/// Made from anything that displays itself as this text.
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

/// Made from the words of the domain, without a copy.
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
    /// A moment.
    Moment => json!({"type": "string", "format": "date-time", "examples": ["2026-11-20T20:10:58.145Z"]}),
    /// An amount of money, positive or negative.
    Money => json!({"type": "string", "pattern": MONEY, "examples": ["12.00"]}),
    /// An absolute URL.
    Url => json!({"type": "string", "format": "uri"}),
    /// A path on this server.
    UrlPath => json!({"type": "string", "format": "uri-reference"}),
    /// The text of an API key.
    KeyText => json!({"type": "string", "pattern": "^tt_[0-9A-Za-z]{49}$"}),
    /// The text of a webhook's secret.
    SecretText => json!({"type": "string", "pattern": "^whsec_[0-9A-Za-z+/]+=*$"}),
    /// An aspect ratio.
    RatioWord => words(AspectRatio::ALL.iter().map(ToString::to_string)),
    /// An aspect ratio, or the word that follows the first input image.
    AspectWord => words(AspectRatio::ALL.iter().map(ToString::to_string).chain(["auto".to_owned()])),
);

word_types!(
    /// A job's state.
    JobStatus => ["queued", "processing", "done", "failed"],
    /// A batch's state.
    BatchStatus => ["in_progress", "canceling", "ended"],
    /// The state of a new job.
    Queued => ["queued"],
    /// How the process stands.
    ProcessStatusWord => ["ok", "ready"],
    /// How the service stands towards new jobs.
    ServiceWord => ["up", "limited", "paused", "stopping"],
    /// A model.
    TierWord => Tier::ALL.iter().map(|it| it.word()),
    /// With input images or without.
    ModeWord => Mode::ALL.iter().map(|it| it.word()),
    /// A size.
    ResolutionWord => Resolution::ALL.iter().map(|it| it.word()),
    /// A kind of ledger entry.
    EntryWord => ["deposit", "charge", "adjustment"],
    /// How bodies to a webhook are encoded.
    EncodingWord => Encoding::ALL.iter().map(|it| it.word()),
    /// A delivery's state.
    DeliveryStatus => ["pending", "delivered", "failed"],
    /// What a delivery tells of.
    DeliveryKindWord => ["event", "test", "batch", "operator"],
    /// Why a delivery failed.
    DeliveryReason => ["attempts exhausted", "webhook deleted", "webhook url changed", "webhook inactive"],
    /// The interface that a job came by.
    OriginWord => ["native", "synchronous", "batch"],
    /// Who made a change.
    ActorWord => ["operator", "service", "person"],
    /// What was changed.
    ActionWord => Action::ALL.iter().map(|it| it.word()),
    /// What a person may do.
    RoleWord => ["owner", "viewer"],
    /// The state of a person's invitation.
    PersonStatus => ["active", "invited", "expired"],
    /// How a node stands.
    NodeWord => ["up", "leaving", "dead"],
    /// A back end's health.
    HealthWord => ["unknown", "up", "degraded", "down", "probing"],
);
