//! `tintype webhook listen`: a local receiver that verifies and prints deliveries.

mod attempts;
mod report;
mod secrets;

use crate::cli::operator_access::Access;
use crate::cli::output::{escape_control_chars, note, print};
use crate::cli::stop_signal::StopSignals;
use crate::server;
use crate::webhooks::DeliveryFile;
use actix_web::http::StatusCode;
use actix_web::web::{self, Data};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer};
use anyhow::Context as _;
use attempts::Attempts;
use clap::Args;
use report::Report;
use secrets::Secrets;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::webhook_wire::secret::WebhookSecret;

/// Maximum bytes of a body. The body of a delivery has about 20 KiB.
const MAX_BODY: usize = 1024 * 1024;

#[derive(Args)]
pub struct Arguments {
    /// Port of 127.0.0.1 to listen on (0: any free port).
    #[arg(long, value_name = "PORT", default_value_t = 9_000)]
    port: u16,
    /// Respond with status 500 to the first N attempts of each delivery, then with 200.
    #[arg(long, value_name = "N", default_value_t = 0)]
    fail: u32,
    /// Secret to verify signatures with. Repeat it for several secrets [default: the secrets of the server's webhooks, and webhook_secret in
    /// [operator] of the configuration].
    #[arg(long, value_name = "SECRET", value_parser = WebhookSecret::parse)]
    secret: Vec<WebhookSecret>,
    /// Save each delivery to a file in this directory, for `webhook-verify`.
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// Print deliveries as JSON Lines.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    access: Access,
}

struct Receiver {
    attempts: Attempts,
    secrets: Secrets,
    fail: u32,
    json: bool,
    save: Option<PathBuf>,
    saved: AtomicU64,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let mut stop_signals = StopSignals::install()?;
    if let Some(directory) = &arguments.save {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("--save {}", directory.display()))?;
    }
    let port = arguments.port;
    let listener = server::bind("127.0.0.1", port).with_context(|| {
        format!(
            "cannot listen on 127.0.0.1:{port}; choose another port with --port, or any free port with --port 0"
        )
    })?;
    let url = format!("http://{}/", listener.local_addr()?);
    let secrets = Secrets::new(arguments.secret, arguments.access);
    if !arguments.json {
        print(&format!(
            "Listening at {url}\n{}\n",
            secrets.describe_source().await
        ))?;
    } else {
        print(&format!("{}\n", serde_json::json!({"listening": url})))?;
    }
    let receiver = Data::new(Receiver {
        attempts: Attempts::default(),
        secrets,
        fail: arguments.fail,
        json: arguments.json,
        save: arguments.save,
        saved: AtomicU64::new(0),
    });
    let server = HttpServer::new(move || {
        App::new()
            .app_data(receiver.clone())
            .default_service(web::route().to(receive))
    });
    // One worker, so that the output of two deliveries does not interleave.
    let server = server.workers(1).disable_signals().listen(listener)?.run();
    let handle = server.handle();
    let running = actix_web::rt::spawn(server);
    stop_signals.next().await;
    handle.stop(false).await;
    running.await??;
    Ok(())
}

async fn receive(
    request: HttpRequest,
    payload: web::Payload,
    receiver: Data<Receiver>,
) -> HttpResponse {
    let at = Timestamp::now();
    if request.method() != actix_web::http::Method::POST {
        return HttpResponse::MethodNotAllowed()
            .insert_header(("Allow", "POST"))
            .body("use POST\n");
    }
    let Ok(Ok(body)) = payload.to_bytes_limited(MAX_BODY).await else {
        return HttpResponse::PayloadTooLarge().body("the body is too large for a delivery\n");
    };
    let mut headers: Vec<(&str, &str)> = request
        .headers()
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
        .collect();
    // actix-web iterates in random order.
    headers.sort_unstable();
    let delivery = DeliveryFile {
        headers,
        body: &body,
    };
    let signed = delivery.signed_headers();
    let attempt = receiver
        .attempts
        .count(signed.webhook_id.unwrap_or_default());
    let status = if attempt <= receiver.fail {
        StatusCode::INTERNAL_SERVER_ERROR
    } else {
        StatusCode::OK
    };
    let report = Report {
        at,
        path: request.path(),
        delivery: &delivery,
        attempt,
        status,
        signatures: receiver.secrets.verify(&signed, &body, at).await,
    };
    let text = if receiver.json {
        report.json()
    } else {
        report.text()
    };
    // The receiver responds even if standard output is closed or the disk is full.
    if let Err(error) = print(&text).and_then(|()| receiver.save(&delivery)) {
        note(&format!(
            "tintype: {}",
            escape_control_chars(&format!("{error:#}"))
        ));
    }
    HttpResponse::build(status).body(if status.is_success() {
        "received\n"
    } else {
        "rejected because of --fail\n"
    })
}

impl Receiver {
    fn save(&self, delivery: &DeliveryFile<'_>) -> anyhow::Result<()> {
        let Some(directory) = &self.save else {
            return Ok(());
        };
        let number = self.saved.fetch_add(1, Ordering::Relaxed) + 1;
        let path = directory.join(format!("{number:04}.txt"));
        std::fs::write(&path, delivery.text())
            .with_context(|| format!("cannot write {}", path.display()))?;
        if self.json {
            return Ok(());
        }
        print(&format!("  saved to {}\n", path.display()))
    }
}
