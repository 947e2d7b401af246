//! `tintype account ...`: the accounts of a running server.

use super::common::{Common, block_on};
use super::operator::read;
use super::output::facts;
use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::process::ExitCode;

/// What to do with accounts.
#[derive(Subcommand)]
pub enum Command {
    /// List all accounts with their money, oldest first.
    List(Common),
    /// Show an account.
    Show(Show),
    /// Open an account.
    Add(Add),
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
    /// Its name, for people.
    name: String,
    /// What it begins with, such as 25.00 [default: nothing].
    #[arg(long, value_name = "AMOUNT")]
    balance: Option<String>,
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
}

/// Does it.
pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    block_on(async {
        match command {
            Command::List(common) => list(common).await,
            Command::Show(arguments) => show(arguments).await,
            Command::Add(arguments) => add(arguments).await,
        }
    })
}

async fn list(common: Common) -> anyhow::Result<()> {
    let all = common
        .operator()?
        .list("/accounts", &[], usize::MAX)
        .await?;
    let heads = [
        "ACCOUNT",
        "CREATED",
        "BALANCE",
        "RESERVED",
        "AVAILABLE",
        "NAME",
    ];
    common.show_list(all, &heads, |value| {
        let it: Account = read(value)?;
        Ok(vec![
            it.account_id,
            it.created_at,
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
    let answer = operator
        .post("/accounts", Some(Value::Object(body)))
        .await?;
    arguments.common.show(answer, shown)
}

fn shown(answer: Value) -> anyhow::Result<String> {
    let it: Account = read(answer)?;
    Ok(facts(&[
        ("account", Some(&it.account_id)),
        ("name", Some(&it.name)),
        ("balance", Some(&it.balance)),
        ("reserved", Some(&it.reserved)),
        ("available", Some(&it.available)),
        ("created", Some(&it.created_at)),
    ]))
}
