//! What a string or a number on the wire means: the schemas of single values.
//!
//! Wire types hold text; `#[schemars(with = "Id")]` says what the text is. These types have no values.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::marker::PhantomData;
use tintype_storage::domain::aspect_ratio::AspectRatio;
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::canonical::Encoding;
use tintype_storage::domain::tier::{Mode, Resolution, Tier};

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident => $schema:expr),+ $(,)?) => {$(
        $(#[$doc])*
        pub enum $name {}

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
    )+};
}

kinds!(
    /// An id.
    Id => json!({"type": "string", "format": "uuid", "examples": [JOB]}),
    /// A moment.
    Moment => json!({"type": "string", "format": "date-time", "examples": ["2026-11-20T20:10:58.145Z"]}),
    /// An amount of money, positive or negative.
    Money => json!({"type": "string", "pattern": MONEY, "examples": ["12.00"]}),
    /// A whole number from 0 on.
    Count => json!({"type": "integer", "minimum": 0}),
    /// What is switched off.
    Off => json!({"type": "boolean", "const": false}),
    /// A status of HTTP.
    StatusCode => json!({"type": "integer", "minimum": 100, "maximum": 999}),
    /// An absolute URL.
    Url => json!({"type": "string", "format": "uri"}),
    /// A path on this server.
    PathText => json!({"type": "string", "format": "uri-reference"}),
    /// A job's state.
    JobStatus => words(["queued", "processing", "done", "failed"]),
    /// How a process stands.
    StandingWord => words(["ok", "ready"]),
    /// The state of a new job.
    Queued => words(["queued"]),
    /// The text of an API key.
    KeyText => json!({"type": "string", "pattern": "^tt_[0-9A-Za-z]{49}$"}),
    /// The text of a webhook's secret.
    SecretText => json!({"type": "string", "pattern": "^whsec_[0-9A-Za-z+/]+=*$"}),
    /// A model.
    TierWord => words(Tier::ALL.iter().map(|it| it.word())),
    /// With input images or without.
    ModeWord => words(Mode::ALL.iter().map(|it| it.word())),
    /// A size.
    ResolutionWord => words(Resolution::ALL.iter().map(|it| it.word())),
    /// A shape.
    RatioWord => words(AspectRatio::ALL.iter().map(ToString::to_string)),
    /// A shape, or the word that follows the first input image.
    ChoiceWord => words(AspectRatio::ALL.iter().map(ToString::to_string).chain(["auto".to_owned()])),
    /// A kind of ledger line.
    EntryWord => words(["deposit", "charge", "adjustment"]),
    /// How bodies to a webhook are written.
    EncodingWord => words(Encoding::ALL.iter().map(|it| it.word())),
    /// How a delivery stands.
    DeliveryStatus => words(["pending", "delivered", "failed"]),
    /// Why a delivery is given up.
    DeliveryReason => words(["attempts exhausted", "webhook deleted", "webhook url changed"]),
    /// Which interface a job came by.
    OriginWord => words(["native", "synchronous"]),
    /// Who made a change.
    ActorWord => words(["operator", "service", "person"]),
    /// What was changed.
    ActionWord => words(Action::ALL.iter().map(|it| it.word())),
    /// What a person may do.
    RoleWord => words(["owner", "viewer"]),
    /// How it stands with a person's invitation.
    PersonStatus => words(["active", "invited", "expired"]),
    /// Whether a back end is used.
    HealthWord => words(["up", "down", "probing"]),
    /// A JSON object of the caller's.
    Metadata => json!({"type": "object", "additionalProperties": true}),
);

/// The id of the examples.
pub const JOB: &str = "01a1fa95-2c1f-7c3a-9d5e-3f6b8a4c2d10";
/// What amounts look like in answers.
const MONEY: &str = r"^-?[0-9]{1,15}\.[0-9]{2,6}$";
/// What amounts may look like in bodies.
const AMOUNT: &str = r"^-?0*[0-9]{1,15}(\.[0-9]{1,6}0*)?$";

/// A value as a schema.
fn schema(value: Value) -> Schema {
    // Each of these is an object, which is a schema.
    Schema::try_from(value).unwrap_or_default()
}

/// One of these words.
pub fn words(words: impl IntoIterator<Item = impl Into<Value>>) -> Value {
    let words: Vec<Value> = words.into_iter().map(Into::into).collect();
    json!({"type": "string", "enum": words})
}

/// An amount in a body.
pub fn amount() -> Value {
    json!({"type": "string", "pattern": AMOUNT, "examples": ["25.00"]})
}

/// A schema that takes `null` as well.
pub fn or_null(mut schema: Value) -> Value {
    let kind = schema["type"].take();
    schema["type"] = json!([kind, "null"]);
    if let Some(Value::Array(words)) = schema.get_mut("enum") {
        words.push(Value::Null);
    }
    schema
}

/// An object with one value for each model.
pub struct PerTier<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for PerTier<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "PerTier".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let words = Tier::ALL.iter().map(|tier| tier.word());
        let value = generator.subschema_for::<T>().to_value();
        let properties = words.clone().map(|word| (word.to_owned(), value.clone()));
        schema(json!({
            "type": "object",
            "properties": properties.collect::<Map<_, _>>(),
            "required": words.collect::<Vec<_>>(),
            "additionalProperties": false,
        }))
    }
}
