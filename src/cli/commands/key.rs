//! `tintype key`: API keys of a running server.

use crate::cli::common::{AccountScope, Common, or_dash, rate_text};
use crate::cli::key_options::KeyOptions;
use crate::cli::key_ref::KeyRef;
use crate::cli::operator::Operator;
use crate::cli::output::{Column, field_lines};
use anyhow::Context as _;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tintype_api::ApiKey;
use tintype_api::text::Money;
use tintype_storage::domain::time::Timestamp;

/// The server shows the value of a key only once.
const LOST_TEXT: &str =
    "the value of the new key is lost; get another one with `tintype key rotate`";

const COLUMNS: [Column<ApiKey>; 11] = [
    ("KEY", |it| it.key_id.to_string()),
    ("CREATED", |it| it.created_at.to_string()),
    ("ACTIVE", |it| active(it, Timestamp::now()).to_owned()),
    ("MODELS", |it| models(it, ",")),
    ("SPENT", |it| it.spent.to_string()),
    ("RESERVED", |it| it.reserved.to_string()),
    ("LIMIT", |it| or_dash(limits(it))),
    ("EXPIRES", |it| or_dash(it.expires_at.as_deref())),
    ("LAST USED", |it| or_dash(it.last_used_at.as_deref())),
    ("PREFIX", |it| it.prefix.clone()),
    ("NAME", |it| it.name.clone()),
];

#[derive(Subcommand)]
pub enum Command {
    /// List the API keys of an account, oldest first.
    List(AccountScope),
    /// Create an API key and print it. It is shown only once.
    Add(Add),
    /// Show a key with its limits and its spending.
    Show(Target),
    /// Change the name, scope or limits of a key. Options that you omit stay unchanged.
    Change(Change),
    /// Rotate a key: print its replacement once, and keep the old key working for some hours.
    Rotate(Rotate),
    /// Deactivate a key: calls with it are rejected.
    Deactivate(Target),
    /// Activate a deactivated key.
    Activate(Target),
    /// Delete a key. Its jobs and charges are kept.
    Rm(Target),
}

#[derive(Args)]
pub struct Add {
    /// Display name.
    name: String,
    #[command(flatten)]
    options: KeyOptions,
    #[command(flatten)]
    scope: AccountScope,
}

#[derive(Args)]
pub struct Target {
    /// The key, by id or name; not the key itself.
    #[arg(value_name = "ID_OR_NAME")]
    id: KeyRef,
    /// The account in which to look up the name, by id or name [default: the only active one].
    #[arg(long, value_name = "ID_OR_NAME")]
    account: Option<String>,
    #[command(flatten)]
    common: Common,
}

impl Target {
    /// The client, and the id of the key.
    async fn resolve(&self) -> anyhow::Result<(Operator, String)> {
        let operator = self.common.operator()?;
        let id = self.id.resolve(&operator, self.account.as_deref()).await?;
        Ok((operator, id))
    }
}

#[derive(Args)]
pub struct Change {
    /// New display name.
    #[arg(long)]
    name: Option<String>,
    /// Activate (true) or deactivate (false) the key.
    #[arg(long, value_name = "BOOL")]
    active: Option<bool>,
    #[command(flatten)]
    options: KeyOptions,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
pub struct Rotate {
    /// Hours for which the old key keeps working (0: revoke it and all older keys immediately).
    #[arg(long, value_name = "HOURS", default_value_t = 24, value_parser = clap::value_parser!(u32).range(0..=720))]
    overlap: u32,
    #[command(flatten)]
    target: Target,
}

pub async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::List(scope) => scope.show_list("/keys", &COLUMNS).await,
        Command::Add(arguments) => add(arguments).await,
        Command::Show(target) => {
            let (operator, id) = target.resolve().await?;
            let response = operator.get(&path(&id)).await?;
            target.common.show(response, describe)
        }
        Command::Change(arguments) => change(arguments).await,
        Command::Rotate(arguments) => rotate(arguments).await,
        Command::Deactivate(target) => set_active(target, false).await,
        Command::Activate(target) => set_active(target, true).await,
        Command::Rm(target) => {
            let (operator, id) = target.resolve().await?;
            let response = operator.delete(&path(&id)).await?;
            target.common.confirm(&response, &format!("deleted {id}"))
        }
    }
}

fn path(id: &str) -> String {
    format!("/keys/{id}")
}

/// All spend limits of a key.
fn limits(key: &ApiKey) -> Option<String> {
    let limits = [
        (&key.spend_limit, ""),
        (&key.spend_limit_monthly, "/month"),
        (&key.spend_limit_daily, "/day"),
    ];
    let set = limits
        .into_iter()
        .filter_map(|(limit, period)| Some(format!("{}{period}", &**limit.as_ref()?)));
    let set: Vec<String> = set.collect();
    (!set.is_empty()).then(|| set.join(", "))
}

/// Whether the server accepts the key, as far as the clock of this machine tells.
fn active(key: &ApiKey, now: Timestamp) -> &'static str {
    let end = key.expires_at.as_deref().and_then(Timestamp::parse);
    match (key.active, end) {
        (false, _) => "no",
        (true, Some(end)) if end <= now => "expired",
        (true, _) => "yes",
    }
}

async fn add(arguments: Add) -> anyhow::Result<()> {
    let (operator, path) = arguments.scope.path("/keys").await?;
    let mut body = arguments.options.body()?;
    // The server accepts such a time, so that programs can make a key that is refused. Here it is a mistake.
    let end = body.get("expires_at").and_then(Value::as_str);
    if let Some(end) =
        end.filter(|end| Timestamp::parse(end).is_some_and(|it| it <= Timestamp::now()))
    {
        anyhow::bail!("--expires `{end}`: must be in the future");
    }
    body.insert("name".to_owned(), arguments.name.into());
    let response = operator.post(&path, Some(Value::Object(body))).await?;
    let shown = arguments.scope.common.show(response, describe);
    shown.context(LOST_TEXT)
}

async fn change(arguments: Change) -> anyhow::Result<()> {
    let mut body = arguments.options.body()?;
    body.extend(arguments.name.map(|it| ("name".to_owned(), it.into())));
    body.extend(arguments.active.map(|it| ("active".to_owned(), it.into())));
    anyhow::ensure!(
        !body.is_empty(),
        "nothing to change; set an option such as --models fast (see `tintype key change --help`)"
    );
    let (operator, id) = arguments.target.resolve().await?;
    let response = operator.patch(&path(&id), Value::Object(body)).await?;
    arguments.target.common.show(response, describe)
}

async fn set_active(target: Target, active: bool) -> anyhow::Result<()> {
    let (operator, id) = target.resolve().await?;
    let body = json!({"active": active});
    let response = operator.patch(&path(&id), body).await?;
    target.common.show(response, describe)
}

async fn rotate(arguments: Rotate) -> anyhow::Result<()> {
    let (operator, id) = arguments.target.resolve().await?;
    let path = format!("{}/rotate", path(&id));
    let body = json!({"overlap_hours": arguments.overlap});
    let response = operator.post(&path, Some(body)).await?;
    let shown = arguments.target.common.show(response, describe);
    shown.context(LOST_TEXT)
}

fn models(key: &ApiKey, separator: &str) -> String {
    let models: Vec<&str> = key.models.iter().map(|it| &**it).collect();
    models.join(separator)
}

fn describe(it: ApiKey) -> String {
    let limit = |limit: &Option<Money>, spent: &str| match limit {
        Some(limit) => format!("{spent} of {}", &**limit),
        None => spent.to_owned(),
    };
    let rate = it.rate_limit.as_ref().map(rate_text);
    field_lines(&[
        ("key", Some(&it.key_id)),
        ("api key", it.api_key.as_deref()),
        ("prefix", Some(&it.prefix)),
        ("name", Some(&it.name)),
        ("account", Some(&it.account_id)),
        ("active", Some(active(&it, Timestamp::now()))),
        ("models", Some(&models(&it, ", "))),
        ("spent", Some(&limit(&it.spend_limit, &it.spent))),
        (
            "this month",
            Some(&limit(&it.spend_limit_monthly, &it.spent_this_month)),
        ),
        (
            "today",
            Some(&limit(&it.spend_limit_daily, &it.spent_today)),
        ),
        ("reserved", Some(&it.reserved)),
        ("rate", rate.as_deref()),
        (
            "allowed ips",
            it.allowed_ips.as_ref().map(|it| it.join(", ")).as_deref(),
        ),
        (
            "max live jobs",
            it.max_concurrent.map(|it| it.to_string()).as_deref(),
        ),
        ("expires", it.expires_at.as_deref()),
        ("old key valid until", it.previous_valid_until.as_deref()),
        ("last used", it.last_used_at.as_deref()),
        ("created", Some(&it.created_at)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expired_key_is_not_active() {
        let now = Timestamp::parse("2026-11-20T00:00:00Z").unwrap();
        for (is_active, expires, shown) in [
            (true, json!(null), "yes"),
            (true, json!("2026-11-20T00:00:00.001Z"), "yes"),
            (true, json!("2026-11-20T00:00:00.000Z"), "expired"),
            (false, json!("2026-11-20T00:00:00.000Z"), "no"),
        ] {
            let key = json!({
                "key_id": "k1", "account_id": "a1", "prefix": "tt_9Xb1", "system": false, "name": "ci", "models": ["fast"],
                "active": is_active, "expires_at": expires, "spend_limit": null, "spend_limit_daily": null,
                "spend_limit_monthly": null, "spent": "0.00", "spent_today": "0.00", "spent_this_month": "0.00", "reserved": "0.00",
                "rate_limit": null, "allowed_ips": null, "max_concurrent": null, "last_used_at": null,
                "previous_valid_until": null, "created_at": "t0",
            });
            let key = serde_json::from_value(key).unwrap();
            assert_eq!(active(&key, now), shown);
        }
    }

    #[test]
    fn a_list_shows_every_spend_limit() {
        let key = |total: Value, month: Value, day: Value| -> ApiKey {
            let key = json!({
                "key_id": "k1", "account_id": "a1", "prefix": "tt_9Xb1", "system": false, "name": "ci", "models": ["fast"],
                "active": true, "expires_at": null, "spend_limit": total, "spend_limit_daily": day,
                "spend_limit_monthly": month, "spent": "0.00", "spent_today": "0.00", "spent_this_month": "0.00", "reserved": "0.00",
                "rate_limit": null, "allowed_ips": null, "max_concurrent": null, "last_used_at": null,
                "previous_valid_until": null, "created_at": "t0",
            });
            serde_json::from_value(key).unwrap()
        };
        let shown = |total, month, day| limits(&key(total, month, day));
        assert_eq!(shown(json!(null), json!(null), json!(null)), None);
        assert_eq!(
            shown(json!("5.00"), json!(null), json!(null)).as_deref(),
            Some("5.00")
        );
        assert_eq!(
            shown(json!("5.00"), json!("2.00"), json!("0.50")).as_deref(),
            Some("5.00, 2.00/month, 0.50/day")
        );
    }

    #[test]
    fn a_key_is_described_with_its_limits_and_spending() {
        let key = json!({
            "key_id": "k1", "account_id": "a1", "api_key": "tt_2Wa7x", "prefix": "tt_2Wa7", "system": false, "name": "ci", "models": ["fast", "pro"], "active": false,
            "expires_at": "t1", "spend_limit": "5.00", "spend_limit_daily": null, "spend_limit_monthly": "2.00",
            "spent": "0.50", "spent_today": "0.10", "spent_this_month": "0.20", "reserved": "0.134",
            "rate_limit": {"per_second": 5, "burst": 10}, "allowed_ips": ["10.0.0.0/8", "::1/128"],
            "max_concurrent": 4,
            "last_used_at": null, "previous_valid_until": "t2", "created_at": "t0",
        });
        insta::assert_snapshot!(describe(serde_json::from_value(key).unwrap()));
    }
}
