//! `tintype deposit`: funds of an account of a running server.

use super::job::account_of_job;
use crate::cli::common::Common;
use crate::cli::operator::body;
use crate::cli::output::field_lines;
use clap::{Args, Subcommand};
use serde_json::Value;
use tintype_api::Transaction;
use tintype_storage::domain::ids::JobId;

#[derive(Subcommand)]
pub enum Command {
    /// Add funds to an account, or refund a job. Use a negative amount to correct a deposit.
    Add(Add),
}

#[derive(Args)]
pub struct Add {
    /// Amount, such as 25.00. A negative amount corrects an earlier deposit. Without an amount, a refund covers the rest of the charge.
    #[arg(allow_negative_numbers = true, required_unless_present = "refund_of")]
    amount: Option<String>,
    /// Refund this job. The refunds of a job cannot exceed its charge.
    #[arg(long, value_name = "JOB")]
    refund_of: Option<JobId>,
    /// The account, by id or name [default: the account of the refunded job, or the only active one].
    #[arg(long, value_name = "ID_OR_NAME")]
    account: Option<String>,
    /// Reference shown in the ledger, such as an invoice number.
    #[arg(long, value_name = "TEXT")]
    reference: Option<String>,
    /// Idempotency key: repeating the command with the same key adds the funds once, for 400 days.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    common: Common,
}

pub async fn run(Command::Add(arguments): Command) -> anyhow::Result<()> {
    let operator = arguments.common.operator()?;
    let account = match (arguments.account, arguments.refund_of) {
        (None, Some(job)) => Some(account_of_job(&operator, job).await?),
        (account, _) => account,
    };
    let account = operator.account(account.as_deref()).await?;
    let path = format!("/accounts/{}/deposits", &*account.account_id);
    let body = body([
        ("amount", arguments.amount.map(Value::from)),
        (
            "job_id",
            arguments.refund_of.map(|it| it.to_string().into()),
        ),
        ("reference", arguments.reference.map(Value::from)),
    ]);
    let key = arguments.idempotency_key.as_deref();
    let response = operator.post_idempotent(&path, body.into(), key).await?;
    arguments.common.show(response, |it: Transaction| {
        field_lines(&[
            ("transaction", Some(&it.transaction_id)),
            ("account", Some(&account.name)),
            ("kind", Some(&it.kind)),
            ("amount", Some(&it.amount)),
            ("balance", Some(&it.balance_after)),
            ("refund of", it.job_id.as_deref()),
            ("reference", it.reference.as_deref()),
            ("created", Some(&it.created_at)),
        ])
    })
}
