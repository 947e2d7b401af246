//! `tintype check-config`: validates the configuration, and tests each backend.

use crate::backends::kinds;
use crate::backends::probe::Findings;
use crate::backends::readiness;
use crate::backends::tier_use::TierUse;
use crate::cli::output::{exit_code, note, print};
use crate::cli::settings::{LOCAL_CONFIG, Settings};
use crate::config::{Backend, Config, Sources, misspelt_variables};
use crate::objects::ObjectStorage;
use crate::server::object_store;
use clap::Args;
use std::process::ExitCode;

#[derive(Args)]
#[command(mut_arg("config", |it| it.help(LOCAL_CONFIG)))]
pub struct Arguments {
    #[command(flatten)]
    settings: Settings,
    /// Test each backend with a request that generates nothing, instead of printing the configuration.
    #[arg(long)]
    probe: bool,
}

pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    match arguments.settings.load(Vec::new()) {
        Ok(config) => {
            let misspelt = misspelt_variables(&Sources::process_environment());
            let bucket = ObjectStorage::warning(config.storage.objects.as_ref());
            for warning in config.warnings().into_iter().chain(misspelt).chain(bucket) {
                note(&format!("warning: {warning}"));
            }
            let faults = file_faults(&config);
            for fault in &faults {
                note(fault);
            }
            if arguments.probe {
                let all_work = probe(&config);
                return Ok(exit_code(all_work && faults.is_empty()));
            }
            note_shortfalls(&config);
            if let Some(reason) = arguments.settings.no_file() {
                note(&reason);
            }
            print(&config.render())?;
            Ok(exit_code(faults.is_empty()))
        }
        Err(errors) => {
            note(&errors.to_string());
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Why a server would not start, as far as the files that the configuration or the environment names show it without a request.
fn file_faults(config: &Config) -> Vec<String> {
    let backends = config.backends.iter();
    let workflows =
        backends.filter_map(|(name, it)| Some(kinds::check_files(name, it).err()?.to_string()));
    let database = config.storage.url.as_ref();
    let roots = database.and_then(|url| tintype_postgres::check_certificates(url).err());
    // A directory of objects would be created here.
    let bucket = config.storage.objects.as_ref();
    let bucket = bucket.and_then(|_| object_store::open_unsigned(config).err());
    workflows
        .chain(roots.map(|it| it.to_string()))
        .chain(bucket.map(|it| it.to_string()))
        .collect()
}

fn note_shortfalls(config: &Config) {
    for name in config.backends.keys() {
        for it in readiness::uses(config, name) {
            if let Some(shortfall) = it.shortfall() {
                note(&format!(
                    "warning: backend `{name}`, model `{}`: {shortfall}",
                    it.tier
                ));
            }
        }
    }
}

/// Tests each backend. Returns false if one does not work.
fn probe(config: &Config) -> bool {
    let system = actix_web::rt::System::new();
    system.block_on(async {
        let mut all_work = true;
        for (name, backend) in &config.backends {
            let findings = readiness::test(config, name, backend).await;
            let uses = readiness::uses(config, name);
            let printed = print(&report(name, backend, &findings, &uses));
            all_work &= findings.fails.is_empty() && printed.is_ok();
        }
        all_work
    })
}

fn report(name: &str, backend: &Backend, findings: &Findings, uses: &[TierUse<'_>]) -> String {
    let address = backend
        .remote()
        .map_or(String::new(), |it| format!(" at {}", it.base_url));
    let mut lines = format!("{name}{address}\n");
    for line in &findings.works {
        lines.push_str(&format!("  ok    {line}\n"));
    }
    for line in &findings.fails {
        lines.push_str(&format!("  FAIL  {line}\n"));
    }
    for it in uses {
        if let Some(shortfall) = it.shortfall() {
            lines.push_str(&format!("  note  model {}: {shortfall}\n", it.tier));
        }
    }
    if findings.works.is_empty() && findings.fails.is_empty() {
        lines.push_str("  not tested: no model uses this backend\n");
    }
    lines
}
