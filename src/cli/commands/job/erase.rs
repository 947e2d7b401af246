//! `tintype job erase`: erases the content of one ended job, or of all matching jobs of an account.

use super::{COLUMNS, Target, all_matching, delete, member, metadata_filters};
use crate::cli::common::{Common, parse_end, parse_time};
use crate::cli::operator::{only_set, read_all};
use crate::cli::output::note;
use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::json;
use tintype_api::{JobRecord, Page};
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::time::Timestamp;

#[derive(Args)]
pub struct Erase {
    /// Id of the job. Without it, the command erases all matching jobs of --account.
    id: Option<JobId>,
    /// The account, by id or name. Optional with an id.
    #[arg(long, value_name = "ID_OR_NAME", required_unless_present = "id")]
    account: Option<String>,
    /// Filter by a member of metadata, such as user=42. Repeat it for up to 10 members.
    #[arg(long, value_name = "NAME=VALUE", value_parser = member, conflicts_with = "id")]
    metadata: Vec<(String, String)>,
    /// Filter by creation time: at or after a date (00:00 UTC) or time, such as 2026-11-20 or 2026-11-20T08:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = parse_time, conflicts_with = "id")]
    from: Option<Timestamp>,
    /// Filter by creation time: at or before a time, or a date to its end (UTC).
    #[arg(long, value_name = "TIME", value_parser = parse_end, conflicts_with = "id")]
    to: Option<Timestamp>,
    /// List the matching jobs and erase nothing.
    #[arg(long, conflicts_with = "id")]
    dry_run: bool,
    /// Confirm that all matching jobs are erased.
    #[arg(long, conflicts_with_all = ["id", "dry_run"])]
    yes: bool,
    #[command(flatten)]
    common: Common,
}

pub async fn run(erase: Erase) -> anyhow::Result<()> {
    let Some(id) = erase.id else {
        return erase_matching(&erase).await;
    };
    let target = Target {
        id,
        account: erase.account,
        common: erase.common,
    };
    delete(&target, "/content", &format!("erased the content of {id}")).await
}

async fn erase_matching(erase: &Erase) -> anyhow::Result<()> {
    let common = &erase.common;
    let operator = common.operator()?;
    let account = operator.account_id(erase.account.as_deref()).await?;
    let text = |time: Option<Timestamp>| time.map(|it| it.to_string());
    let members = metadata_filters(&erase.metadata);
    let members = members.iter().map(|(name, value)| (&**name, value.clone()));
    let filters = only_set([
        ("account_id", account.clone()),
        ("from", text(erase.from)),
        ("to", text(erase.to)),
    ]);
    let filters: Vec<(&str, String)> = filters.into_iter().chain(members).collect();
    let found = all_matching(&operator, &filters).await?;
    let jobs: Vec<JobRecord> = read_all(found.clone())?;
    let (ended, live): (Vec<_>, Vec<_>) = jobs.iter().partition(|it| it.job.finished_at.is_some());
    let (count, live) = (ended.len(), live.len());
    if erase.dry_run {
        common.show_list(
            Page {
                data: found,
                next_cursor: None,
            },
            &COLUMNS,
        )?;
        note(&format!(
            "{count} ended jobs match, and {live} that have not ended"
        ));
        return Ok(());
    }
    if jobs.is_empty() {
        let account = erase.account.as_deref().unwrap_or_default();
        let text = format!("no job of the account {account} matches; nothing is erased");
        return common.confirm(&json!({"erased": 0, "not_ended": 0}), &text);
    }
    if !erase.yes {
        bail!(
            "{count} ended jobs match; add --yes to erase their content, or --dry-run to list them"
        );
    }
    let query = account.map(|id| format!("?account_id={id}"));
    let query = query.unwrap_or_default();
    for (done, job) in ended.iter().enumerate() {
        let path = format!("/jobs/{}/content{query}", &*job.job.job_id);
        let erased = operator.delete(&path).await;
        erased.with_context(|| {
            format!("erased {done} of {count} jobs; repeat the command for the others")
        })?;
    }
    let outcome = json!({"erased": count, "not_ended": live});
    common.confirm(&outcome, &format!("erased the content of {count} jobs"))?;
    if live > 0 {
        bail!(
            "{live} matching jobs have not ended and are not erased; cancel them, or wait, and repeat the command"
        );
    }
    Ok(())
}
