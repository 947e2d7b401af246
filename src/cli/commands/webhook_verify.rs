//! `tintype webhook-verify`: verifies the signatures of a saved delivery.

use crate::cli::output::print;
use crate::webhooks::{DeliveryFile, SignatureReport};
use anyhow::{Context as _, bail};
use clap::{ArgGroup, Args};
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::webhook_wire::secret::WebhookSecret;

/// Maximum bytes of a saved delivery. A body has about 20 KiB.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

#[derive(Args)]
#[command(group(ArgGroup::new("source").required(true).args(["secret_file", "secret"])))]
pub struct Arguments {
    /// Secret of the webhook, whsec_... Prefer --secret-file, which the process list does not show.
    #[arg(long, value_name = "SECRET")]
    secret: Option<String>,
    /// File that contains the secret of the webhook.
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// Reference time in Unix seconds; it may differ from the time of the delivery by up to 300 s [default: now].
    #[arg(long, value_name = "UNIX", value_parser = clap::value_parser!(u32))]
    now: Option<u32>,
    /// File with the header lines, a blank line and the body [default: standard input].
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Exits with code 0 if at least one signature verifies.
pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let secret = secret(&arguments)?;
    let now = arguments.now.map_or_else(Timestamp::now, |seconds| {
        Timestamp::from_millis(i64::from(seconds) * 1_000)
    });
    let text = match &arguments.file {
        Some(path) => {
            let name = path.display().to_string();
            let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
            read(file, &name)?
        }
        None => read(io::stdin(), "standard input")?,
    };
    let recorded = DeliveryFile::parse(&text)?;
    let report = SignatureReport::new(&[secret], &recorded.signed_headers(), recorded.body, now);
    let [x_signature, standard] = report.lines();
    let (outcome, code) = if report.verifies() {
        ("the delivery verifies", ExitCode::SUCCESS)
    } else {
        ("the delivery does not verify", ExitCode::FAILURE)
    };
    print(&format!("{x_signature}\n{standard}\n{outcome}\n"))?;
    Ok(code)
}

fn read(source: impl Read, name: &str) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut source = source.take(MAX_BYTES + 1);
    source
        .read_to_end(&mut text)
        .with_context(|| format!("cannot read {name}"))?;
    if text.len() as u64 > MAX_BYTES {
        bail!("{name} is too large for a delivery: more than {MAX_BYTES} bytes");
    }
    Ok(text)
}

fn secret(arguments: &Arguments) -> anyhow::Result<WebhookSecret> {
    match (&arguments.secret, &arguments.secret_file) {
        (Some(text), _) => WebhookSecret::parse(text).context("--secret"),
        (None, Some(path)) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("--secret-file {}", path.display()))?;
            WebhookSecret::parse(&text).with_context(|| format!("--secret-file {}", path.display()))
        }
        (None, None) => bail!("no secret; set --secret or --secret-file"),
    }
}
