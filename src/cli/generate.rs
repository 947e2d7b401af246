//! `tintype generate`: a picture from one command, against a server or an instance of its own.

use super::client::{JobAnswer, NativeClient};
use super::output::print;
use super::settings::Settings;
use super::{private, progress};
use crate::application::AuditContext;
use crate::application::state::AppState;
use crate::config::Config;
use crate::http::{issue_key, nothing_else, remove_key};
use crate::inputs::ImageKind;
use crate::observability::log;
use crate::server::bootstrap;
use crate::server::{self, Setup};
use actix_web::web::Data;
use anyhow::{Context as _, bail};
use bytes::Bytes;
use clap::Args;
use indicatif::ProgressBar;
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tintype_storage::domain::api_key::ApiKey;
use tintype_storage::domain::tier::Tier;
use tokio::signal::unix::{SignalKind, signal};
use uuid::Uuid;

/// Where the key of a server is looked for, unless it is named.
const KEY_VARIABLE: &str = "TINTYPE_KEY";
/// Seconds that one look at the job waits for its end. In between the progress line learns that the job has started.
const WAIT: u64 = 2;
/// The least time between two looks: a server that knows no waiting answers each at once.
const PAUSE: Duration = Duration::from_secs(1);
/// A run of the slowest back end, with its queue, is not waited for longer.
const PATIENCE: Duration = Duration::from_secs(3_600);
/// The key of an own instance is removed when the command ends; if the command is killed, it ends by itself.
const KEY_LIFETIME: Duration = Duration::from_secs(3_600);

/// Options of `generate`.
#[derive(Args)]
pub struct Arguments {
    /// What to show.
    prompt: String,
    /// The file to save the picture to [default: named after the prompt].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The model: fast, quality or pro.
    #[arg(long, default_value = "quality", value_parser = tier)]
    tier: Tier,
    /// The shape, such as 16:9; auto follows the first input [default: 1:1, with inputs auto where the tier has it].
    #[arg(long, value_name = "RATIO")]
    aspect_ratio: Option<String>,
    /// The size: 1K, 2K or 4K.
    #[arg(long, value_name = "SIZE")]
    resolution: Option<String>,
    /// An input image, as a URL or (without --server) a file; may be given up to 14 times.
    #[arg(long, value_name = "URL_OR_FILE")]
    input: Vec<String>,
    /// A running server to ask, such as http://127.0.0.1:8080; without it an instance of its own does the work.
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// An API key of that server; better in the environment variable TINTYPE_KEY, which no list of processes shows.
    #[arg(long, value_name = "KEY", requires = "server")]
    key: Option<String>,
    #[command(flatten)]
    settings: Settings,
}

fn tier(word: &str) -> Result<Tier, String> {
    word.parse()
        .map_err(|_| "one of fast, quality, pro".to_owned())
}

/// Makes one picture.
pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let output = match &arguments.output {
        Some(output) => output.clone(),
        None => free_file(&file_stem(&arguments.prompt)),
    };
    check_output(&output)?;
    actix_web::rt::System::new().block_on(async {
        let picture = match &arguments.server {
            Some(server) => {
                refuse_files(&arguments.input)?;
                let client = NativeClient::new(server, &key_of(&arguments)?)?;
                make(&client, &arguments, &arguments.input).await?
            }
            None => embedded(&arguments).await?,
        };
        private::write_for_user(&output, &picture.bytes).with_context(|| {
            format!(
                "cannot write {}; the picture is made and kept: look at {}",
                output.display(),
                picture.status_url
            )
        })?;
        print(&format!("{}\n", output.display()))?;
        Ok(ExitCode::SUCCESS)
    })
}

/// The key to a server.
fn key_of(arguments: &Arguments) -> anyhow::Result<String> {
    let of_environment = || std::env::var(KEY_VARIABLE).ok();
    let key = arguments.key.clone().or_else(of_environment);
    key.with_context(|| format!("--server needs an API key: name it with --key or {KEY_VARIABLE}"))
}

/// A picture that is paid for.
struct Made {
    bytes: Bytes,
    /// Where its job is looked up, should it be lost here.
    status_url: String,
}

/// Found before the work is done and paid for.
fn check_output(output: &Path) -> anyhow::Result<()> {
    if output.is_dir() {
        bail!("{} is a directory; name a file", output.display());
    }
    match output.parent() {
        Some(parent) if !parent.as_os_str().is_empty() && !parent.is_dir() => {
            bail!("there is no directory {}", parent.display())
        }
        _ => Ok(()),
    }
}

fn refuse_files(inputs: &[String]) -> anyhow::Result<()> {
    match inputs.iter().find(|input| !is_url(input)) {
        Some(file) => {
            bail!("--input {file}: a server takes URLs only; leave --server out to use a file")
        }
        None => Ok(()),
    }
}

fn is_url(input: &str) -> bool {
    input.starts_with("http://") || input.starts_with("https://")
}

/// Starts an instance on a free port of the loopback address, uses it like any client, and stops it.
async fn embedded(arguments: &Arguments) -> anyhow::Result<Made> {
    let config = own_config(arguments)?;
    log::start(&config.log);
    let listener = server::bind("127.0.0.1", 0)?;
    let public_url = format!("http://{}", listener.local_addr()?);
    let instance = server::start(Setup::new(config, public_url)).await?;
    let server = server::serve(instance.clone(), listener)?;
    let handle = server.handle();
    actix_web::rt::spawn(server);
    let outcome = tokio::select! {
        biased;
        // Nothing more can be written, so nothing is tidied up: what is left behind expires by itself.
        reason = instance.state.fail_stop.tripped() => bail!("stopped: {reason}"),
        outcome = with_own_key(&instance.state, arguments) => outcome,
    };
    handle.stop(false).await;
    server::finish_jobs(&instance).await;
    server::close(&instance);
    outcome
}

fn own_config(arguments: &Arguments) -> anyhow::Result<Config> {
    let mut config = arguments.settings.load(Vec::new())?;
    // Files are handed over under this instance's own address.
    config
        .egress
        .allow
        .push(IpAddr::from(Ipv4Addr::LOCALHOST).into());
    // Jobs of earlier runs that this start took up again are nobody's reason to wait; they go on at the next one.
    config.server.shutdown_grace_seconds = 0;
    let is_asked_for = |name| std::env::var_os(name).is_some();
    if !["TINTYPE__LOG__FILTER", "RUST_LOG"]
        .into_iter()
        .any(is_asked_for)
    {
        config.log.filter = "error".into();
    }
    Ok(config)
}

async fn with_own_key(state: &Data<AppState>, arguments: &Arguments) -> anyhow::Result<Made> {
    let account = bootstrap::account(state).await?;
    let expires_at = Some(state.now().plus(KEY_LIFETIME));
    let shape = |key: ApiKey| ApiKey {
        name: bootstrap::PASSING_KEY.into(),
        expires_at,
        ..key
    };
    let (turn, author) = (state.operator.take().await, AuditContext::service());
    let (text, key) = issue_key(state, turn, &author, account.id, shape, nothing_else).await?;
    let client = NativeClient::new(&state.public_url, &text)?;
    let mut uploads = Vec::new();
    let work = async {
        let urls = urls(state, &arguments.input, &mut uploads).await?;
        make(&client, arguments, &urls).await
    };
    let outcome = tokio::select! {
        outcome = work => outcome,
        // The key and the uploads are removed all the same.
        told = told_to_stop() => told.and_then(|()| bail!("given up; the picture is made at the next start if its job was accepted")),
    };
    for upload in uploads {
        state.images.delete(&upload).await?;
    }
    remove_key(state, &AuditContext::service(), key.id).await?;
    outcome
}

/// Waits for the signals that end a command.
async fn told_to_stop() -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    }
}

/// The inputs as URLs: a file is put into the object store and presigned. `uploads` are the keys to remove afterwards.
async fn urls(
    state: &AppState,
    inputs: &[String],
    uploads: &mut Vec<String>,
) -> anyhow::Result<Vec<String>> {
    let mut urls = Vec::with_capacity(inputs.len());
    for input in inputs {
        if is_url(input) {
            urls.push(input.clone());
            continue;
        }
        let bytes = std::fs::read(input).with_context(|| format!("cannot read --input {input}"))?;
        let kind = ImageKind::from_bytes(&bytes).with_context(|| {
            format!("--input {input} is no PNG, JPEG, WebP, GIF, HEIC or AVIF image")
        })?;
        let key = format!("uploads/{}.{}", Uuid::new_v4(), kind.extension());
        state
            .images
            .put(&key, Bytes::from(bytes), kind.mime())
            .await?;
        urls.push(
            state
                .images
                .presign(&key, state.now().to_datetime(), state.url_lifetime())
                .await?,
        );
        uploads.push(key);
    }
    Ok(urls)
}

/// Posts the job, follows it, and downloads the picture.
async fn make(
    client: &NativeClient,
    arguments: &Arguments,
    urls: &[String],
) -> anyhow::Result<Made> {
    let progress = progress::line("sending");
    let status_url = client
        .create(
            &path(arguments.tier, !urls.is_empty()),
            &body(arguments, urls),
        )
        .await?;
    let job = follow(client, &status_url, &progress).await?;
    let Some(result) = job.result else {
        bail!(
            "no picture: {}",
            job.error.unwrap_or_else(|| "no reason was given".into())
        );
    };
    progress.set_message("downloading");
    let bytes = client
        .download(&result.image_url)
        .await
        .with_context(|| format!("the picture is made and kept: look at {status_url}"))?;
    progress.finish_and_clear();
    Ok(Made { bytes, status_url })
}

async fn follow(
    client: &NativeClient,
    status_url: &str,
    progress: &ProgressBar,
) -> anyhow::Result<JobAnswer> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let asked = Instant::now();
        let job = client.look_up(status_url, WAIT).await?;
        if job.status == "done" || job.status == "failed" {
            return Ok(job);
        }
        progress.set_message(job.status);
        tokio::time::sleep(PAUSE.saturating_sub(asked.elapsed())).await;
    }
    bail!("the job is not finished after an hour; look at {status_url} later")
}

fn path(tier: Tier, with_inputs: bool) -> String {
    let prefix = match tier {
        Tier::Fast => "/nb",
        Tier::Quality => "/nb2",
        Tier::Pro => "",
    };
    let mode = if with_inputs { "url" } else { "text" };
    format!("{prefix}/{mode}-generations")
}

fn body(arguments: &Arguments, urls: &[String]) -> Value {
    let automatic = if !urls.is_empty() && arguments.tier != Tier::Fast {
        "auto"
    } else {
        "1:1"
    };
    let ratio = arguments.aspect_ratio.as_deref().unwrap_or(automatic);
    let mut body = json!({"prompt": arguments.prompt, "aspect_ratio": ratio});
    if let Some(resolution) = &arguments.resolution {
        body["resolution"] = json!(resolution);
    }
    if !urls.is_empty() {
        body["input_images_urls"] = json!(urls);
    }
    body
}

/// A file of this name that is not there yet: a picture that nobody named replaces none.
fn free_file(stem: &str) -> PathBuf {
    let names = std::iter::once(format!("{stem}.png"))
        .chain((2..).map(|number| format!("{stem}-{number}.png")));
    let free = names.map(PathBuf::from).find(|path| !path.exists());
    free.unwrap_or_else(|| PathBuf::from("picture.png"))
}

/// The first words of a prompt as a file's name, without what tells its type.
fn file_stem(prompt: &str) -> String {
    let words: Vec<String> = prompt
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(6)
        .map(|word| word.chars().take(20).collect::<String>().to_lowercase())
        .collect();
    if words.is_empty() {
        "picture".to_owned()
    } else {
        words.join("-")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_after_the_prompt() {
        assert_eq!(
            file_stem("A red fox, in the snow!"),
            "a-red-fox-in-the-snow"
        );
        assert_eq!(file_stem("../../etc/passwd"), "etc-passwd");
        assert_eq!(file_stem("\u{1f98a}"), "picture");
    }

    #[test]
    fn a_file_that_is_there_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let stem = directory.path().join("fox").display().to_string();
        for expected in ["fox.png", "fox-2.png", "fox-3.png"] {
            let path = free_file(&stem);
            assert_eq!(path, directory.path().join(expected));
            std::fs::write(path, b"").unwrap();
        }
    }
}
