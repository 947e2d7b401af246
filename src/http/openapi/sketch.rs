//! What descriptions are made with: the schemas of one document, and the settings that it tells.

use crate::config::Config;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};
use tintype_storage::domain::catalog::Catalog;

/// Where the document keeps schemas that have a name.
const PLACE: &str = "/components/schemas";

/// A document in the making.
pub struct Sketch<'a> {
    /// The configuration in effect.
    pub config: &'a Config,
    /// What is on sale.
    pub catalog: &'a Catalog,
    generator: SchemaGenerator,
}

impl<'a> Sketch<'a> {
    /// One without schemas.
    pub fn new(config: &'a Config, catalog: &'a Catalog) -> Self {
        let mut settings = SchemaSettings::draft2020_12().for_serialize();
        settings.definitions_path = PLACE.into();
        settings.meta_schema = None;
        Self {
            config,
            catalog,
            generator: settings.into_generator(),
        }
    }

    /// The schema of what a type is written as: a reference, where it has a name.
    pub fn schema<T: JsonSchema>(&mut self) -> Value {
        self.generator.subschema_for::<T>().to_value()
    }

    /// All schemas that have been referred to, by name.
    pub fn definitions(mut self) -> Map<String, Value> {
        self.generator.take_definitions(true)
    }
}

/// A reference to a named part of the document.
pub fn reference(kind: &str, name: &str) -> Value {
    json!({"$ref": format!("#/components/{kind}/{name}")})
}
