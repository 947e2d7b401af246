//! `tintype serve`: runs the server until a signal stops it.

use crate::admin_token::token_file;
use crate::application::services::AccountService;
use crate::cli::output;
use crate::cli::settings::{LOCAL_CONFIG, Settings};
use crate::cli::stop_signal::StopSignals;
use crate::config::{Config, Listen};
use crate::objects::ObjectError;
use crate::observability::log;
use crate::server::{self, Instance, Setup};
use crate::server::{bootstrap, fd_limits, service_marks};
use actix_web::rt::System;
use anyhow::anyhow;
use clap::Args;
use futures_util::FutureExt as _;
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tintype_storage::domain::account::Account;

/// After a storage failure the server answers 503 for this long, then the process exits.
const SHUTDOWN_DELAY: Duration = Duration::from_secs(1);

/// A signal that comes earlier belongs to the first one: Ctrl+C reaches the process and its parent, which may pass on another signal.
const SECOND_SIGNAL_AFTER: Duration = Duration::from_secs(1);

#[derive(Args)]
#[command(mut_arg("config", |it| it.help(LOCAL_CONFIG)))]
pub struct Arguments {
    #[command(flatten)]
    settings: Settings,
    /// Address and port to listen on [default: listen in [server] of the configuration].
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
}

pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let listen = arguments
        .listen
        .map(|listen| ("server.listen".to_owned(), toml::Value::String(listen)));
    let config = arguments
        .settings
        .load_to_run(listen.into_iter().collect())?;
    log::start(&config.log);
    fd_limits::raise();
    run_to_exit(serve(config))
}

/// Runs the server. After an orderly stop it does not drop the runtime, which would wait for blocking work, such as a sweep that reads
/// all jobs, or a call to a broken disk. The exit of the process ends that work.
fn run_to_exit(work: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    let system = System::new();
    // Otherwise the thread that ends last drops the last handle while its thread-local values are destroyed. That wakes the system,
    // which panics without those values, and the process aborts after an orderly stop.
    std::mem::forget(System::current());
    let outcome = system.block_on(work);
    if outcome.is_ok() {
        std::mem::forget(system);
    }
    outcome
}

async fn serve(config: Config) -> anyhow::Result<ExitCode> {
    // Installed first, so that a signal during a long recovery also causes a graceful shutdown.
    let mut stop_signals = StopSignals::install()?;
    // Before the process listens: clients and load balancers get a refusal instead of a connection without an answer.
    tokio::select! {
        reachable = server::wait_for_database(&config) => reachable?,
        name = stop_signals.next() => {
            tracing::info!("stopping: {name}");
            return Ok(ExitCode::SUCCESS);
        }
    }
    let listener = bind(&config.server.listen, "", "--listen")?;
    let metrics = match &config.server.metrics_listen {
        Some(address) => Some(bind(
            address,
            " for /metrics",
            "metrics_listen in [server]",
        )?),
        None => None,
    };
    let public_url = config.public_url_at(listener.local_addr()?);
    let instance = server::start(Setup::new(config, public_url)).await?;
    tokio::select! {
        biased;
        // Also during a graceful shutdown, which writes too.
        reason = instance.core.fail_stop.tripped() => {
            tokio::time::sleep(SHUTDOWN_DELAY).await;
            log::log_exit(&format!("stopped: {reason}"));
            output::note(&format!("tintype: stopped: {reason}"));
            // No graceful shutdown: nothing more may be written.
            std::process::exit(1);
        }
        outcome = listen_until(&mut stop_signals, &instance, listener, metrics) => outcome,
    }
}

/// Listens on an address, which `setting` changes.
fn bind(address: &Listen, purpose: &str, setting: &str) -> anyhow::Result<TcpListener> {
    let (host, port) = address.host_and_port();
    server::bind(host, port).map_err(|error| {
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse => "stop the process that uses the port, or ",
            io::ErrorKind::AddrNotAvailable => {
                "no network interface of this machine has the address: use 0.0.0.0 or [::] for all interfaces, or "
            }
            io::ErrorKind::PermissionDenied => {
                "ports below 1024 need root or the capability CAP_NET_BIND_SERVICE: grant it, or "
            }
            _ => "",
        };
        anyhow!("cannot listen on {host}:{port}{purpose}: {error}; {advice}choose another address with {setting}")
    })
}

async fn listen_until(
    stop_signals: &mut StopSignals,
    instance: &Instance,
    listener: TcpListener,
    metrics: Option<TcpListener>,
) -> anyhow::Result<ExitCode> {
    let metrics_at = metrics.as_ref().map(TcpListener::local_addr).transpose()?;
    let bucket_fault = probe_bucket(instance).await;
    if bucket_fault.is_none() {
        service_marks::ensure(&instance.accounts, &instance.jobs).await;
    }
    print_startup_message(&instance.accounts, metrics_at, bucket_fault.as_ref()).await?;
    let metrics_server = match metrics {
        Some(listener) => {
            let server = server::serve_metrics(instance.clone(), listener)?;
            let handle = server.handle();
            actix_web::rt::spawn(server);
            Some(handle)
        }
        None => None,
    };
    let listen = listener.local_addr()?;
    let server = server::serve(instance.clone(), listener)?;
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(version, %listen, url = instance.accounts.settings.public_url, "started");
    let handle = server.handle();
    let running = actix_web::rt::spawn(server);
    let name = stop_signals.next().await;
    tracing::info!("stopping: {name}");
    let cut_short = second_signal(stop_signals).shared();
    server::drain_connections(instance, cut_short.clone()).await;
    // The server refuses new connections. Jobs continue within the same grace period.
    let closing = actix_web::rt::spawn(handle.stop(true));
    server::finish_jobs(instance, cut_short.clone()).await;
    if cut_short.peek().is_none() {
        let closed = async {
            closing.await?;
            running.await??;
            anyhow::Ok(())
        };
        tokio::select! {
            closed = closed => closed?,
            () = cut_short => {}
        }
    }
    // Metrics stay available until the last job has ended.
    if let Some(handle) = metrics_server {
        handle.stop(false).await;
    }
    let is_closed = server::close(instance).await;
    tracing::info!("stopped");
    if !is_closed {
        std::process::exit(0);
    }
    Ok(ExitCode::SUCCESS)
}

/// Waits for a signal that asks to stop at once.
async fn second_signal(stop_signals: &mut StopSignals) {
    let first = Instant::now();
    let name = loop {
        let name = stop_signals.next().await;
        if first.elapsed() >= SECOND_SIGNAL_AFTER {
            break name;
        }
    };
    tracing::warn!("stopping at once: {name} again; unfinished jobs resume at the next start");
}

/// Why the bucket of the images cannot be used now. The start continues, because the bucket may come back.
async fn probe_bucket(instance: &Instance) -> Option<ObjectError> {
    let objects = &instance.jobs.objects;
    if objects.is_local() {
        return None;
    }
    let error = objects.probe().await.err()?;
    tracing::warn!(%error, "the bucket cannot be used; /readyz returns 503 until it can");
    Some(error)
}

/// Prints the address and, at the first start, the first key with a working example call.
async fn print_startup_message(
    accounts: &AccountService,
    metrics: Option<SocketAddr>,
    bucket_fault: Option<&ObjectError>,
) -> anyhow::Result<()> {
    let url = &accounts.settings.public_url;
    let mut text = format!("Tintype {} ", env!("CARGO_PKG_VERSION"));
    text += &match bucket_fault {
        None => format!("is ready at {url}\n"),
        Some(error) => format!(
            "listens at {url}, but is not ready: {}\n{error}\n",
            error.reason()
        ),
    };
    let first_key = bootstrap::issue_first_key(accounts).await?;
    if let Some(key) = &first_key {
        let account = bootstrap::ensure_account(accounts).await?;
        let currency = &accounts.settings.config.billing.currency;
        text += &first_key_text(url, key, &account, currency);
    }
    text += &format!("Panel: {url}/panel\n");
    text += &format!("API reference: {url}/docs\n");
    if let Some(address) = metrics {
        text += &format!("Metrics: http://{address}/metrics\n");
    }
    if accounts.settings.config.admin.token.is_none() {
        let file = token_file(&accounts.settings.config.storage.data_dir);
        text += &format!(
            "Operator token (for the panel and {url}/admin/v1): {}\n",
            file.display()
        );
    }
    let mut output = std::io::stdout().lock();
    // A closed standard output does not stop the server.
    if let Err(error) = output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
    {
        let lost = match first_key {
            Some(_) => "; the first API key is lost: create another one with `tintype key add`",
            None => "",
        };
        tracing::warn!(%error, "could not print the address{lost}");
    }
    Ok(())
}

/// The first key with a working example call.
fn first_key_text(url: &str, key: &str, account: &Account, currency: &str) -> String {
    let (name, balance) = (&account.name, account.balances.balance);
    format!(
        "
Account `{name}` was created with a balance of {balance} {currency}. This is its first API key. It is shown only once:

  {key}

Generate an image:

  curl -s {url}/api/v1/text-generations \\
    -H 'Authorization: Bearer {key}' \\
    -H 'Content-Type: application/json' \\
    -d '{{\"prompt\": \"a red fox in the snow\", \"aspect_ratio\": \"1:1\"}}'

Then poll its status_url with the same Authorization header until the status is `done`.

"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix::Arbiter;
    use actix_web::rt::{spawn, task::spawn_blocking};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn an_orderly_stop_does_not_wait_for_blocking_work() {
        let has_ended = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&has_ended);
        let outcome = run_to_exit(async move {
            let (hold, held) = mpsc::channel::<()>();
            spawn(async move {
                std::future::pending::<()>().await;
                drop(hold);
            });
            let (begun, begins) = tokio::sync::oneshot::channel();
            spawn_blocking(move || {
                let _ = begun.send(());
                // Ends with the runtime.
                let _ = held.recv();
                end.store(true, Ordering::SeqCst);
            });
            begins.await?;
            Ok(ExitCode::SUCCESS)
        });
        assert!(outcome.is_ok());
        assert!(!has_ended.load(Ordering::SeqCst));
    }

    /// A panic while the thread ends aborts the process.
    #[test]
    fn a_thread_may_end_after_the_main_thread() {
        let (hold, held) = mpsc::channel::<()>();
        let main = thread::spawn(move || {
            let mut last = None;
            let outcome = run_to_exit(async {
                let arbiter = Arbiter::new();
                let (begun, begins) = tokio::sync::oneshot::channel::<()>();
                let (task, task_dropped) = tokio::sync::oneshot::channel::<()>();
                arbiter.spawn(async move {
                    // The thread waits for its blocking work.
                    spawn_blocking(move || held.recv());
                    let _ = begun.send(());
                    std::future::pending::<()>().await;
                    drop(task);
                });
                begins.await?;
                arbiter.stop();
                // The thread drops its tasks after it has told the system of its end, which the system reads now.
                let _ = task_dropped.await;
                spawn(async {}).await?;
                last = Some(arbiter);
                Ok(ExitCode::SUCCESS)
            });
            assert!(outcome.is_ok());
            last.unwrap()
        });
        let last = main.join().unwrap();
        drop(hold);
        last.join().unwrap();
    }
}
