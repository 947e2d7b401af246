//! Request bodies: one declaration per body defines its parser and its schema.

use crate::fields::{FieldFault, Fields};
use crate::schema::{object, with_description};
use serde_json::Value;

/// A request body.
pub trait Body: Sized {
    /// The names of the fields, in the order of the documentation.
    const FIELDS: &'static [&'static str];

    /// Reads all fields. `None` if one has a fault.
    fn take(fields: &mut Fields<'_>) -> Option<Self>;

    /// The schema. `required` names optional fields that are required here.
    fn schema(required: &[&str]) -> Value;
}

/// A field: whether it is required, and its kind of value.
pub trait Presence {
    type Value;
    const IS_REQUIRED: bool;

    /// Reads the field. `None` if it has a fault.
    fn take(fields: &mut Fields<'_>, name: &str) -> Option<Self::Value>;

    fn schema(is_required: bool) -> Value;
}

/// Parses a body.
///
/// # Errors
/// Every faulty field.
pub fn read<B: Body>(body: &[u8]) -> Result<B, Vec<FieldFault>> {
    read_requiring(body, &[])
}

/// Parses a body in which the optional fields `required` are required.
///
/// # Errors
/// Every faulty field.
pub fn read_requiring<B: Body>(
    body: &[u8],
    required: &'static [&'static str],
) -> Result<B, Vec<FieldFault>> {
    let mut fields = Fields::parse(body)?.requiring(required);
    let read = B::take(&mut fields);
    fields.finish(B::FIELDS)?;
    // If `take` failed, `finish` has returned the fault.
    read.ok_or_else(|| vec![FieldFault::new("body", "is incomplete")])
}

/// Builds the schema of a body.
pub(crate) struct FieldSchemas<'a> {
    pub fields: Vec<(&'static str, Value)>,
    pub always_required: Vec<&'static str>,
    pub required: &'a [&'a str],
}

impl<'a> FieldSchemas<'a> {
    pub fn new(required: &'a [&'a str]) -> Self {
        Self {
            fields: Vec::new(),
            always_required: Vec::new(),
            required,
        }
    }

    /// Adds a field. An empty text keeps the schema's own description.
    pub fn add<P: Presence>(&mut self, name: &'static str, text: &str) {
        if P::IS_REQUIRED {
            self.always_required.push(name);
        }
        let schema = P::schema(self.required.contains(&name));
        let schema = match text.trim() {
            "" => schema,
            text => with_description(schema, text),
        };
        self.fields.push((name, schema));
    }

    pub fn into_schema(self) -> Value {
        let required = [&self.always_required, self.required].concat();
        object(self.fields, &required)
    }
}

/// Declares the fields of a body. The doc comment of a field becomes its description in the OpenAPI document.
macro_rules! body {
    ($type:ty { $($(#[doc = $text:literal])* $field:ident: $presence:ty),+ $(,)? }) => {
        impl $crate::body::Body for $type {
            const FIELDS: &'static [&'static str] = &[$(stringify!($field)),+];

            fn take(fields: &mut $crate::fields::Fields<'_>) -> Option<Self> {
                $(let $field = <$presence as $crate::body::Presence>::take(fields, stringify!($field));)+
                Some(Self { $($field: $field?),+ })
            }

            fn schema(required: &[&str]) -> serde_json::Value {
                let mut schemas = $crate::body::FieldSchemas::new(required);
                $(schemas.add::<$presence>(stringify!($field), concat!($($text),*));)+
                schemas.into_schema()
            }
        }
    };
}
