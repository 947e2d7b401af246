//! The context of descriptions: the schemas of one document, and the configuration.

use super::operation::ResponseDoc;
use crate::config::Config;
use crate::web::queries::paging::Page;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use tintype_storage::domain::catalog::Catalog;

const SCHEMAS_PATH: &str = "/components/schemas";

pub struct DocumentBuilder<'a> {
    pub config: &'a Config,
    pub catalog: &'a Catalog,
    generator: SchemaGenerator,
}

impl<'a> DocumentBuilder<'a> {
    pub fn new(config: &'a Config, catalog: &'a Catalog) -> Self {
        let mut settings = SchemaSettings::draft2020_12().for_serialize();
        settings.definitions_path = SCHEMAS_PATH.into();
        settings.meta_schema = None;
        let settings = settings.with_transform(RecursiveTransform(as_served));
        Self {
            config,
            catalog,
            generator: settings.into_generator(),
        }
    }

    /// The schema of a serialized type; a reference if the type has a name.
    pub fn schema<T: JsonSchema>(&mut self) -> Value {
        self.generator.subschema_for::<T>().to_value()
    }

    /// A JSON response with a body of this type.
    pub fn response<T: JsonSchema>(
        &mut self,
        status: u16,
        text: &'static str,
        example: Value,
    ) -> ResponseDoc {
        let schema = self.schema::<T>();
        let content = json!({"schema": schema, "example": example});
        ResponseDoc::new(status, text).content("application/json", content)
    }

    /// A page of a list, with an example of the whole page.
    pub fn page<T: JsonSchema>(&mut self, text: &'static str, example: Value) -> ResponseDoc {
        self.response::<Page<T>>(200, text, example)
    }

    /// All referenced schemas, by name.
    pub fn definitions(mut self) -> Map<String, Value> {
        self.generator.take_definitions(true)
    }
}

/// Says of each object that it has no other fields, and of each count only that it is an integer from 0: how many bits a
/// number has in Rust is not part of the API.
fn as_served(schema: &mut Schema) {
    if schema.get("properties").is_some() && schema.get("additionalProperties").is_none() {
        schema.insert("additionalProperties".into(), false.into());
    }
    if schema
        .get("format")
        .and_then(Value::as_str)
        .is_some_and(|format| format.starts_with("uint"))
    {
        schema.remove("format");
    }
}
