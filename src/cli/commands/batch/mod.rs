//! `tintype batch`: batches of requests to a running server, with an API key.

mod download_record;
mod downloads;
mod requests;

use crate::cli::batch_id::parse_batch_id;
use crate::cli::http_client::repeat_advice;
use crate::cli::native_client::{NativeClient, SubmissionKey};
use crate::cli::output::{Column, field_lines, note, print_as, print_json, print_page};
use crate::cli::{polling, progress, server_url};
use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use requests::Requests;
use serde_json::json;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use tintype_api::Batch;
use tintype_storage::domain::ids::BatchId;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Seconds that one request waits for the batch to end. The progress bar advances after each request.
const LONG_POLL_SECONDS: u64 = 1;
/// Exit code after SIGINT: 128 and the number of the signal.
const INTERRUPTED: u8 = 130;

const COLUMNS: [Column<Batch>; 8] = [
    ("BATCH", |it| it.batch_id.to_string()),
    ("CREATED", |it| it.created_at.to_string()),
    ("STATUS", |it| it.status.to_string()),
    ("TOTAL", |it| it.counts.total.to_string()),
    ("DONE", |it| it.counts.done.to_string()),
    ("FAILED", |it| it.counts.failed.to_string()),
    ("CHARGED", |it| it.charged.to_string()),
    ("PRICE", |it| it.price.to_string()),
];

#[derive(Subcommand)]
pub enum Command {
    /// Submit a file of requests as one batch.
    Submit(Submit),
    /// List batches, newest first.
    List(List),
    /// Show a batch.
    Show(Target),
    /// Cancel the queued jobs of a batch and release their reservations.
    Cancel(Target),
    /// Print the results of a batch as JSON Lines, or download its images.
    Results(Results),
}

#[derive(Args)]
#[command(next_help_heading = "Server options")]
struct Access {
    /// URL of the running server [default: the environment variable TINTYPE_URL, or else http:// and listen in [server] of the
    /// configuration].
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// API key. Prefer the environment variable TINTYPE_KEY, which the process list does not show.
    #[arg(long, value_name = "KEY", env = "TINTYPE_KEY", hide_env_values = true)]
    key: Option<String>,
}

impl Access {
    fn client(&self) -> anyhow::Result<NativeClient> {
        let key = self.key.as_deref().filter(|it| !it.is_empty());
        let key = key.context("no API key; set --key or the environment variable TINTYPE_KEY")?;
        NativeClient::new(&server_url::of_caller(self.server.as_deref())?, key)
    }
}

#[derive(Args)]
pub struct Submit {
    /// File of requests: JSON Lines, the JSON body of the API request, or CSV; - reads standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Read the file as CSV with the field names in the first row [default: if the file is named *.csv].
    #[arg(long)]
    csv: bool,
    /// Idempotency key: repeating the command with the same key creates one batch [default: random].
    #[arg(long, value_name = "KEY", conflicts_with = "dry_run")]
    idempotency_key: Option<String>,
    /// Wait until the batch has ended. Exit with code 1 if a job has failed.
    #[arg(long, conflicts_with = "dry_run")]
    wait: bool,
    /// Validate the requests and print the price without submitting them.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
pub struct List {
    /// Maximum number of entries to list, 1 to 100.
    #[arg(long, default_value_t = 20)]
    limit: u8,
    /// Continue an earlier list: its next_cursor.
    #[arg(long)]
    cursor: Option<String>,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
pub struct Target {
    /// Id of the batch, with or without the prefix batch_ of the OpenAI interface.
    #[arg(value_parser = parse_batch_id)]
    id: BatchId,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
struct Output {
    #[command(flatten)]
    access: Access,
    /// Print the response as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub struct Results {
    /// Id of the batch, with or without the prefix batch_ of the OpenAI interface.
    #[arg(value_parser = parse_batch_id)]
    id: BatchId,
    /// Download the images to this directory, named after their custom_id. Existing files are not downloaded again.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Wait until the batch has ended.
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    access: Access,
}

pub async fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Submit(arguments) => return submit(arguments).await,
        Command::Results(arguments) => return results(&arguments).await,
        Command::List(arguments) => list(&arguments).await,
        Command::Show(Target { id, output }) => show(
            &output.access.client()?.get_batch(id, 0).await?,
            output.json,
        ),
        Command::Cancel(Target { id, output }) => show(
            &output.access.client()?.cancel_batch(id).await?,
            output.json,
        ),
    }?;
    Ok(ExitCode::SUCCESS)
}

async fn submit(arguments: Submit) -> anyhow::Result<ExitCode> {
    let client = arguments.output.access.client()?;
    let requests = Requests::read(&arguments.file, arguments.csv)?;
    let body = requests.body();
    if arguments.dry_run {
        let estimate = client.estimate_batch(body).await;
        let estimate = estimate.map_err(|error| requests.locate(error))?;
        print_as(arguments.output.json, &estimate, || {
            field_lines(&[
                ("requests", Some(&estimate.requests.to_string())),
                ("price", Some(&estimate.price)),
                ("available", Some(&estimate.available)),
            ])
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let key = SubmissionKey::given_or_random(arguments.idempotency_key);
    let mut interrupt = signal(SignalKind::interrupt())?;
    let submitted = tokio::select! {
        submitted = client.submit_batch(body, &key) => submitted,
        _ = interrupt.recv() => {
            note(&format!("interrupted; {}", repeat_advice(&key.text)));
            return Ok(ExitCode::from(INTERRUPTED));
        }
    };
    let (mut batch, is_replay) = submitted.map_err(|error| requests.locate(error))?;
    if is_replay {
        note(&format!(
            "nothing was submitted: an earlier command with this idempotency key has created the batch {}",
            &*batch.batch_id
        ));
    }
    if arguments.wait {
        let id = parse_id(&batch)?;
        // Printed first, because the user needs the id to find the images if the command ends early.
        note(&format!("batch {id}"));
        batch = match wait_until_ended(&client, id, interrupt).await? {
            Some(ended) => ended,
            None => return Ok(ExitCode::from(INTERRUPTED)),
        };
    }
    show(&batch, arguments.output.json)?;
    let failed = batch.counts.failed;
    if !arguments.wait || failed == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    let requests = match failed {
        1 => "1 request has failed and is".to_owned(),
        _ => format!("{failed} requests have failed and are"),
    };
    let id = &*batch.batch_id;
    note(&format!(
        "{requests} not charged; see why with `tintype batch results {id}`"
    ));
    Ok(ExitCode::FAILURE)
}

fn parse_id(batch: &Batch) -> anyhow::Result<BatchId> {
    let id = batch.batch_id.parse();
    id.context("the response is not from Tintype; check --server")
}

/// Returns `None` if the user interrupts the command, after saying what becomes of the batch.
async fn wait_until_ended(
    client: &NativeClient,
    id: BatchId,
    mut interrupt: Signal,
) -> anyhow::Result<Option<Batch>> {
    tokio::select! {
        ended = poll_until_ended(client, id) => match ended {
            Ok(batch) => Ok(Some(batch)),
            Err(error) => Err(anyhow!("{error:#}; {}", continuation(id))),
        },
        _ = interrupt.recv() => {
            note(&format!("interrupted; {}", continuation(id)));
            Ok(None)
        }
    }
}

/// What becomes of a batch whose command has ended early.
fn continuation(id: BatchId) -> String {
    format!(
        "the batch continues on the server: follow it with `tintype batch show {id}`, get its results with \
         `tintype batch results {id} --wait`, or cancel it with `tintype batch cancel {id}`"
    )
}

async fn poll_until_ended(client: &NativeClient, id: BatchId) -> anyhow::Result<Batch> {
    let progress = progress::bar(0, "generating");
    progress.unset_length();
    let batch = polling::poll(
        &progress,
        async || client.get_batch(id, LONG_POLL_SECONDS).await,
        |batch| {
            let counts = batch.counts;
            progress.set_length(counts.total.into());
            progress.set_position(u64::from(counts.done) + u64::from(counts.failed));
            &*batch.status == "ended"
        },
    );
    let batch = batch.await?;
    progress.finish_and_clear();
    Ok(batch)
}

async fn list(arguments: &List) -> anyhow::Result<()> {
    let client = arguments.output.access.client()?;
    let cursor = arguments.cursor.as_deref();
    let found = client.list_batches(arguments.limit, cursor).await?;
    match arguments.output.json {
        true => print_json(&json!(found)),
        false => print_page(&COLUMNS, &found),
    }
}

fn show(batch: &Batch, is_json: bool) -> anyhow::Result<()> {
    print_as(is_json, batch, || describe(batch))
}

fn describe(it: &Batch) -> String {
    let (counts, charged, price) = (&it.counts, &*it.charged, &*it.price);
    let price = match it.ended_at {
        Some(_) => format!("{charged} charged of {price}"),
        None => format!("{charged} charged so far of {price}; failed requests are not charged"),
    };
    field_lines(&[
        ("batch", Some(&it.batch_id)),
        ("status", Some(&it.status)),
        ("requests", Some(&counts.total.to_string())),
        ("queued", Some(&counts.queued.to_string())),
        ("processing", Some(&counts.processing.to_string())),
        ("done", Some(&counts.done.to_string())),
        ("failed", Some(&counts.failed.to_string())),
        ("price", Some(&price)),
        ("metadata", it.metadata.as_ref().map(|it| it.get())),
        ("created", Some(&it.created_at)),
        ("ended", it.ended_at.as_deref()),
    ])
}

async fn results(arguments: &Results) -> anyhow::Result<ExitCode> {
    let client = arguments.access.client()?;
    if arguments.wait {
        let interrupt = signal(SignalKind::interrupt())?;
        // Fails at once if the server or the key is wrong.
        client.get_batch(arguments.id, 0).await?;
        let ended = wait_until_ended(&client, arguments.id, interrupt).await?;
        if ended.is_none() {
            return Ok(ExitCode::from(INTERRUPTED));
        }
    }
    // From the first use of the signal on, the process handles it, also after the wait.
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        written = write_results(&client, arguments) => written,
        _ = interrupt.recv() => {
            note("interrupted; repeat the command to continue");
            Ok(ExitCode::from(INTERRUPTED))
        }
    }
}

async fn write_results(client: &NativeClient, arguments: &Results) -> anyhow::Result<ExitCode> {
    let Some(directory) = &arguments.output else {
        let mut out = io::stdout().lock();
        let write = |line: &[u8]| Ok(out.write_all(line).and_then(|()| out.write_all(b"\n"))?);
        return match client.for_each_result(arguments.id, write).await {
            // Ignores a closed pipe, such as that of `head`.
            Err(error) if is_closed_pipe(&error) => Ok(ExitCode::SUCCESS),
            outcome => outcome.map(|()| ExitCode::SUCCESS),
        };
    };
    downloads::run(client, arguments.id, directory).await
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let cause = error.chain().find_map(|it| it.downcast_ref::<io::Error>());
    cause.is_some_and(|it| it.kind() == io::ErrorKind::BrokenPipe)
}
