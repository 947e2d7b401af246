//! Hand-written schemas, and helpers for them.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::marker::PhantomData;
use tintype_storage::domain::tier::Tier;

/// The id in all examples.
pub const EXAMPLE_ID: &str = "01a1fa95-2c1f-7c3a-9d5e-3f6b8a4c2d10";

/// An enum of strings.
pub fn words(words: impl IntoIterator<Item = impl Into<Value>>) -> Value {
    let words: Vec<Value> = words.into_iter().map(Into::into).collect();
    json!({"type": "string", "enum": words})
}

/// Allows `null` too.
pub fn or_null(mut schema: Value) -> Value {
    let kind = schema["type"].take();
    schema["type"] = json!([kind, "null"]);
    if let Some(Value::Array(words)) = schema.get_mut("enum") {
        words.push(Value::Null);
    }
    schema
}

pub fn with_description(mut schema: Value, text: impl Into<Value>) -> Value {
    schema["description"] = text.into();
    schema
}

/// An object with exactly these fields.
pub fn object(fields: Vec<(&str, Value)>, required: &[&str]) -> Value {
    let order: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let named = fields.into_iter().map(|(name, it)| (name.to_owned(), it));
    let mut schema = json!({
        "type": "object",
        "properties": named.collect::<Map<_, _>>(),
        "additionalProperties": false,
        // JSON objects have no order, and the documentation lists the most important fields first.
        "x-order": order,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

pub(crate) fn schema(value: Value) -> Schema {
    // Every value here is a JSON object, and so a valid schema.
    Schema::try_from(value).unwrap_or_default()
}

/// Gives a type a schema that documents repeat at each use.
macro_rules! inline_schema {
    ($name:ident, $schema:expr) => {
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
pub(crate) use inline_schema;

macro_rules! hints {
    ($($(#[$doc:meta])* $name:ident => $schema:expr),+ $(,)?) => {$(
        $(#[$doc])*
        pub enum $name {}

        inline_schema!($name, $schema);
    )+};
}

hints!(
    /// Any integer.
    Integer => json!({"type": "integer"}),
    /// The `active` of an inactive account.
    Off => json!({"type": "boolean", "const": false}),
    /// An HTTP status.
    StatusCode => json!({"type": "integer", "minimum": 100, "maximum": 999}),
    /// Any JSON object.
    Metadata => json!({"type": "object", "additionalProperties": true}),
);

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
        let words = Tier::names();
        let value = generator.subschema_for::<T>().to_value();
        let of = |word: &str| with_description(value.clone(), format!("For `{word}`."));
        let properties = words.clone().map(|word| (word.to_owned(), of(word)));
        schema(json!({
            "type": "object",
            "properties": properties.collect::<Map<_, _>>(),
            "required": words.collect::<Vec<_>>(),
            "additionalProperties": false,
        }))
    }
}
