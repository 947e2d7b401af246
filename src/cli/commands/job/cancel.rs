//! `tintype job cancel`: cancels one queued job, or all queued jobs of an API key.

use super::{Target, all_matching, delete, is_not_found};
use crate::cli::common::Common;
use crate::cli::key_ref::KeyRef;
use crate::cli::operator::{Operator, PageOptions, only_set, read, read_all};
use crate::cli::problem_text::ErrorResponse;
use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::json;
use tintype_api::{ApiKey, AuditEntry, JobRecord};
use tintype_storage::domain::counted::counted;
use tintype_storage::domain::ids::JobId;

#[derive(Args)]
pub struct Cancel {
    /// Id of the job. Without it, the command cancels all queued jobs of --key.
    id: Option<JobId>,
    /// The API key whose queued jobs are canceled, by id or name. Use the id for a deleted key.
    #[arg(
        long,
        value_name = "ID_OR_NAME",
        required_unless_present = "id",
        conflicts_with = "id"
    )]
    key: Option<KeyRef>,
    /// The account, by id or name. Faster with many accounts [default: search all accounts].
    #[arg(long, value_name = "ID_OR_NAME")]
    account: Option<String>,
    #[command(flatten)]
    common: Common,
}

pub async fn run(cancel: Cancel) -> anyhow::Result<()> {
    let Cancel {
        id,
        key,
        account,
        common,
    } = cancel;
    let Some(id) = id else {
        let key = key.context("give the id of a job, or --key")?;
        return cancel_of_key(&key, account.as_deref(), &common).await;
    };
    let target = Target {
        id,
        account,
        common,
    };
    let text = format!("canceled {id}; nothing is charged");
    delete(&target, "", &text).await
}

async fn cancel_of_key(key: &KeyRef, account: Option<&str>, common: &Common) -> anyhow::Result<()> {
    let operator = common.operator()?;
    let key = key.resolve(&operator, account).await?;
    let account = operator.account_id(account).await?;
    let filters = only_set([
        ("key_id", Some(key.clone())),
        ("account_id", account.clone()),
        ("status", Some("queued".to_owned())),
    ]);
    let jobs: Vec<JobRecord> = read_all(all_matching(&operator, &filters).await?)?;
    if jobs.is_empty() {
        // Otherwise the operator would believe that the jobs of a stolen key are canceled, after a typing error in its id.
        check_exists(&operator, &key, account).await?;
        let text = format!("the key {key} has no queued jobs; nothing is canceled");
        return common.confirm(&json!({"canceled": 0, "started": 0}), &text);
    }
    let (mut canceled, mut started) = (0, 0);
    for job in &jobs {
        let path = format!("/jobs/{}?account_id={}", &*job.job.job_id, &*job.account_id);
        match operator.delete(&path).await {
            Ok(_) => canceled += 1,
            Err(error) if is_no_longer_queued(&error) => started += 1,
            Err(error) => {
                let done = counted(canceled, "job");
                let advice = format!("canceled {done}; repeat the command for the others");
                return Err(error.context(advice));
            }
        }
    }
    let mut text = format!(
        "canceled {}; nothing is charged for them",
        counted(canceled, "queued job")
    );
    if started > 0 {
        text += &format!(
            "\nnot canceled: {}, which started meanwhile",
            counted(started, "job")
        );
    }
    common.confirm(&json!({"canceled": canceled, "started": started}), &text)
}

/// Checks that the service, or `account`, has the key or has deleted it.
async fn check_exists(
    operator: &Operator,
    key: &str,
    account: Option<String>,
) -> anyhow::Result<()> {
    let found = match operator.get(&format!("/keys/{key}")).await {
        Ok(found) => Some(read::<ApiKey>(found)?),
        Err(error) if is_not_found(&error) => None,
        Err(error) => return Err(error),
    };
    match (found, &account) {
        (Some(found), Some(account)) if *found.account_id != **account => bail!(
            "the key {key} belongs to the account {}, not to {account}; correct --account, or omit it",
            &*found.account_id
        ),
        (Some(_), _) => return Ok(()),
        (None, _) => {}
    }
    let filters = only_set([
        ("account_id", account),
        ("action", Some("key.delete".to_owned())),
    ]);
    let deletions = operator.list("/audit", &filters, PageOptions::default());
    let deletions: Vec<AuditEntry> = read_all(deletions.await?.data)?;
    if deletions
        .iter()
        .any(|it| it.subject_id.as_deref() == Some(key))
    {
        return Ok(());
    }
    bail!(
        "there is no key with the id {key}, and the audit log contains no deletion of it; nothing is canceled. Find the id with \
         `tintype key list`, with `tintype audit list --action key` if the key was deleted, or in `tintype job list`"
    )
}

fn is_no_longer_queued(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<ErrorResponse>()
        .is_some_and(|it| it.is_conflict() || it.is_not_found())
}
