//! `tintype backend`: backends of a running server.

use crate::cli::common::{Common, or_dash};
use crate::cli::operator::read;
use crate::cli::output::{Column, print_as};
use anyhow::bail;
use clap::{Args, Subcommand};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use tintype_api::{Backend, BackendTest, Page};

pub const COLUMNS: [Column<Backend>; 8] = [
    ("BACKEND", |it| it.name.clone()),
    ("STATE", state),
    ("BUSY", |it| {
        let shared = if it.shared { " shared" } else { "" };
        format!("{} of {}{shared}", it.running, it.places)
    }),
    ("ATTEMPTS", |it| it.last_hour.tries.to_string()),
    ("FAILED", |it| it.last_hour.failed.to_string()),
    ("P50", |it| millis(it.last_hour.p50_ms)),
    ("P95", |it| millis(it.last_hour.p95_ms)),
    ("LAST ERROR", |it| {
        let error = it.last_error.as_ref();
        or_dash(error.map(|it| format!("{} ({})", it.message, &*it.at)))
    }),
];

/// The health, and the pause with its reason.
fn state(backend: &Backend) -> String {
    let health = &*backend.health;
    match (backend.paused, &backend.paused_reason) {
        (false, _) => health.to_owned(),
        (true, None) => format!("{health}, paused"),
        (true, Some(reason)) => format!("{health}, paused ({reason})"),
    }
}

fn millis(duration: Option<u64>) -> String {
    or_dash(duration.map(|it| format!("{it} ms")))
}

#[derive(Subcommand)]
pub enum Command {
    /// List the backends with their state and their attempts in the last hour.
    List(Common),
    /// Test a backend without generating an image. Exits with code 1 if it does not work.
    Test(Test),
    /// Pause backends: they get no new attempt, and jobs already running on them finish.
    Pause(Pause),
    /// Resume paused backends.
    Resume(Resume),
}

#[derive(Args)]
pub struct Pause {
    /// Names of the backends, as in [backends.NAME].
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Reason shown to operators, such as "new driver until 14:00". It replaces the reason of a backend that is already paused.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub struct Resume {
    /// Names of the backends.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub struct Test {
    /// Name of the backend, as in [backends.NAME].
    name: String,
    #[command(flatten)]
    common: Common,
}

pub async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::List(common) => list(&common).await,
        Command::Test(Test { name, common }) => test(&name, &common).await,
        Command::Pause(Pause {
            names,
            reason,
            common,
        }) => {
            // Without a reason, a backend that is already paused keeps its reason.
            let change = match reason {
                Some(reason) => json!({"backends": names, "reason": reason}),
                None => json!({"backends": names}),
            };
            change_pauses(change, &common).await
        }
        Command::Resume(Resume { names, common }) => {
            change_pauses(json!({"resume_backends": names}), &common).await
        }
    }
}

async fn list(common: &Common) -> anyhow::Result<()> {
    let mut stats = common.operator()?.get("/stats").await?;
    let list = Page {
        data: read::<Vec<Value>>(stats["backends"].take())?,
        next_cursor: None,
    };
    common.show_list(list, &COLUMNS)
}

/// Sends only the named backends, so that concurrent changes of other switches are kept. Shows all backends with their reasons.
async fn change_pauses(change: Value, common: &Common) -> anyhow::Result<()> {
    common.operator()?.patch("/pause", change).await?;
    list(common).await
}

async fn test(name: &str, common: &Common) -> anyhow::Result<()> {
    let name_in_path = utf8_percent_encode(name, NON_ALPHANUMERIC);
    let path = format!("/backends/{name_in_path}/test");
    let response = common.operator()?.post(&path, None).await?;
    let found: BackendTest = read(response.clone())?;
    print_as(common.json, &response, || describe(&found))?;
    if !found.ok {
        bail!("backend `{name}` does not work with its current configuration");
    }
    Ok(())
}

fn describe(found: &BackendTest) -> String {
    let works = found.works.iter().map(|it| format!("ok    {it}\n"));
    let fails = found.fails.iter().map(|it| format!("FAIL  {it}\n"));
    works.chain(fails).collect()
}
