//! `tintype account ...`: the accounts of a running server.

use super::common::{Common, block_on, moment, or_dash};
use super::operator::{Operator, Part, read};
use super::output::{facts, print};
use crate::ledger_csv::{HEAD, Line};
use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::process::ExitCode;
use tintype_storage::domain::time::Timestamp;

/// Ledger entries per page of a CSV export.
const AT_A_TIME: usize = 1_000;

/// What to do with accounts.
#[derive(Subcommand)]
pub enum Command {
    /// List all accounts with their money, oldest first.
    List(Common),
    /// Show an account.
    Show(Show),
    /// Open an account.
    Add(Add),
    /// Rename an account.
    Rename(Rename),
    /// Deactivate an account: its keys are rejected and its people can only read. Its jobs still run.
    Deactivate(One),
    /// Activate an account again.
    Activate(One),
    /// List deposits, adjustments and charges, newest first.
    Ledger(Ledger),
}

/// Options of `account ledger`.
#[derive(Args)]
pub struct Ledger {
    /// The account, by id or name [default: the only one].
    #[arg(value_name = "ID_OR_NAME")]
    account: Option<String>,
    /// Filter by kind.
    #[arg(long, value_parser = ["deposit", "charge", "adjustment"])]
    kind: Option<String>,
    /// Only entries at or after this time, such as 2026-11-01T00:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    from: Option<Timestamp>,
    /// Only entries at or before this time.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    to: Option<Timestamp>,
    /// Print all entries as CSV, without a limit.
    #[arg(long, conflicts_with_all = ["json", "limit", "cursor"])]
    csv: bool,
    #[command(flatten)]
    part: Part,
    #[command(flatten)]
    common: Common,
}

#[derive(Deserialize)]
struct Entry {
    transaction_id: String,
    kind: String,
    amount: String,
    balance_after: String,
    job_id: Option<String>,
    reference: Option<String>,
    created_at: String,
}

/// Options of `account show`.
#[derive(Args)]
pub struct Show {
    /// The account, by id or name [default: the only one].
    #[arg(value_name = "ID_OR_NAME")]
    account: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// Options of `account add`.
#[derive(Args)]
pub struct Add {
    /// Display name.
    name: String,
    /// Opening balance, such as 25.00 [default: 0.00].
    #[arg(long, value_name = "AMOUNT")]
    balance: Option<String>,
    /// Idempotency key: repeating the command with the same key opens one account.
    #[arg(long, value_name = "NAME")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// Options of `account rename`.
#[derive(Args)]
pub struct Rename {
    /// The account, by id or name.
    #[arg(value_name = "ID_OR_NAME")]
    account: String,
    /// New display name.
    name: String,
    #[command(flatten)]
    common: Common,
}

/// Options of what is done with one account.
#[derive(Args)]
pub struct One {
    /// The account, by id or name.
    #[arg(value_name = "ID_OR_NAME")]
    account: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Deserialize)]
struct Account {
    account_id: String,
    name: String,
    balance: String,
    reserved: String,
    available: String,
    created_at: String,
    /// Sent only for a deactivated account.
    active: Option<bool>,
}

impl Account {
    fn is_active(&self) -> &'static str {
        match self.active {
            Some(false) => "no",
            Some(true) | None => "yes",
        }
    }
}

pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    block_on(async {
        match command {
            Command::List(common) => list(common).await,
            Command::Show(arguments) => show(arguments).await,
            Command::Add(arguments) => add(arguments).await,
            Command::Rename(it) => change(&it.account, json!({"name": it.name}), &it.common).await,
            Command::Deactivate(One { account, common }) => {
                change(&account, json!({"active": false}), &common).await
            }
            Command::Activate(One { account, common }) => {
                change(&account, json!({"active": true}), &common).await
            }
            Command::Ledger(arguments) => ledger(arguments).await,
        }
    })
}

async fn list(common: Common) -> anyhow::Result<()> {
    let all = common.operator()?.whole("/accounts").await?;
    let heads = [
        "ACCOUNT",
        "CREATED",
        "ACTIVE",
        "BALANCE",
        "RESERVED",
        "AVAILABLE",
        "NAME",
    ];
    common.show_list(all, &heads, |value| {
        let it: Account = read(value)?;
        let active = it.is_active().to_owned();
        Ok(vec![
            it.account_id,
            it.created_at,
            active,
            it.balance,
            it.reserved,
            it.available,
            it.name,
        ])
    })
}

async fn show(Show { account, common }: Show) -> anyhow::Result<()> {
    let operator = common.operator()?;
    let id = operator.account(account.as_deref()).await?.account_id;
    let answer = operator.get(&format!("/accounts/{id}")).await?;
    common.show(answer, shown)
}

async fn add(arguments: Add) -> anyhow::Result<()> {
    let mut body = Map::new();
    body.insert("name".to_owned(), arguments.name.into());
    if let Some(balance) = arguments.balance {
        body.insert("balance".to_owned(), balance.into());
    }
    let operator = arguments.common.operator()?;
    let name = arguments.idempotency_key.as_deref();
    let body = Value::Object(body);
    let answer = operator.post_once("/accounts", body, name).await?;
    arguments.common.show(answer, shown)
}

async fn change(account: &str, body: Value, common: &Common) -> anyhow::Result<()> {
    let operator = common.operator()?;
    let id = operator.account(Some(account)).await?.account_id;
    let answer = operator.patch(&format!("/accounts/{id}"), body).await?;
    common.show(answer, shown)
}

async fn ledger(arguments: Ledger) -> anyhow::Result<()> {
    let operator = arguments.common.operator()?;
    let account = operator.account(arguments.account.as_deref()).await?;
    let path = format!("/accounts/{}/transactions", account.account_id);
    let filters: Vec<(&str, String)> = [
        ("kind", arguments.kind),
        ("from", arguments.from.map(|it| it.to_string())),
        ("to", arguments.to.map(|it| it.to_string())),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect();
    if arguments.csv {
        return print_file(&operator, &path, &filters).await;
    }
    let found = operator.list(&path, &filters, arguments.part).await?;
    let heads = ["AT", "KIND", "AMOUNT", "BALANCE", "JOB", "REFERENCE"];
    arguments.common.show_list(found, &heads, |value| {
        let it: Entry = read(value)?;
        Ok(vec![
            it.created_at,
            it.kind,
            it.amount,
            it.balance_after,
            or_dash(it.job_id),
            or_dash(it.reference),
        ])
    })
}

/// Prints page by page, so that memory does not grow with the ledger.
async fn print_file(
    operator: &Operator,
    path: &str,
    filters: &[(&str, String)],
) -> anyhow::Result<()> {
    print(HEAD)?;
    let mut cursor = None;
    loop {
        let part = Part {
            limit: AT_A_TIME,
            cursor,
        };
        let found = operator.list(path, filters, part).await?;
        for value in found.entries {
            let it: Entry = read(value)?;
            let line = Line {
                created_at: &it.created_at,
                kind: &it.kind,
                amount: &it.amount,
                balance_after: &it.balance_after,
                job: it.job_id.as_deref(),
                reference: it.reference.as_deref(),
                id: &it.transaction_id,
            };
            print(&line.text())?;
        }
        cursor = found.next;
        if cursor.is_none() {
            return Ok(());
        }
    }
}

fn shown(answer: Value) -> anyhow::Result<String> {
    let it: Account = read(answer)?;
    Ok(facts(&[
        ("account", Some(&it.account_id)),
        ("name", Some(&it.name)),
        ("active", Some(it.is_active())),
        ("balance", Some(&it.balance)),
        ("reserved", Some(&it.reserved)),
        ("available", Some(&it.available)),
        ("created", Some(&it.created_at)),
    ]))
}
