//! `tintype key ...`: the API keys of a running server.

use super::common::{Common, block_on, or_dash};
use super::key_options::KeyOptions;
use super::operator::read;
use super::output::{facts, print, print_json};
use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::{Value, json};
use std::process::ExitCode;
use tintype_storage::domain::ids::KeyId;

/// What to do with API keys.
#[derive(Subcommand)]
pub enum Command {
    /// List the keys of an account, oldest first.
    List(List),
    /// Make a key; prints its text, this once.
    Add(Add),
    /// Show a key with its limits and what it has spent.
    Show(One),
    /// Change a key's name, scope or limits; what is not named stays.
    Change(Change),
    /// Give a key a new text, which is printed this once; the old one stays valid for some hours.
    Rotate(Rotate),
    /// Switch a key off; `key change --active true` switches it on again.
    Deactivate(One),
    /// Remove a key. Its jobs and what it spent stay on record.
    Rm(One),
}

/// Options of `key list`.
#[derive(Args)]
pub struct List {
    /// Whose keys, by id or name [default: the only account].
    #[arg(long, value_name = "ID_OR_NAME")]
    account: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// Options of `key add`.
#[derive(Args)]
pub struct Add {
    /// Its name, for people.
    name: String,
    /// Whose key it is, by id or name [default: the only account].
    #[arg(long, value_name = "ID_OR_NAME")]
    account: Option<String>,
    #[command(flatten)]
    options: KeyOptions,
    #[command(flatten)]
    common: Common,
}

/// Options of what is done with one key.
#[derive(Args)]
pub struct One {
    /// The key's id; not its text, which is a secret.
    id: KeyId,
    #[command(flatten)]
    common: Common,
}

/// Options of `key change`.
#[derive(Args)]
pub struct Change {
    /// The key's id.
    id: KeyId,
    /// A new name.
    #[arg(long)]
    name: Option<String>,
    /// Switched on or off.
    #[arg(long, value_name = "BOOL")]
    active: Option<bool>,
    #[command(flatten)]
    options: KeyOptions,
    #[command(flatten)]
    common: Common,
}

/// Options of `key rotate`.
#[derive(Args)]
pub struct Rotate {
    /// The key's id.
    id: KeyId,
    /// Hours that the old text stays valid; 0 ends it, and all before it, at once.
    #[arg(long, value_name = "HOURS", default_value_t = 24, value_parser = clap::value_parser!(u32).range(0..=720))]
    overlap: u32,
    #[command(flatten)]
    common: Common,
}

#[derive(Deserialize)]
struct Key {
    key_id: String,
    account_id: String,
    api_key: Option<String>,
    name: String,
    models: Vec<String>,
    active: bool,
    expires_at: Option<String>,
    spend_limit: Option<String>,
    spend_limit_daily: Option<String>,
    spend_limit_monthly: Option<String>,
    spent: String,
    spent_today: String,
    spent_this_month: String,
    rate_limit: Option<Rate>,
    allowed_ips: Option<Vec<String>>,
    last_used_at: Option<String>,
    previous_valid_until: Option<String>,
    created_at: String,
}

#[derive(Deserialize)]
struct Rate {
    per_second: u32,
    burst: u32,
}

/// Does it.
pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    block_on(async {
        match command {
            Command::List(arguments) => list(arguments).await,
            Command::Add(arguments) => add(arguments).await,
            Command::Show(One { id, common }) => {
                let answer = common.operator()?.get(&path(id)).await?;
                common.show(answer, shown)
            }
            Command::Change(arguments) => change(arguments).await,
            Command::Rotate(arguments) => rotate(arguments).await,
            Command::Deactivate(One { id, common }) => {
                let off = json!({"active": false});
                let answer = common.operator()?.patch(&path(id), off).await?;
                common.show(answer, shown)
            }
            Command::Rm(One { id, common }) => remove(id, &common).await,
        }
    })
}

fn path(id: KeyId) -> String {
    format!("/keys/{id}")
}

async fn list(List { account, common }: List) -> anyhow::Result<()> {
    let operator = common.operator()?;
    let account = operator.account(account.as_deref()).await?;
    let path = format!("/accounts/{}/keys", account.account_id);
    let all = operator.whole(&path).await?;
    let heads = [
        "KEY",
        "CREATED",
        "ACTIVE",
        "MODELS",
        "SPENT",
        "LIMIT",
        "LAST USED",
        "NAME",
    ];
    common.show_list(all, &heads, |value| {
        let it: Key = read(value)?;
        Ok(vec![
            it.key_id,
            it.created_at,
            if it.active { "yes" } else { "no" }.to_owned(),
            it.models.join(","),
            it.spent,
            or_dash(it.spend_limit),
            or_dash(it.last_used_at),
            it.name,
        ])
    })
}

async fn add(arguments: Add) -> anyhow::Result<()> {
    let operator = arguments.common.operator()?;
    let account = operator.account(arguments.account.as_deref()).await?;
    let mut body = arguments.options.body()?;
    body.insert("name".to_owned(), arguments.name.into());
    let path = format!("/accounts/{}/keys", account.account_id);
    let answer = operator.post(&path, Some(Value::Object(body))).await?;
    arguments.common.show(answer, shown)
}

async fn change(arguments: Change) -> anyhow::Result<()> {
    let mut body = arguments.options.body()?;
    body.extend(arguments.name.map(|it| ("name".to_owned(), it.into())));
    body.extend(arguments.active.map(|it| ("active".to_owned(), it.into())));
    anyhow::ensure!(
        !body.is_empty(),
        "name what to change, such as --models fast; see tintype key change --help"
    );
    let operator = arguments.common.operator()?;
    let answer = operator
        .patch(&path(arguments.id), Value::Object(body))
        .await?;
    arguments.common.show(answer, shown)
}

async fn rotate(arguments: Rotate) -> anyhow::Result<()> {
    let path = format!("{}/rotate", path(arguments.id));
    let body = json!({"overlap_hours": arguments.overlap});
    let answer = arguments.common.operator()?.post(&path, Some(body)).await?;
    arguments.common.show(answer, shown)
}

async fn remove(id: KeyId, common: &Common) -> anyhow::Result<()> {
    let answer = common.operator()?.delete(&path(id)).await?;
    if common.json {
        return print_json(&answer);
    }
    print(&format!("removed {id}\n"))
}

fn shown(answer: Value) -> anyhow::Result<String> {
    let it: Key = read(answer)?;
    let limit = |limit: Option<String>, spent: &str| match limit {
        Some(limit) => format!("{spent} of {limit}"),
        None => spent.to_owned(),
    };
    let rate = it
        .rate_limit
        .map(|rate| format!("{} a second, {} at once", rate.per_second, rate.burst));
    Ok(facts(&[
        ("key", Some(&it.key_id)),
        ("api key", it.api_key.as_deref()),
        ("name", Some(&it.name)),
        ("account", Some(&it.account_id)),
        ("active", Some(if it.active { "yes" } else { "no" })),
        ("models", Some(&it.models.join(", "))),
        ("spent", Some(&limit(it.spend_limit, &it.spent))),
        (
            "this month",
            Some(&limit(it.spend_limit_monthly, &it.spent_this_month)),
        ),
        ("today", Some(&limit(it.spend_limit_daily, &it.spent_today))),
        ("rate", rate.as_deref()),
        (
            "from",
            it.allowed_ips.map(|ranges| ranges.join(", ")).as_deref(),
        ),
        ("expires", it.expires_at.as_deref()),
        ("old text ends", it.previous_valid_until.as_deref()),
        ("last used", it.last_used_at.as_deref()),
        ("created", Some(&it.created_at)),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_shown_with_its_limits_beside_what_is_spent() {
        let key = json!({
            "key_id": "k1", "account_id": "a1", "api_key": "tt_x", "name": "ci", "models": ["fast", "pro"], "active": false,
            "expires_at": "t1", "spend_limit": "5.00", "spend_limit_daily": null, "spend_limit_monthly": "2.00",
            "spent": "0.50", "spent_today": "0.10", "spent_this_month": "0.20",
            "rate_limit": {"per_second": 5, "burst": 10}, "allowed_ips": ["10.0.0.0/8", "::1/128"],
            "last_used_at": null, "previous_valid_until": "t2", "created_at": "t0",
        });
        insta::assert_snapshot!(shown(key).unwrap());
    }
}
