//! `tintype account`: accounts of a running server.

use super::statement;
use crate::cli::common::{Common, or_dash, parse_end, parse_time, rate_text, yes_or_no};
use crate::cli::limit_options::LimitOptions;
use crate::cli::operator::{Operator, PageOptions, body, only_set, read};
use crate::cli::output::{Column, field_lines, note, print};
use crate::csv_text::{LEDGER_HEAD, ledger_line};
use anyhow::Context as _;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tintype_api::{Account, AccountErasure, Transaction};
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::ledger::EntryKind;
use tintype_storage::domain::time::Timestamp;

/// Ledger entries per page of a CSV export.
const CSV_PAGE_SIZE: usize = 1_000;

/// Jobs that one call erases: the most of the API.
const ERASED_PER_CALL: usize = 100;

const COLUMNS: [Column<Account>; 7] = [
    ("ACCOUNT", |it| it.account_id.to_string()),
    ("CREATED", |it| it.created_at.to_string()),
    ("ACTIVE", |it| is_active(it).to_owned()),
    ("BALANCE", |it| it.money.balance.to_string()),
    ("RESERVED", |it| it.money.reserved.to_string()),
    ("AVAILABLE", |it| it.money.available.to_string()),
    ("NAME", |it| it.name.clone()),
];
const LEDGER_COLUMNS: [Column<Transaction>; 6] = [
    ("TIME", |it| it.created_at.to_string()),
    ("KIND", |it| it.kind.to_string()),
    ("AMOUNT", |it| it.amount.to_string()),
    ("BALANCE", |it| it.balance_after.to_string()),
    ("JOB", |it| or_dash(it.job_id.as_deref())),
    ("REFERENCE", |it| or_dash(it.reference.as_deref())),
];

#[derive(Subcommand)]
pub enum Command {
    /// List accounts and their balances, oldest first.
    List(List),
    /// Show an account.
    Show(Show),
    /// Create an account.
    Add(Add),
    /// Rename an account.
    Rename(Rename),
    /// Deactivate an account: its API keys are rejected, its people have read-only access, and accepted jobs still run.
    Deactivate(Target),
    /// Reactivate an account.
    Activate(Target),
    /// Erase the personal data of an account: its jobs, people, webhooks, keys, files and name. The ledger is kept.
    Erase(Erase),
    /// Set the available amount below which the panel shows a warning.
    LowBalance(LowBalance),
    /// Limit all API keys of an account together. Limits that you omit stay unchanged.
    Limit(Limit),
    /// List the deposits, adjustments and charges of an account, newest first.
    Ledger(Ledger),
    /// Summarize balance changes per account for a month or another period.
    Statement(statement::Options),
}

#[derive(Args)]
pub struct Erase {
    /// The account, by id or name.
    #[arg(value_name = "ID_OR_NAME")]
    account: String,
    /// Confirm that the account is erased.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub struct List {
    /// Filter by a part of the name, in upper or lower case.
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub struct Ledger {
    /// The account, by id or name [default: the only active one].
    #[arg(value_name = "ID_OR_NAME")]
    account: Option<String>,
    /// Filter by kind.
    #[arg(long, value_parser = PossibleValuesParser::new(EntryKind::names()))]
    kind: Option<String>,
    /// Filter by job: its charge and its refunds.
    #[arg(long, value_name = "ID")]
    job: Option<JobId>,
    /// Filter by time: at or after a date (00:00 UTC) or time, such as 2026-11-01 or 2026-11-01T08:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    from: Option<Timestamp>,
    /// Filter by time: at or before a time, or a date to its end (UTC).
    #[arg(long, value_name = "TIME", value_parser = parse_end)]
    to: Option<Timestamp>,
    /// Print all entries as CSV, without a limit.
    #[arg(long, conflicts_with_all = ["json", "limit", "cursor"])]
    csv: bool,
    #[command(flatten)]
    page: PageOptions,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub struct Show {
    /// The account, by id or name [default: the only active one].
    #[arg(value_name = "ID_OR_NAME")]
    account: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub struct Add {
    /// Display name.
    name: String,
    /// Opening balance, such as 25.00 [default: 0.00].
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
    balance: Option<String>,
    /// Warn in the panel when less than this amount is available, such as 5.00 [default: no warning].
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
    low_balance: Option<String>,
    /// Idempotency key: repeating the command with the same key creates one account, for 400 days.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    limits: LimitOptions,
    #[command(flatten)]
    common: Common,
}

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

#[derive(Args)]
pub struct LowBalance {
    /// The account, by id or name.
    #[arg(value_name = "ID_OR_NAME")]
    account: String,
    /// Amount, such as 5.00 (none: no warning).
    #[arg(allow_negative_numbers = true)]
    amount: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub struct Limit {
    /// The account, by id or name.
    #[arg(value_name = "ID_OR_NAME")]
    account: String,
    #[command(flatten)]
    limits: LimitOptions,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub struct Target {
    /// The account, by id or name.
    #[arg(value_name = "ID_OR_NAME")]
    account: String,
    #[command(flatten)]
    common: Common,
}

fn is_active(account: &Account) -> &'static str {
    yes_or_no(account.active.unwrap_or(true))
}

pub async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::List(arguments) => list(arguments).await,
        Command::Show(arguments) => show(arguments).await,
        Command::Add(arguments) => add(arguments).await,
        Command::Rename(arguments) => rename(arguments).await,
        Command::Deactivate(Target { account, common }) => {
            change(&account, json!({"active": false}), &common).await
        }
        Command::Activate(Target { account, common }) => {
            change(&account, json!({"active": true}), &common).await
        }
        Command::Erase(arguments) => erase(arguments).await,
        Command::LowBalance(it) => {
            let amount = (it.amount != "none").then_some(it.amount);
            change(&it.account, json!({"low_balance": amount}), &it.common).await
        }
        Command::Limit(arguments) => limit(arguments).await,
        Command::Ledger(arguments) => ledger(arguments).await,
        Command::Statement(options) => statement::run(options).await,
    }
}

async fn list(List { name, common }: List) -> anyhow::Result<()> {
    let mut all = common.operator()?.list_all("/accounts").await?;
    if let Some(part) = name.map(|it| it.to_lowercase()) {
        let has_part = |name: &str| name.to_lowercase().contains(&part);
        all.data
            .retain(|it| it["name"].as_str().is_some_and(has_part));
    }
    common.show_list(all, &COLUMNS)
}

async fn show(Show { account, common }: Show) -> anyhow::Result<()> {
    let operator = common.operator()?;
    let account = operator.account_argument(account.as_deref()).await?;
    let path = format!("/accounts/{}", &*account.account_id);
    let response = operator.get(&path).await?;
    common.show(response, describe)
}

async fn add(arguments: Add) -> anyhow::Result<()> {
    let limits = arguments.limits.body()?;
    let body = body([
        ("name", Some(arguments.name.into())),
        ("balance", arguments.balance.map(Value::from)),
        ("low_balance", arguments.low_balance.map(Value::from)),
        ("limits", (!limits.is_empty()).then(|| limits.into())),
    ]);
    let operator = arguments.common.operator()?;
    let key = arguments.idempotency_key.as_deref();
    let response = operator.post_idempotent("/accounts", body.into(), key);
    let response = response.await?;
    let added: Account = read(response.clone())?;
    let advice = format!(
        "if you wanted to add to its balance, deactivate the new account {} and use `tintype deposit add AMOUNT --account ID`",
        &*added.account_id
    );
    warn_of_same_name(&operator, &added, &advice).await;
    arguments.common.show(response, describe)
}

async fn rename(arguments: Rename) -> anyhow::Result<()> {
    let operator = arguments.common.operator()?;
    let account = Some(arguments.account.as_str());
    let path = operator.account_path(account, "").await?;
    let body = json!({"name": arguments.name});
    let response = operator.patch(&path, body).await?;
    let advice = "rename one with `tintype account rename ID NAME`";
    warn_of_same_name(&operator, &read(response.clone())?, advice).await;
    arguments.common.show(response, describe)
}

/// An account cannot be chosen by a name that it shares. The account exists, so a failed check is not reported.
async fn warn_of_same_name(operator: &Operator, account: &Account, advice: &str) {
    let named = operator.accounts_named(&account.name).await;
    let named = named.map_or(Vec::new(), |it| it.data);
    let others = named.iter().map(|it| &*it.account_id);
    let others: Vec<&str> = others.filter(|it| *it != &*account.account_id).collect();
    if let Some(first) = others.first() {
        note(&format!(
            "warning: another account is named `{}` too: {first}; choose between them by id; {advice}",
            account.name
        ));
    }
}

async fn erase(arguments: Erase) -> anyhow::Result<()> {
    let operator = arguments.common.operator()?;
    let account = operator.account_argument(Some(&arguments.account)).await?;
    let (id, name) = (&*account.account_id, &account.name);
    let balance = &*account.money.balance;
    anyhow::ensure!(
        arguments.yes,
        "this erases the jobs, people, webhooks, keys, files and the name of `{name}` ({id}) forever; its balance of {balance} stays on \
         record, so pay it out first if you owe it; add --yes to confirm"
    );
    let (mut jobs, mut cursor) = (0, String::new());
    loop {
        let path = format!("/accounts/{id}/content?limit={ERASED_PER_CALL}{cursor}");
        let erased = operator.delete(&path).await;
        let erased: AccountErasure = read(erased.with_context(|| {
            format!("erased {jobs} jobs of {id}; repeat the command for the rest")
        })?)?;
        jobs += erased.jobs;
        match erased.next_cursor {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let outcome = json!({"account_id": id, "jobs": jobs, "balance": balance});
    let text = format!("erased {id} with {jobs} jobs; its balance of {balance} stays on record");
    arguments.common.confirm(&outcome, &text)
}

async fn limit(arguments: Limit) -> anyhow::Result<()> {
    let limits = arguments.limits.body()?;
    anyhow::ensure!(
        !limits.is_empty(),
        "nothing to change; set a limit such as --spend-per-day 50 (see `tintype account limit --help`)"
    );
    let body = json!({"limits": limits});
    change(&arguments.account, body, &arguments.common).await
}

async fn change(account: &str, body: Value, common: &Common) -> anyhow::Result<()> {
    let operator = common.operator()?;
    let path = operator.account_path(Some(account), "").await?;
    let response = operator.patch(&path, body).await?;
    common.show(response, describe)
}

async fn ledger(arguments: Ledger) -> anyhow::Result<()> {
    let operator = arguments.common.operator()?;
    let account = arguments.account.as_deref();
    let account = operator.account_argument(account).await?;
    let path = format!("/accounts/{}/transactions", &*account.account_id);
    let filters = only_set([
        ("kind", arguments.kind),
        ("job_id", arguments.job.map(|it| it.to_string())),
        ("from", arguments.from.map(|it| it.to_string())),
        ("to", arguments.to.map(|it| it.to_string())),
    ]);
    if arguments.csv {
        return print_csv(&operator, &path, &filters).await;
    }
    let found = operator.list(&path, &filters, arguments.page).await?;
    arguments.common.show_list(found, &LEDGER_COLUMNS)
}

/// Prints page by page, so that memory does not grow with the ledger.
async fn print_csv(
    operator: &Operator,
    path: &str,
    filters: &[(&str, String)],
) -> anyhow::Result<()> {
    print(&format!("{LEDGER_HEAD}\r\n"))?;
    let mut cursor = None;
    loop {
        let page = PageOptions {
            limit: CSV_PAGE_SIZE,
            cursor,
        };
        let found = operator.list(path, filters, page).await?;
        for value in found.data {
            print(&(ledger_line(&read(value)?) + "\r\n"))?;
        }
        cursor = found.next_cursor;
        if cursor.is_none() {
            return Ok(());
        }
    }
}

fn describe(it: Account) -> String {
    let limits = it.limits.as_ref();
    let used = |used: Option<&str>, limit: &str| format!("{} of {limit}", used.unwrap_or("0.00"));
    let today = limits.and_then(|it| {
        let spent = it.used.spent_today.as_deref();
        Some(used(spent, it.spend_per_day.as_deref()?))
    });
    let month = limits.and_then(|it| {
        let spent = it.used.spent_this_month.as_deref();
        Some(used(spent, it.spend_per_month.as_deref()?))
    });
    let live = limits.and_then(|it| {
        let live = it.used.live_jobs.unwrap_or_default().to_string();
        Some(used(Some(&live), &it.max_concurrent?.to_string()))
    });
    let rate = limits.and_then(|it| it.rate_limit.as_ref().map(rate_text));
    field_lines(&[
        ("account", Some(&it.account_id)),
        ("name", Some(&it.name)),
        ("active", Some(is_active(&it))),
        ("balance", Some(&it.money.balance)),
        ("reserved", Some(&it.money.reserved)),
        ("available", Some(&it.money.available)),
        ("low balance", it.low_balance.as_deref()),
        ("spent today", today.as_deref()),
        ("spent this month", month.as_deref()),
        ("live jobs", live.as_deref()),
        ("rate", rate.as_deref()),
        ("created", Some(&it.created_at)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_described_with_the_use_of_its_limits() {
        let account = json!({
            "account_id": "a1", "name": "studio", "balance": "25.00", "reserved": "0.134", "available": "24.866", "created_at": "t0",
            "limits": {
                "spend_per_day": "5.00", "spend_per_month": null, "rate_limit": {"per_second": 5, "burst": 10}, "max_concurrent": 20,
                "used": {"spent_today": "1.34", "spent_this_month": "4.02", "live_jobs": 1},
            },
        });
        insta::assert_snapshot!(describe(serde_json::from_value(account).unwrap()));
    }
}
