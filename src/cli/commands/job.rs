//! `tintype job`: jobs of all accounts of a running server.

mod cancel;
mod erase;

use crate::cli::batch_id::parse_batch_id;
use crate::cli::common::{Common, or_dash, parse_end, parse_time};
use crate::cli::key_ref::KeyRef;
use crate::cli::operator::{Operator, PageOptions, only_set, read};
use crate::cli::output::{Column, field_lines, truncate};
use crate::cli::problem_text::ErrorResponse;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use serde_json::Value;
use tintype_api::{BackendError, JobRecord, Page};
use tintype_storage::domain::ids::{BatchId, JobId};
use tintype_storage::domain::job::JobStatus;
use tintype_storage::domain::time::Timestamp;

/// Maximum characters of a prompt in the list.
const MAX_PROMPT_CHARS: usize = 40;
/// The usual origin of a job, which its description omits.
const NATIVE: &str = "native";

const COLUMNS: [Column<JobRecord<'static>>; 10] = [
    ("JOB", |it| it.job.job_id.to_string()),
    ("CREATED", |it| it.job.created_at.to_string()),
    ("STATUS", |it| it.job.status.to_string()),
    ("MODEL", |it| it.tier.to_string()),
    ("SIZE", |it| size(it)),
    ("PRICE", |it| it.price.to_string()),
    ("FINISHED", |it| or_dash(it.job.finished_at.as_deref())),
    ("PROMPT", |it| {
        let prompt = it.prompt.as_ref();
        or_dash(prompt.map(|text| truncate(text, MAX_PROMPT_CHARS)))
    }),
    ("ACCOUNT", |it| it.account_id.to_string()),
    ("ERROR", |it| or_dash(it.job.error.as_deref())),
];

#[derive(Subcommand)]
pub enum Command {
    /// List jobs, newest first.
    List(List),
    /// Show a job with its request, price and image URL.
    Show(Target),
    /// Cancel a queued job, or all queued jobs of an API key, and release the reservations.
    Cancel(cancel::Cancel),
    /// Delete the image of a job. The job is kept, with its charge.
    DeleteImage(Target),
    /// Erase the personal data of an ended job, or of all matching jobs. The jobs are kept, with their charges.
    Erase(erase::Erase),
}

#[derive(Args)]
pub struct List {
    /// Filter by account, by id or name.
    #[arg(long, value_name = "ID_OR_NAME")]
    account: Option<String>,
    /// Filter by status.
    #[arg(long, value_parser = PossibleValuesParser::new(JobStatus::names()))]
    status: Option<String>,
    /// Filter by model.
    #[arg(long, alias = "tier", value_parser = ["fast", "quality", "pro"])]
    model: Option<String>,
    /// Filter by API key, by id or name.
    #[arg(long, value_name = "ID_OR_NAME")]
    key: Option<KeyRef>,
    /// Filter by batch.
    #[arg(long, value_name = "ID", value_parser = parse_batch_id)]
    batch: Option<BatchId>,
    /// Filter by a member of metadata, such as order=4711. Repeat it for up to 10 members.
    #[arg(long, value_name = "NAME=VALUE", value_parser = member)]
    metadata: Vec<(String, String)>,
    /// Filter by creation time: at or after a date (00:00 UTC) or time, such as 2026-11-20 or 2026-11-20T08:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    from: Option<Timestamp>,
    /// Filter by creation time: at or before a time, or a date to its end (UTC).
    #[arg(long, value_name = "TIME", value_parser = parse_end)]
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

#[derive(Args)]
pub struct Target {
    /// Id of the job.
    id: JobId,
    /// The account, by id or name. Faster with many accounts [default: search all accounts].
    #[arg(long, value_name = "ID_OR_NAME")]
    account: Option<String>,
    #[command(flatten)]
    common: Common,
}

pub async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::List(arguments) => list(arguments).await,
        Command::Show(target) => {
            let operator = target.common.operator()?;
            let response = operator.get(&path(&operator, &target, "").await?).await;
            let response =
                response.map_err(|error| name_job(error, target.id, target.account.as_deref()))?;
            target.common.show(response, describe)
        }
        Command::Cancel(arguments) => cancel::run(arguments).await,
        Command::DeleteImage(target) => {
            let text = format!("deleted the image of {}", target.id);
            delete(&target, "/image", &text).await
        }
        Command::Erase(arguments) => erase::run(arguments).await,
    }
}

async fn list(arguments: List) -> anyhow::Result<()> {
    let operator = arguments.common.operator()?;
    let account = operator.account_id(arguments.account.as_deref()).await?;
    let key = match &arguments.key {
        Some(key) => Some(key.resolve(&operator, arguments.account.as_deref()).await?),
        None => None,
    };
    let text = |time: Option<Timestamp>| time.map(|it| it.to_string());
    let members = metadata_filters(&arguments.metadata);
    let members = members.iter().map(|(name, value)| (&**name, value.clone()));
    let filters = only_set([
        ("account_id", account),
        ("status", arguments.status),
        ("tier", arguments.model),
        ("key_id", key),
        ("batch_id", arguments.batch.map(|it| it.to_string())),
        ("from", text(arguments.from)),
        ("to", text(arguments.to)),
    ]);
    let filters: Vec<(&str, String)> = filters.into_iter().chain(members).collect();
    let found = operator.list("/jobs", &filters, arguments.page).await?;
    arguments.common.show_list(found, &COLUMNS)
}

/// All pages of a list. A page may be empty although more follow, because a filter scans a bounded number of jobs.
async fn all_matching(
    operator: &Operator,
    filters: &[(&str, String)],
) -> anyhow::Result<Vec<Value>> {
    let mut found = Vec::new();
    let mut page = PageOptions::default();
    loop {
        let Page { data, next_cursor } = operator.list("/jobs", filters, page).await?;
        found.extend(data);
        if next_cursor.is_none() {
            return Ok(found);
        }
        page = PageOptions {
            cursor: next_cursor,
            ..PageOptions::default()
        };
    }
}

/// The query parameters of a filter by metadata.
fn metadata_filters(members: &[(String, String)]) -> Vec<(String, String)> {
    let filter = |(name, value): &(String, String)| (format!("metadata[{name}]"), value.clone());
    members.iter().map(filter).collect()
}

fn size(job: &JobRecord<'_>) -> String {
    format!("{} {}", &*job.resolution, &*job.aspect_ratio)
}

/// The path of the job, or of `part` of it.
async fn path(operator: &Operator, target: &Target, part: &str) -> anyhow::Result<String> {
    let account = operator.account_id(target.account.as_deref()).await?;
    let query = account.map(|id| format!("?account_id={id}"));
    let query = query.unwrap_or_default();
    Ok(format!("/jobs/{}{part}{query}", target.id))
}

/// Names the job that does not exist. The server does not, because its answer must be the same for the job of another account.
fn name_job(error: anyhow::Error, id: JobId, account: Option<&str>) -> anyhow::Error {
    match (is_not_found(&error), account) {
        (false, _) => error,
        (true, None) => {
            anyhow::anyhow!("there is no job {id}; find its id with `tintype job list`")
        }
        (true, Some(account)) => anyhow::anyhow!(
            "the account `{account}` has no job {id}; find its id with `tintype job list`, or omit --account to search all accounts"
        ),
    }
}

fn is_not_found(error: &anyhow::Error) -> bool {
    error
        .downcast_ref()
        .is_some_and(ErrorResponse::is_not_found)
}

/// The id of the account of a job.
pub async fn account_of_job(operator: &Operator, id: JobId) -> anyhow::Result<String> {
    let response = operator.get(&format!("/jobs/{id}")).await;
    let response = response.map_err(|error| name_job(error, id, None))?;
    let job: JobRecord<'_> = read(response)?;
    Ok(job.account_id.to_string())
}

/// Deletes `part` of a job, and prints `text`.
async fn delete(target: &Target, part: &str, text: &str) -> anyhow::Result<()> {
    let operator = target.common.operator()?;
    let path = path(&operator, target, part).await?;
    let response = operator.delete(&path).await;
    let response =
        response.map_err(|error| name_job(error, target.id, target.account.as_deref()))?;
    target.common.confirm(&response, text)
}

fn describe(it: JobRecord<'_>) -> String {
    let status = match &it.job.error {
        Some(error) => format!("{}: {error}", &*it.job.status),
        None => it.job.status.to_string(),
    };
    let causes: Vec<String> = it.causes.iter().map(describe_cause).collect();
    let custom_id = it.custom_id.as_deref().unwrap_or_default();
    let batch = it.batch_id.as_ref();
    let batch = batch.map(|id| format!("{}, custom_id {custom_id}", &**id));
    let origin = (&*it.origin != NATIVE).then_some(&*it.origin);
    let image = it.job.result.as_ref().map(|it| &*it.image_url);
    let image = image.map(|url| if it.image_deleted { "deleted" } else { url });
    field_lines(&[
        ("job", Some(&it.job.job_id)),
        ("status", Some(&status)),
        ("model", Some(&format!("{}, {}", &*it.tier, &*it.mode))),
        ("size", Some(&size(&it))),
        ("price", Some(&it.price)),
        ("refunded", it.refunded.as_deref()),
        ("prompt", it.prompt.as_deref()),
        ("metadata", it.metadata.as_ref().map(|it| it.get())),
        ("origin", origin),
        ("batch", batch.as_deref()),
        ("callback", it.callback_url.as_deref()),
        ("account", Some(&it.account_id)),
        ("key", Some(&it.key_id)),
        ("created", Some(&it.job.created_at)),
        ("started", it.job.started_at.as_deref()),
        ("finished", it.job.finished_at.as_deref()),
        ("image", image),
        (
            "backend",
            it.picture.as_ref().and_then(|it| it.backend.as_deref()),
        ),
        (
            "cause",
            (!causes.is_empty()).then(|| causes.join("; ")).as_deref(),
        ),
    ])
}

fn describe_cause(it: &BackendError) -> String {
    let backend = it.backend.as_deref().unwrap_or("a backend");
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
            "created_at": "t0", "started_at": "t1", "finished_at": "t2", "result": null, "error": "the backend refused it",
            "queue_position": null, "estimated_start_at": null, "origin": "native", "inputs": [], "picture": null,
            "causes": [{"backend": "gpu", "at": "t1", "message": "no connection: Connection refused"}],
        });
        serde_json::from_value(job).unwrap()
    }

    #[test]
    fn a_job_is_described_and_listed() {
        insta::assert_snapshot!(describe(job()));
        let listed = crate::cli::output::list_table(&COLUMNS, &[job()]);
        assert!(
            listed.contains(r"a red fox in the snow,\u{1b}[2J painted by no..."),
            "{listed}"
        );
        let (headings, row) = listed.trim_end().split_once('\n').unwrap();
        let last = headings.split_whitespace().rev().take(2);
        assert_eq!(last.collect::<Vec<_>>(), ["ERROR", "ACCOUNT"]);
        assert!(row.ends_with("a1       the backend refused it"), "{row}");
    }

    #[test]
    fn the_origin_of_a_job_is_described_unless_it_is_native() {
        assert!(!describe(job()).contains("origin"));
        for origin in ["synchronous", "background", "batch"] {
            let mut job = job();
            job.origin = origin.into();
            let text = describe(job);
            assert!(text.contains(&format!("\norigin    {origin}\n")), "{text}");
        }
    }
}
