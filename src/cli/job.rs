//! `tintype job ...`: the jobs of all accounts of a running server.

use super::common::{Common, block_on, moment, or_dash};
use super::operator::{Operator, PageOptions, given};
use super::output::{facts, shortened};
use clap::{Args, Subcommand};
use std::process::ExitCode;
use tintype_api::{BackendError, JobRecord};
use tintype_storage::domain::ids::{BatchId, JobId, KeyId};
use tintype_storage::domain::time::Timestamp;

/// Longest prompt in the list, in characters.
const PROMPT_CHARS: usize = 40;

/// What to do with jobs.
#[derive(Subcommand)]
pub enum Command {
    /// List jobs, newest first.
    List(List),
    /// Show a job with its request, price and image URL.
    Show(One),
    /// Cancel a queued job and release its reserved price.
    Cancel(One),
}

/// Options of `job list`.
#[derive(Args)]
pub struct List {
    /// Filter by account, by id or name.
    #[arg(long, value_name = "ID_OR_NAME")]
    account: Option<String>,
    /// Filter by status.
    #[arg(long, value_parser = ["queued", "processing", "done", "failed"])]
    status: Option<String>,
    /// Filter by model.
    #[arg(long, alias = "tier", value_parser = ["fast", "quality", "pro"])]
    model: Option<String>,
    /// Only those that this key asked for.
    #[arg(long, value_name = "ID")]
    key: Option<KeyId>,
    /// Only the jobs of this batch.
    #[arg(long, value_name = "ID")]
    batch: Option<BatchId>,
    /// Filter by a member of metadata, such as order=4711; may be given up to 10 times.
    #[arg(long, value_name = "NAME=VALUE", value_parser = member)]
    metadata: Vec<(String, String)>,
    /// Only jobs accepted at or after this time, such as 2026-11-20T00:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    from: Option<Timestamp>,
    /// Only jobs accepted at or before this time.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    to: Option<Timestamp>,
    #[command(flatten)]
    page: PageOptions,
    #[command(flatten)]
    common: Common,
}

fn member(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("expected NAME=VALUE, such as order=4711")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Options of what is done with one job.
#[derive(Args)]
pub struct One {
    /// The job's id.
    id: JobId,
    /// The account, by id or name; with many accounts this is faster [default: search all].
    #[arg(long, value_name = "ID_OR_NAME")]
    account: Option<String>,
    #[command(flatten)]
    common: Common,
}

pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    block_on(async {
        match command {
            Command::List(arguments) => list(arguments).await,
            Command::Show(one) => {
                let operator = one.common.operator()?;
                let answer = operator.get(&path(&operator, &one).await?).await?;
                one.common.show(answer, shown)
            }
            Command::Cancel(one) => cancel(&one).await,
        }
    })
}

async fn list(arguments: List) -> anyhow::Result<()> {
    let operator = arguments.common.operator()?;
    let account = operator.account_id(arguments.account.as_deref()).await?;
    let text = |moment: Option<Timestamp>| moment.map(|it| it.to_string());
    let members = arguments.metadata.iter();
    let members: Vec<(String, String)> = members
        .map(|(name, value)| (format!("metadata[{name}]"), value.clone()))
        .collect();
    let members = members.iter().map(|(name, value)| (&**name, value.clone()));
    let filters = given([
        ("account_id", account),
        ("status", arguments.status),
        ("tier", arguments.model),
        ("key_id", arguments.key.map(|it| it.to_string())),
        ("batch_id", arguments.batch.map(|it| it.to_string())),
        ("from", text(arguments.from)),
        ("to", text(arguments.to)),
    ]);
    let filters: Vec<(&str, String)> = filters.into_iter().chain(members).collect();
    let found = operator.list("/jobs", &filters, arguments.page).await?;
    let heads = [
        "JOB", "CREATED", "STATUS", "MODEL", "SIZE", "PRICE", "FINISHED", "PROMPT",
    ];
    arguments.common.show_list(found, heads, row)
}

fn row(it: JobRecord<'_>) -> [String; 8] {
    let prompt = it.prompt.as_ref();
    let prompt = prompt.map(|text| shortened(text, PROMPT_CHARS));
    let size = size(&it);
    [
        it.job.job_id.into(),
        it.job.created_at.into(),
        it.job.status.into(),
        it.tier.into(),
        size,
        it.price.into(),
        or_dash(it.job.finished_at),
        or_dash(prompt),
    ]
}

fn size(job: &JobRecord<'_>) -> String {
    format!("{} {}", &*job.resolution, &*job.aspect_ratio)
}

/// The path of a job, with its account if one is named.
async fn path(operator: &Operator, one: &One) -> anyhow::Result<String> {
    let account = operator.account_id(one.account.as_deref()).await?;
    let query = account.map(|id| format!("?account_id={id}"));
    Ok(format!("/jobs/{}{}", one.id, query.unwrap_or_default()))
}

async fn cancel(one: &One) -> anyhow::Result<()> {
    let operator = one.common.operator()?;
    let answer = operator.delete(&path(&operator, one).await?).await?;
    let done = format!("canceled {}; nothing is charged", one.id);
    one.common.done(&answer, &done)
}

fn shown(it: JobRecord<'_>) -> String {
    let status = match &it.job.error {
        Some(error) => format!("{}: {error}", &*it.job.status),
        None => it.job.status.to_string(),
    };
    let causes: Vec<String> = it.causes.iter().map(cause).collect();
    let custom_id = it.custom_id.as_deref().unwrap_or_default();
    let batch = it.batch_id.as_ref();
    let batch = batch.map(|id| format!("{}, custom_id {custom_id}", &**id));
    let picture = it.job.result.as_ref().map(|it| &*it.image_url);
    facts(&[
        ("job", Some(&it.job.job_id)),
        ("status", Some(&status)),
        ("model", Some(&format!("{}, {}", &*it.tier, &*it.mode))),
        ("size", Some(&size(&it))),
        ("price", Some(&it.price)),
        ("prompt", it.prompt.as_deref()),
        ("metadata", it.metadata.as_ref().map(|it| it.get())),
        ("batch", batch.as_deref()),
        ("callback", it.callback_url.as_deref()),
        ("account", Some(&it.account_id)),
        ("key", Some(&it.key_id)),
        ("created", Some(&it.job.created_at)),
        ("started", it.job.started_at.as_deref()),
        ("finished", it.job.finished_at.as_deref()),
        ("picture", picture),
        (
            "back end",
            it.picture.as_ref().and_then(|it| it.backend.as_deref()),
        ),
        (
            "cause",
            (!causes.is_empty()).then(|| causes.join("; ")).as_deref(),
        ),
    ])
}

/// What went wrong at a back end.
fn cause(it: &BackendError) -> String {
    let backend = it.backend.as_deref().unwrap_or("a back end");
    format!("{backend}: {} ({})", it.message, &*it.at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn job() -> JobRecord<'static> {
        let job = json!({
            "job_id": "j1", "account_id": "a1", "key_id": "k1", "status": "failed", "tier": "pro",
            "mode": "text-to-image", "aspect_ratio": "1:1", "ratio": "1:1", "resolution": "1K", "price": "0.134",
            "prompt": "a red fox in the snow,\u{1b}[2J painted by nobody", "metadata": {"order": 7}, "callback_url": null,
            "created_at": "t0", "started_at": "t1", "finished_at": "t2", "result": null, "error": "the back end refused it",
            "queue_position": null, "estimated_start_at": null, "origin": "native", "inputs": [], "picture": null,
            "causes": [{"backend": "gpu", "at": "t1", "message": "no connection: Connection refused"}],
        });
        serde_json::from_value(job).unwrap()
    }

    #[test]
    fn a_job_is_shown_and_listed() {
        insta::assert_snapshot!(shown(job()));
        let listed = super::super::output::table(&["A"; 8], vec![row(job()).to_vec()]);
        assert!(
            listed.contains(r"a red fox in the snow,\u{1b}[2J painted by no..."),
            "{listed}"
        );
    }
}
