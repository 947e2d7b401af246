//! `tintype batch ...`: many requests in one call to a running server, as the holder of an API key.

mod downloads;
mod requests;

use super::native_client::NativeClient;
use super::output::{facts, print, print_json, table};
use super::progress;
use anyhow::Context as _;
use clap::{Args, Subcommand};
use serde_json::json;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tintype_api::Batch;
use tintype_storage::domain::ids::BatchId;
use uuid::Uuid;

/// Seconds that one lookup waits for the end of a batch: the progress bar moves after each.
const WAIT: u64 = 1;
/// Shortest time between two lookups.
const PAUSE: Duration = Duration::from_secs(1);

/// What to do with batches.
#[derive(Subcommand)]
pub enum Command {
    /// Submit the requests of a file as one batch.
    Submit(Submit),
    /// List batches, newest first.
    List(List),
    /// Show a batch.
    Show(One),
    /// Cancel what is still queued of a batch, and release the reserved prices.
    Cancel(One),
    /// Print the results of a batch as lines of JSON, or download its images.
    Results(Results),
}

/// The server and the key.
#[derive(Args)]
struct Access {
    /// The running server.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    server: String,
    /// API key. Prefer the environment variable, which the process list does not show.
    #[arg(long, value_name = "KEY", env = "TINTYPE_KEY", hide_env_values = true)]
    key: Option<String>,
}

impl Access {
    fn client(&self) -> anyhow::Result<NativeClient> {
        let key = self.key.as_deref();
        let key = key.context("an API key is needed; give one with --key or in TINTYPE_KEY")?;
        NativeClient::new(&self.server, key)
    }
}

/// Options of `batch submit`.
#[derive(Args)]
pub struct Submit {
    /// The requests: one JSON object per line, the JSON body of the call, or a CSV table; - reads standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The file is a CSV table whose first row names the fields [default: if the file is named *.csv].
    #[arg(long)]
    csv: bool,
    /// Creates the batch once, however often the command is repeated with it after a lost answer [default: random].
    #[arg(long, value_name = "KEY", conflicts_with = "dry_run")]
    idempotency_key: Option<String>,
    /// Wait until the batch has ended; fail if some of its jobs have failed.
    #[arg(long, conflicts_with = "dry_run")]
    wait: bool,
    /// Check everything and print the price; submit nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: Output,
}

/// Options of `batch list`.
#[derive(Args)]
pub struct List {
    /// Entries of the page, 1 to 100.
    #[arg(long, default_value_t = 20)]
    limit: u8,
    /// Where the page before has ended.
    #[arg(long)]
    cursor: Option<String>,
    #[command(flatten)]
    output: Output,
}

/// Options of what is done with one batch.
#[derive(Args)]
pub struct One {
    /// The batch's id.
    id: BatchId,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
struct Output {
    #[command(flatten)]
    access: Access,
    /// Print the answer of the server as JSON.
    #[arg(long)]
    json: bool,
}

/// Options of `batch results`.
#[derive(Args)]
pub struct Results {
    /// The batch's id.
    id: BatchId,
    /// Directory to download the images to, each named after its custom_id. Images that are there are not downloaded again.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Wait until the batch has ended.
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    access: Access,
}

pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    actix_web::rt::System::new().block_on(async {
        match command {
            Command::Submit(arguments) => submit(arguments).await,
            Command::List(arguments) => list(&arguments).await,
            Command::Show(one) => {
                let batch = one.output.access.client()?.batch(one.id, 0).await?;
                show(&batch, one.output.json)
            }
            Command::Cancel(one) => {
                let batch = one.output.access.client()?.cancel_batch(one.id).await?;
                show(&batch, one.output.json)
            }
            Command::Results(arguments) => results(&arguments).await,
        }
    })
}

async fn submit(arguments: Submit) -> anyhow::Result<ExitCode> {
    let client = arguments.output.access.client()?;
    let body = requests::read(&arguments.file, arguments.csv)?;
    if arguments.dry_run {
        let estimate = client.estimate(body).await?;
        match arguments.output.json {
            true => print_json(&json!(estimate))?,
            false => print(&facts(&[
                ("requests", Some(&estimate.requests.to_string())),
                ("price", Some(&estimate.price)),
                ("available", Some(&estimate.available)),
            ]))?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    let name = arguments.idempotency_key;
    let name = name.unwrap_or_else(|| Uuid::new_v4().to_string());
    let mut batch = client.submit(body, &name).await?;
    if arguments.wait {
        let id = id_of(&batch)?;
        // The id first: it is what the images are found by, should the command be interrupted.
        note(&format!("batch {id}"));
        batch = ended(&client, id).await?;
    }
    show(&batch, arguments.output.json)?;
    Ok(match arguments.wait && batch.counts.failed > 0 {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

fn id_of(batch: &Batch) -> anyhow::Result<BatchId> {
    let id = batch.batch_id.parse();
    id.context("the answer is not from Tintype; check --server")
}

/// The batch once it has ended, with a progress bar meanwhile.
async fn ended(client: &NativeClient, id: BatchId) -> anyhow::Result<Batch> {
    let mut bar = None;
    loop {
        let asked = Instant::now();
        let batch = client.batch(id, WAIT).await?;
        let counts = batch.counts;
        let bar = bar.get_or_insert_with(|| progress::bar(counts.total.into(), "generating"));
        bar.set_position(u64::from(counts.done) + u64::from(counts.failed));
        if &*batch.status == "ended" {
            bar.finish_and_clear();
            return Ok(batch);
        }
        tokio::time::sleep(PAUSE.saturating_sub(asked.elapsed())).await;
    }
}

async fn list(arguments: &List) -> anyhow::Result<ExitCode> {
    let client = arguments.output.access.client()?;
    let cursor = arguments.cursor.as_deref();
    let found = client.batches(arguments.limit, cursor).await?;
    if arguments.output.json {
        print_json(&json!(found))?;
        return Ok(ExitCode::SUCCESS);
    }
    let heads = [
        "BATCH", "CREATED", "STATUS", "TOTAL", "DONE", "FAILED", "PRICE",
    ];
    let row = |it: &Batch| {
        vec![
            it.batch_id.to_string(),
            it.created_at.to_string(),
            it.status.to_string(),
            it.counts.total.to_string(),
            it.counts.done.to_string(),
            it.counts.failed.to_string(),
            it.price.to_string(),
        ]
    };
    print(&table(&heads, found.data.iter().map(row).collect()))?;
    if let Some(next) = &found.next_cursor {
        note(&format!("there may be more; continue with --cursor {next}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn show(batch: &Batch, json: bool) -> anyhow::Result<ExitCode> {
    match json {
        true => print_json(&json!(batch))?,
        false => print(&shown(batch))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn shown(it: &Batch) -> String {
    let counts = &it.counts;
    facts(&[
        ("batch", Some(&it.batch_id)),
        ("status", Some(&it.status)),
        ("requests", Some(&counts.total.to_string())),
        ("queued", Some(&counts.queued.to_string())),
        ("processing", Some(&counts.processing.to_string())),
        ("done", Some(&counts.done.to_string())),
        ("failed", Some(&counts.failed.to_string())),
        ("price", Some(&it.price)),
        ("metadata", it.metadata.as_ref().map(|it| it.get())),
        ("created", Some(&it.created_at)),
        ("ended", it.ended_at.as_deref()),
    ])
}

async fn results(arguments: &Results) -> anyhow::Result<ExitCode> {
    let client = arguments.access.client()?;
    if arguments.wait {
        ended(&client, arguments.id).await?;
    }
    let Some(directory) = &arguments.output else {
        let mut out = io::stdout().lock();
        let write = |line: &[u8]| Ok(out.write_all(line).and_then(|()| out.write_all(b"\n"))?);
        return match client.results(arguments.id, write).await {
            // A closed pipe, as of `head`, is no error.
            Err(error) if is_closed_pipe(&error) => Ok(ExitCode::SUCCESS),
            outcome => outcome.map(|()| ExitCode::SUCCESS),
        };
    };
    downloads::run(&client, arguments.id, directory).await
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let cause = error.chain().find_map(|it| it.downcast_ref::<io::Error>());
    cause.is_some_and(|it| it.kind() == io::ErrorKind::BrokenPipe)
}

/// Says something that is no output. A closed standard error is no reason to fail.
fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
