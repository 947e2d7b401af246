//! `tintype webhook-verify`: says whether a delivery that was kept verifies, and why not.

use super::output::print;
use super::recorded::Recorded;
use super::verdict::Verdict;
use anyhow::{Context as _, bail};
use clap::Args;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;
use tintype_storage::domain::secret::Secret;
use tintype_storage::domain::time::Timestamp;

/// The largest delivery that is read; a body has some 20 KiB.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Options of `webhook-verify`.
#[derive(Args)]
pub struct Arguments {
    /// The webhook's secret, whsec_...; other users of this machine can see it while the command runs.
    #[arg(long, value_name = "SECRET", required_unless_present = "secret_file")]
    secret: Option<String>,
    /// A file that holds the secret.
    #[arg(long, value_name = "FILE", conflicts_with = "secret")]
    secret_file: Option<PathBuf>,
    /// The moment to verify at, in Unix seconds [default: now]. More than 300 s from the delivery's own is refused.
    #[arg(long, value_name = "UNIX", value_parser = clap::value_parser!(u32))]
    now: Option<u32>,
}

/// Reads header lines, a blank line and the body from standard input. Exit 0 when at least one scheme verifies.
pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let secret = secret(&arguments)?;
    let now = arguments.now.map_or_else(Timestamp::now, |seconds| {
        Timestamp::from_millis(i64::from(seconds) * 1_000)
    });
    let mut text = Vec::new();
    io::stdin()
        .take(MAX_BYTES + 1)
        .read_to_end(&mut text)
        .context("standard input cannot be read")?;
    if text.len() as u64 > MAX_BYTES {
        bail!("standard input is larger than {MAX_BYTES} bytes: no delivery is");
    }
    let recorded = Recorded::parse(&text)?;
    let verdict = Verdict::new(&[secret], &recorded.signed(), recorded.body, now);
    let [x_signature, standard] = verdict.lines();
    let (outcome, code) = if verdict.verifies() {
        ("the delivery verifies", ExitCode::SUCCESS)
    } else {
        ("the delivery does not verify", ExitCode::FAILURE)
    };
    print(&format!("{x_signature}\n{standard}\n{outcome}\n"))?;
    Ok(code)
}

fn secret(arguments: &Arguments) -> anyhow::Result<Secret> {
    match (&arguments.secret, &arguments.secret_file) {
        (Some(text), _) => Secret::parse(text).context("--secret"),
        (None, Some(path)) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("--secret-file {}", path.display()))?;
            Secret::parse(&text).with_context(|| format!("--secret-file {}", path.display()))
        }
        (None, None) => bail!("name the secret with --secret or --secret-file"),
    }
}
