//! `tintype serve`

use super::settings::Settings;
use crate::application::state::AppState;
use crate::config::{Config, Listen};
use crate::observability::log;
use crate::server::{self, Instance, Setup};
use crate::server::{bootstrap, fd_limits};
use anyhow::Context as _;
use clap::Args;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// How long callers may still be told 503 after a storage failure, before the process ends.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Options of `serve`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    settings: Settings,
    /// The address and port to listen on [default: server.listen of the configuration].
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
}

/// Runs the service until it is told to stop.
pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let listen = arguments
        .listen
        .map(|listen| ("server.listen".to_owned(), toml::Value::String(listen)));
    let config = arguments.settings.load(listen.into_iter().collect())?;
    log::start(&config.log);
    fd_limits::raise();
    actix_web::rt::System::new().block_on(serve(config))
}

async fn serve(config: Config) -> anyhow::Result<ExitCode> {
    // Heard from the very beginning, so that a stop during a long recovery is an orderly one too.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let told_to_stop = async move {
        tokio::select! {
            _ = terminate.recv() => tracing::info!("stopping: SIGTERM"),
            _ = interrupt.recv() => tracing::info!("stopping: SIGINT"),
        }
    };
    let (host, port) = config.server.listen.host_and_port();
    let listener = server::bind(host, port).with_context(|| {
        format!("cannot listen on {host}:{port}; stop what is there, or choose another address with --listen")
    })?;
    let metrics = match &config.server.metrics_listen {
        Some(address) => Some(bind_metrics(address)?),
        None => None,
    };
    let public_url = config.public_url_at(listener.local_addr()?);
    let instance = server::start(Setup::new(config, public_url)).await?;
    tokio::select! {
        biased;
        // Watched during the orderly stop as well, which writes too.
        reason = instance.state.fail_stop.tripped() => {
            tokio::time::sleep(LAST_WORDS).await;
            let _ = writeln!(std::io::stderr(), "tintype: stopped: {reason}");
            // Not through the orderly stop: nothing more may be written.
            std::process::exit(1);
        }
        outcome = listen_until(told_to_stop, &instance, listener, metrics) => outcome,
    }
}

fn bind_metrics(address: &Listen) -> anyhow::Result<TcpListener> {
    let (host, port) = address.host_and_port();
    server::bind(host, port).with_context(|| {
        format!("cannot listen on {host}:{port} for /metrics; choose another address in [server] metrics_listen")
    })
}

async fn listen_until(
    told_to_stop: impl Future<Output = ()>,
    instance: &Instance,
    listener: TcpListener,
    metrics: Option<TcpListener>,
) -> anyhow::Result<ExitCode> {
    let metrics_at = metrics.as_ref().map(TcpListener::local_addr).transpose()?;
    greet(&instance.state, metrics_at).await?;
    let figures = match metrics {
        Some(listener) => {
            let server = server::serve_metrics(instance.clone(), listener)?;
            let handle = server.handle();
            actix_web::rt::spawn(server);
            Some(handle)
        }
        None => None,
    };
    let server = server::serve(instance.clone(), listener)?;
    let handle = server.handle();
    let running = actix_web::rt::spawn(server);
    told_to_stop.await;
    // Connections are refused from here on, while jobs go on within the same grace period.
    let closing = actix_web::rt::spawn(handle.stop(true));
    server::finish_jobs(instance).await;
    closing.await?;
    running.await??;
    // Told until the last job is through.
    if let Some(figures) = figures {
        figures.stop(false).await;
    }
    let closed = instance.clone();
    tokio::task::spawn_blocking(move || server::close(&closed)).await?;
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// Says where the service is, and at the first start how to make a picture with it.
async fn greet(state: &AppState, metrics: Option<SocketAddr>) -> anyhow::Result<()> {
    let url = &state.public_url;
    let mut words = format!("Tintype {} is ready at {url}\n", env!("CARGO_PKG_VERSION"));
    if let Some(key) = bootstrap::key(state).await? {
        let account = bootstrap::account(state).await?;
        words += &format!(
            "
The account `{}` has a balance of {} {}. Its first API key, shown this once:

  {key}

Make a picture:

  curl -s {url}/api/v1/text-generations \\
    -H 'Authorization: Bearer {key}' \\
    -H 'Content-Type: application/json' \\
    -d '{{\"prompt\": \"a red fox in the snow\", \"aspect_ratio\": \"1:1\"}}'

Then look at its status_url with the same Authorization, until it is done.

",
            account.name, account.books.balance, state.config.billing.currency
        );
    }
    words += &format!("The panel is at {url}/panel\n");
    words += &format!("The interface is described at {url}/docs\n");
    if let Some(address) = metrics {
        words += &format!("Metrics are at http://{address}/metrics\n");
    }
    if state.config.admin.token.is_none() {
        let file = state.config.storage.data_dir.join("admin-token");
        words += &format!(
            "The operator signs in with the token in {}, which is also that of {url}/admin/v1\n",
            file.display()
        );
    }
    let mut output = std::io::stdout().lock();
    // A service whose standard output nobody reads serves all the same.
    if let Err(error) = output
        .write_all(words.as_bytes())
        .and_then(|()| output.flush())
    {
        tracing::warn!(%error, "standard output is closed, so nobody was told where the service is, or its first key");
    }
    Ok(())
}
