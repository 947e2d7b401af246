//! Readers of values that several kinds of backends have.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::config::node::{Item, Tree};
use crate::config::reader::Field;
use crate::config::values::integer;

/// The largest 1K size: SDXL models are trained for it.
pub(super) const DEFAULT_MAX_PIXELS: u64 = 1_179_648;

/// Of a value in `override_settings` and `request`.
const MAX_DEPTH: usize = 8;

pub(super) fn max_pixels(field: &Field<'_>) -> Option<u64> {
    integer(65_536..=268_435_456)(field)
}

/// Reads a table of fields that are sent with each request, none of which may be one of `own`.
pub(super) fn further_fields(
    own: &[&str],
) -> impl Fn(&Field<'_>) -> Option<BTreeMap<String, Value>> {
    move |field| {
        if let Some(key) = field.table()?.keys().find(|it| own.contains(&it.as_str())) {
            field.fault(format!(
                "expected no {key} in here; Tintype sets this field itself"
            ));
            return None;
        }
        json_table(field)
    }
}

/// Reads a table of any shape as JSON.
pub(super) fn json_table(field: &Field<'_>) -> Option<BTreeMap<String, Value>> {
    match json_of(field.table()?, 0) {
        Some(options) => Some(options.into_iter().collect()),
        None => {
            field.fault(format!(
                "expected strings, finite numbers, booleans, lists and tables at most {MAX_DEPTH} deep"
            ));
            None
        }
    }
}

fn json_of(tree: &Tree, depth: usize) -> Option<serde_json::Map<String, Value>> {
    tree.iter()
        .map(|(key, node)| Some((key.clone(), json_value(&node.item, depth + 1)?)))
        .collect()
}

fn json_value(item: &Item, depth: usize) -> Option<Value> {
    if depth > MAX_DEPTH {
        return None;
    }
    Some(match item {
        Item::Text(text) => Value::from(text.as_str()),
        Item::Integer(number) => Value::from(i64::try_from(*number).ok()?),
        Item::Float(number) => Value::Number(serde_json::Number::from_f64(*number)?),
        Item::Boolean(on) => Value::from(*on),
        Item::List(nodes) => Value::Array(
            nodes
                .iter()
                .map(|node| json_value(&node.item, depth + 1))
                .collect::<Option<_>>()?,
        ),
        Item::Table(tree) => Value::Object(json_of(tree, depth)?),
        Item::Other(_) => return None,
    })
}
