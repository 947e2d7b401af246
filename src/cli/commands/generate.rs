//! `tintype generate`: generates one image with a running server or an embedded one.
//!
//! The embedded server keeps its data in a temporary directory, or in `--data-dir`, and listens on a free loopback port.

use crate::application::Caller;
use crate::application::accounts::api_keys;
use crate::application::services::{AccountService, JobService};
use crate::cli::http_client::repeat_advice;
use crate::cli::image_format;
use crate::cli::native_client::{NativeClient, SubmissionKey};
use crate::cli::option_names;
use crate::cli::output::{note, print};
use crate::cli::output_file::OutputFile;
use crate::cli::problem_text::ErrorResponse;
use crate::cli::settings::Settings;
use crate::cli::stop_signal::StopSignals;
use crate::cli::{polling, progress, server_url};
use crate::config::Config;
use crate::observability::log;
use crate::server::bootstrap;
use crate::server::{self, Setup, StartError};
use actix_web::web::Data;
use anyhow::{Context as _, anyhow, bail, ensure};
use bytes::Bytes;
use clap::Args;
use indicatif::ProgressBar;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::future::pending;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tempfile::TempDir;
use tintype_api::Job;
use tintype_imaging::ImageKind;
use tintype_storage::domain::api_key::KeyChange;
use tintype_storage::domain::tier::Tier;
use tintype_storage::engine::EngineError;
use uuid::Uuid;

const KEY_VARIABLE: &str = "TINTYPE_KEY";
/// Installed by the Debian package.
const INSTALLED_GUIDE: &str = "/usr/share/doc/tintype/backends.md";
/// Seconds that one request waits for the job to end. The progress line shows the status after each request.
const LONG_POLL_SECONDS: u64 = 2;
/// Maximum time to wait for the job, including its time in the queue.
const JOB_TIMEOUT: Duration = Duration::from_secs(3_600);
/// The command deletes its key of the embedded server when it ends. If the command is killed, the key expires.
const KEY_LIFETIME: Duration = Duration::from_secs(3_600);

#[derive(Args)]
pub struct Arguments {
    /// Description of the image.
    prompt: String,
    /// File to save the image to, as PNG, JPEG or WebP by its extension [default: named after the prompt].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Model: fast, quality or pro.
    #[arg(long, alias = "tier", default_value = "quality", value_parser = model)]
    model: Tier,
    /// Aspect ratio, such as 16:9; auto copies the first input image [default: 1:1, or auto with input images, except for fast].
    #[arg(long, value_name = "RATIO")]
    aspect_ratio: Option<String>,
    /// Resolution: 1K, 2K or 4K [default: 1K].
    #[arg(long, value_name = "SIZE")]
    resolution: Option<String>,
    /// Input image: a URL or, with an embedded server, a file. Repeat it for up to 14 images.
    #[arg(long, value_name = "URL_OR_FILE")]
    input: Vec<String>,
    /// URL of a running server, such as http://127.0.0.1:8080 [default: the environment variable TINTYPE_URL, or else start an
    /// embedded server].
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// API key of the running server. Prefer the environment variable TINTYPE_KEY, which the process list does not show.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Idempotency key: repeating the command with the same key creates one job on the running server [default: random].
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Start an embedded server with this configuration file [default: ./config.toml if it exists].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Start an embedded server that keeps the job and the image in this data directory [default: a temporary directory].
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

fn model(word: &str) -> Result<Tier, String> {
    word.parse()
        .map_err(|_| "expected one of fast, quality, pro".to_owned())
}

pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let output = OutputFile::new(arguments.output.as_deref(), &arguments.prompt)?;
    ensure!(
        arguments.aspect_ratio.as_deref() != Some("auto") || !arguments.input.is_empty(),
        "--aspect-ratio `auto`: it follows the first input image; add one with --input, or give a ratio such as 16:9"
    );
    actix_web::rt::System::new().block_on(async {
        let image = match server(&arguments)? {
            Some(server) => {
                refuse_files(&arguments.input, &server)?;
                let client = NativeClient::new(&server, &api_key(&arguments, &server)?)?;
                generate_on_server(&client, &arguments).await?
            }
            None => generate_embedded(&arguments).await?,
        };
        if image_format::is_demo(&image) {
            note(&format!(
                "demo image: drawn by the built-in generator, which is not an AI model; {} shows how to connect a model",
                backends_guide()
            ));
        }
        let file = output.save(image)?;
        print(&format!("{}\n", file.display()))?;
        Ok(ExitCode::SUCCESS)
    })
}

/// The URL of the running server to call. An option for the embedded server overrides the environment variable.
fn server(arguments: &Arguments) -> anyhow::Result<Option<String>> {
    let is_embedded = arguments.config.is_some() || arguments.data_dir.is_some();
    let server = match &arguments.server {
        None if is_embedded => None,
        option => server_url::named(option.as_deref())?,
    };
    for (option, value) in [
        ("--key", &arguments.key),
        ("--idempotency-key", &arguments.idempotency_key),
    ] {
        ensure!(
            server.is_some() || value.is_none(),
            "{option}: the embedded server needs none; give the URL of a running server with {}",
            server_url::OPTION
        );
    }
    Ok(server)
}

fn api_key(arguments: &Arguments, server: &str) -> anyhow::Result<String> {
    let from_environment = || std::env::var(KEY_VARIABLE).ok();
    let key = arguments.key.clone().or_else(from_environment);
    let key = key.filter(|it| !it.is_empty());
    key.with_context(|| {
        format!(
            "the server {server} requires an API key; set --key or the environment variable {KEY_VARIABLE}"
        )
    })
}

fn refuse_files(inputs: &[String], server: &str) -> anyhow::Result<()> {
    match inputs.iter().find(|input| !is_url(input)) {
        Some(file) => bail!(
            "--input {file}: the server {server} accepts only URLs; to use a file, start an embedded server: omit {} and unset {}",
            server_url::OPTION,
            server_url::VARIABLE
        ),
        None => Ok(()),
    }
}

fn is_url(input: &str) -> bool {
    input.starts_with("http://") || input.starts_with("https://")
}

/// Starts a server, calls it like any client and stops it.
async fn generate_embedded(arguments: &Arguments) -> anyhow::Result<Bytes> {
    let scratch = match arguments.data_dir {
        Some(_) => None,
        None => Some(
            tempfile::Builder::new()
                .prefix("tintype-")
                .tempdir()
                .context(
                    "cannot use the directory for temporary files; set TMPDIR to another one",
                )?,
        ),
    };
    let config = embedded_config(arguments, scratch.as_ref().map(TempDir::path))?;
    log::start(&config.log);
    let listener = server::bind("127.0.0.1", 0)?;
    let public_url = format!("http://{}", listener.local_addr()?);
    let started = server::start(Setup {
        // A server that runs on the data directory can generate the image itself.
        waits_for_predecessor: false,
        resumes_work: false,
        ..Setup::new(config, public_url)
    });
    let started = started.await;
    let instance = started.map_err(suggest_server)?;
    let server = server::serve(instance.clone(), listener)?;
    let handle = server.handle();
    actix_web::rt::spawn(server);
    let outcome = tokio::select! {
        biased;
        // After a storage failure nothing can be written, so nothing is cleaned up. The temporary key expires.
        reason = instance.core.fail_stop.tripped() => bail!("stopped: {reason}"),
        outcome = with_temporary_key(&instance.accounts, &instance.jobs, arguments) => outcome,
    };
    handle.stop(false).await;
    server::finish_jobs(&instance, pending()).await;
    server::close(&instance).await;
    outcome
}

/// The guide to backends on this machine, or its name in the release.
fn backends_guide() -> &'static str {
    match Path::new(INSTALLED_GUIDE).exists() {
        true => INSTALLED_GUIDE,
        false => "docs/backends.md of the release",
    }
}

/// Adds that the server which has locked the data directory can generate the image.
fn suggest_server(error: StartError) -> anyhow::Error {
    let server = match error {
        StartError::Engine(EngineError::Locked(_)) => "to use the server that runs on it,",
        StartError::UnfinishedWork { .. } => "start its server with `tintype serve`, and",
        _ => return anyhow::Error::new(error),
    };
    anyhow!("{error}; {server} give its URL with --server and an API key in {KEY_VARIABLE}")
}

fn embedded_config(arguments: &Arguments, scratch: Option<&Path>) -> anyhow::Result<Config> {
    let settings = Settings {
        config: arguments.config.clone(),
        data_dir: arguments.data_dir.clone(),
    };
    let mut config = settings.load_to_run(Vec::new())?;
    match scratch {
        Some(directory) => {
            config.storage.data_dir = directory.to_owned();
            config.storage.objects = None;
            config.storage.url = None;
            // The operator's webhook and traces are for the events of the real server.
            config.operator.webhook_url = None;
            config.otlp.endpoint = None;
            // A temporary account has play money, which must cover any configured price.
            config.first_run.balance = Decimal::from(1_000_000);
        }
        // The embedded server would join the nodes, take their jobs and end a moment later.
        None => ensure!(
            config.storage.url.is_none(),
            "the configuration names a database (url in [storage]), which other servers use; to generate an image there, give the URL of \
             a server with {}",
            server_url::OPTION
        ),
    }
    // The embedded server serves the input files from its own address. It has no other jobs, so no caller can misuse this.
    let own = IpAddr::from(Ipv4Addr::LOCALHOST);
    config.egress.allow.push(own.into());
    config.egress.deny.retain(|range| !range.contains(&own));
    // An interrupted job must not delay the exit. It resumes at the next start of a server.
    config.server.shutdown_grace_seconds = 0;
    let is_set = |name| std::env::var_os(name).is_some();
    if !["TINTYPE__LOG__FILTER", "RUST_LOG"].into_iter().any(is_set) {
        config.log.filter = "error".into();
    }
    Ok(config)
}

async fn with_temporary_key(
    accounts: &Data<AccountService>,
    jobs: &Data<JobService>,
    arguments: &Arguments,
) -> anyhow::Result<Bytes> {
    let mut stop_signals = StopSignals::install()?;
    let core = &jobs.core;
    let account = bootstrap::ensure_account(accounts).await?;
    let temporary = KeyChange {
        name: Some(bootstrap::TEMPORARY_KEY.into()),
        expires_at: Some(Some(core.now().plus(KEY_LIFETIME))),
        ..KeyChange::default()
    };
    let (text, key) = api_keys::create(core, &Caller::service(), account.id, temporary).await?;
    let client = NativeClient::new(&jobs.settings.public_url, &text)?;
    let mut uploads = Vec::new();
    let work = async {
        let urls = input_urls(jobs, &arguments.input, &mut uploads).await?;
        generate(&client, arguments, &urls).await
    };
    let outcome = tokio::select! {
        outcome = work => outcome,
        // The key and the uploads are deleted below in this case too.
        _ = stop_signals.next() => Err(anyhow!(interrupted_message(arguments))),
    };
    for upload in uploads {
        jobs.objects.delete(&upload).await?;
    }
    api_keys::delete(accounts, &Caller::service(), key.id).await?;
    outcome
}

fn interrupted_message(arguments: &Arguments) -> &'static str {
    match arguments.data_dir {
        Some(_) => {
            "interrupted; an accepted job resumes when a server starts on this data directory"
        }
        None => "interrupted; nothing was kept",
    }
}

/// The inputs as URLs. Uploads each file to the object store, presigns it, and adds its key to `uploads` for the cleanup.
async fn input_urls(
    jobs: &JobService,
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
            format!("--input {input} is not a PNG, JPEG, WebP, GIF, HEIC or AVIF image")
        })?;
        let key = format!("uploads/{}.{}", Uuid::new_v4(), kind.extension());
        jobs.objects
            .put(&key, Bytes::from(bytes), kind.mime())
            .await?;
        urls.push(
            jobs.objects
                .presign(
                    &key,
                    jobs.core.now().to_datetime(),
                    jobs.settings.config.results.url_lifetime(),
                )
                .await?,
        );
        uploads.push(key);
    }
    Ok(urls)
}

/// Says how to get the image if the command ends early, because the server charges it.
async fn generate_on_server(client: &NativeClient, arguments: &Arguments) -> anyhow::Result<Bytes> {
    let mut stop_signals = StopSignals::install()?;
    let progress = progress::spinner("sending");
    let key = SubmissionKey::given_or_random(arguments.idempotency_key.clone());
    let status_url = tokio::select! {
        created = submit(client, arguments, &arguments.input, Some(&key)) => created?,
        _ = stop_signals.next() => bail!("interrupted; {}", repeat_advice(&key.text)),
    };
    let repeat = format!(
        "repeat the command with --idempotency-key {} to get its image",
        key.text
    );
    let advice = format!("the server accepted the job; {repeat}");
    tokio::select! {
        image = receive(client, &status_url, &progress, &advice) => image,
        _ = stop_signals.next() => bail!(
            "interrupted; the server accepted the job and continues: {repeat}"
        ),
    }
}

async fn generate(
    client: &NativeClient,
    arguments: &Arguments,
    urls: &[String],
) -> anyhow::Result<Bytes> {
    let progress = progress::spinner("sending");
    let status_url = submit(client, arguments, urls, None).await?;
    receive(client, &status_url, &progress, "the job was accepted").await
}

/// Creates the job and returns its status URL.
async fn submit(
    client: &NativeClient,
    arguments: &Arguments,
    urls: &[String],
    key: Option<&SubmissionKey>,
) -> anyhow::Result<String> {
    let path = endpoint(arguments.model, !urls.is_empty());
    let body = body(arguments, urls);
    let created = client.create_job(&path, &body, key).await;
    created.map_err(|error| explain(error, arguments, body))
}

/// Waits for the end of the job and downloads its image. `advice` precedes an error that leaves a job or its image on the server.
async fn receive(
    client: &NativeClient,
    status_url: &str,
    progress: &ProgressBar,
    advice: &str,
) -> anyhow::Result<Bytes> {
    let job = wait_for_job(client, status_url, progress).await;
    let job = job.with_context(|| advice.to_owned())?;
    let Some(result) = job.result else {
        bail!(
            "no image was generated: {}",
            job.error
                .unwrap_or_else(|| "the server did not say why".into())
        );
    };
    progress.set_message("downloading");
    let image = client.download(&result.image_url).await;
    let image = image.with_context(|| advice.to_owned())?;
    progress.finish_and_clear();
    Ok(image)
}

/// Replaces the fields of the request in an error response by the options that set them.
fn explain(error: anyhow::Error, arguments: &Arguments, mut request: Value) -> anyhow::Error {
    // The request contains the URLs of uploaded files, but the user typed their names.
    request["input_images_urls"] = json!(arguments.input);
    let describe = |field: &str, message: &str| {
        let text = option_names::describe(&request, field, message);
        match message.contains("public address") {
            true => format!(
                "{text}; the operator of the server can allow its range with allow in [egress] of the configuration"
            ),
            false => text,
        }
    };
    match error.downcast_ref::<ErrorResponse>() {
        Some(response) => anyhow!(response.text(&describe)),
        None => error,
    }
}

async fn wait_for_job(
    client: &NativeClient,
    status_url: &str,
    progress: &ProgressBar,
) -> anyhow::Result<Job<'static>> {
    let ended = polling::poll(
        progress,
        async || client.get_job(status_url, LONG_POLL_SECONDS).await,
        |job| {
            progress.set_message(job.status.to_string());
            matches!(&*job.status, "done" | "failed")
        },
    );
    let ended = tokio::time::timeout(JOB_TIMEOUT, ended).await;
    ended.unwrap_or_else(|_| bail!("the job did not end within an hour; check {status_url} later"))
}

fn endpoint(model: Tier, with_inputs: bool) -> String {
    let prefix = match model {
        Tier::Fast => "/nb",
        Tier::Quality => "/nb2",
        Tier::Pro => "",
    };
    let mode = if with_inputs { "url" } else { "text" };
    format!("{prefix}/{mode}-generations")
}

fn body(arguments: &Arguments, urls: &[String]) -> Value {
    let default_ratio = if !urls.is_empty() && arguments.model != Tier::Fast {
        "auto"
    } else {
        "1:1"
    };
    let ratio = arguments.aspect_ratio.as_deref().unwrap_or(default_ratio);
    let mut body = json!({"prompt": arguments.prompt, "aspect_ratio": ratio});
    if let Some(resolution) = &arguments.resolution {
        body["resolution"] = json!(resolution);
    }
    if !urls.is_empty() {
        body["input_images_urls"] = json!(urls);
    }
    body
}
