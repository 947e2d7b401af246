//! `tintype audit`: audit log of a running server.

use super::person::{person, person_id};
use crate::cli::common::{Common, or_dash, parse_end, parse_time};
use crate::cli::operator::{PageOptions, only_set};
use crate::cli::output::{Column, truncate};
use clap::{Args, Subcommand};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use tintype_api::AuditEntry;
use tintype_storage::domain::time::Timestamp;

/// Maximum characters of a change in a row.
const MAX_CHANGE_CHARS: usize = 120;

const COLUMNS: [Column<AuditEntry>; 6] = [
    ("TIME", |it| it.at.to_string()),
    ("ACTOR", |it| it.actor.to_string()),
    ("ADDRESS", |it| or_dash(it.address.as_deref())),
    ("ACTION", |it| it.action.to_string()),
    ("SUBJECT", |it| or_dash(it.subject_id.as_deref())),
    ("CHANGE", |it| {
        let [before, after] = [&it.before, &it.after].map(|it| parse_object(it.as_deref()));
        truncate(&changes(before, after), MAX_CHANGE_CHARS)
    }),
];

#[derive(Subcommand)]
pub enum Command {
    /// List changes, newest first.
    List(List),
}

#[derive(Args)]
pub struct List {
    /// Filter by account, by id or name.
    #[arg(long, value_name = "ID_OR_NAME")]
    account: Option<String>,
    /// Filter by the person who made the change, by id or email address. An address is looked up in --account.
    #[arg(long, value_name = "ID_OR_EMAIL", value_parser = person)]
    person: Option<String>,
    /// Filter by action, such as key.change, or by group, such as key.
    #[arg(long)]
    action: Option<String>,
    /// Filter by time: at or after a date (00:00 UTC) or time, such as 2026-11-20 or 2026-11-20T08:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    from: Option<Timestamp>,
    /// Filter by time: at or before a time, or a date to its end (UTC).
    #[arg(long, value_name = "TIME", value_parser = parse_end)]
    to: Option<Timestamp>,
    #[command(flatten)]
    page: PageOptions,
    #[command(flatten)]
    common: Common,
}

pub async fn run(Command::List(arguments): Command) -> anyhow::Result<()> {
    let operator = arguments.common.operator()?;
    let account = arguments.account.as_deref();
    let person = match arguments.person.as_deref() {
        Some(person) if person.contains('@') => {
            let people = operator.account_path(account, "/people").await?;
            Some(person_id(&operator, &people, person).await?)
        }
        person => person.map(str::to_owned),
    };
    let account = operator.account_id(account).await?;
    let filters = only_set([
        ("account_id", account),
        ("person_id", person),
        ("action", arguments.action),
        ("from", arguments.from.map(|it| it.to_string())),
        ("to", arguments.to.map(|it| it.to_string())),
    ]);
    let found = operator.list("/audit", &filters, arguments.page).await?;
    arguments.common.show_list(found, &COLUMNS)
}

fn parse_object(text: Option<&RawValue>) -> Map<String, Value> {
    let object = text.and_then(|it| serde_json::from_str(it.get()).ok());
    object.unwrap_or_default()
}

/// The changed fields, as `name: before -> after`.
fn changes(before: Map<String, Value>, after: Map<String, Value>) -> String {
    let [before, after] = [before, after].map(|members| {
        let mut fields = BTreeMap::new();
        flatten("", members, &mut fields);
        fields
    });
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let change = |name: &String| match (before.get(name), after.get(name)) {
        (before, after) if before == after => None,
        (None, Some(after)) => Some(format!("{name}: {after}")),
        (before, after) => Some(format!(
            "{name}: {} -> {}",
            or_dash(before.cloned()),
            or_dash(after.cloned())
        )),
    };
    let changes: Vec<String> = names.into_iter().filter_map(change).collect();
    changes.join("; ")
}

/// Collects the fields that have a value. The name of a nested field is its path.
fn flatten(prefix: &str, members: Map<String, Value>, fields: &mut BTreeMap<String, String>) {
    for (name, value) in members {
        let path = format!("{prefix}{name}");
        match value {
            Value::Null => {}
            Value::Object(members) => flatten(&format!("{path}."), members, fields),
            Value::String(text) => drop(fields.insert(path, text)),
            other => drop(fields.insert(path, other.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_shows_the_changed_fields() {
        let entry = json!({
            "audit_id": "x", "at": "t", "actor": "operator", "action": "key.change", "account_id": "a", "subject_id": "k",
            "before": {"name": "ci", "models": ["fast"], "spend_limit": null, "expires_at": "soon"},
            "after": {"name": "ci", "models": ["fast", "pro"], "spend_limit": "5.00", "expires_at": null},
            "request_id": "r", "address": "127.0.0.1"
        });
        let entry = serde_json::from_value(entry).unwrap();
        let row = COLUMNS.map(|(_, value)| value(&entry));
        let expected =
            r#"expires_at: soon -> -; models: ["fast"] -> ["fast","pro"]; spend_limit: 5.00"#;
        assert_eq!(row[5], expected);
        assert_eq!(row[..5], ["t", "operator", "127.0.0.1", "key.change", "k"]);
    }

    #[test]
    fn a_changed_field_in_an_object_is_named_by_its_path() {
        let object = |value: Value| value.as_object().cloned().unwrap_or_default();
        let before = object(json!({"project": false, "tiers": {"fast": false, "pro": true}}));
        let after = object(json!({
            "project": false, "tiers": {"fast": true, "pro": true}, "reasons": {"fast": "repair", "pro": null}
        }));
        let expected = "reasons.fast: repair; tiers.fast: false -> true";
        assert_eq!(changes(before, after), expected);
    }
}
