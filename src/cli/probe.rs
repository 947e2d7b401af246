//! Asks each back end whether it works, for `tintype check-config --probe`.

use crate::backends::kinds;
use crate::backends::probe::Findings;
use crate::config::{Backend, BackendKind, Config};
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

/// Longest time for one back end.
const PATIENCE: Duration = Duration::from_secs(30);

/// Asks all of them, prints what they say, and fails where one does not work.
pub fn run(config: &Config) -> ExitCode {
    let system = actix_web::rt::System::new();
    let sound = system.block_on(async {
        let mut sound = true;
        for (name, backend) in &config.backends {
            let findings = ask(name, backend, models(config, name, backend)).await;
            sound &= findings.fails.is_empty();
            print!("{}", told(name, backend, &findings));
        }
        sound
    });
    match sound {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

async fn ask(name: &str, backend: &Backend, models: BTreeSet<String>) -> Findings {
    let mut findings = Findings::default();
    match kinds::probe(name, backend) {
        Ok(Some(probe)) => {
            let asked = probe.probe(models.into_iter().collect());
            match tokio::time::timeout(PATIENCE, asked).await {
                Ok(found) => findings = found,
                Err(_) => findings.fails(format!("no answer within {} s", PATIENCE.as_secs())),
            }
        }
        Ok(None) if backend.kind == BackendKind::Procedural => {
            findings.works("built in, needs no network");
        }
        Ok(None) => findings.fails("this version cannot drive this kind of back end"),
        Err(error) => findings.fails(error.to_string()),
    }
    findings
}

/// The models that the tiers ask this back end for.
fn models(config: &Config, name: &str, backend: &Backend) -> BTreeSet<String> {
    let tiers = config.tiers.iter();
    let entries = tiers.iter().flat_map(|(_, tier)| {
        let used = tier.backends.iter().filter(|it| it.name == name);
        used.map(|it| (it.model.as_deref(), &tier.compat_models))
    });
    entries
        .filter_map(|(listed, compat)| kinds::model(backend, listed, compat))
        .collect()
}

/// The lines about one back end.
fn told(name: &str, backend: &Backend, findings: &Findings) -> String {
    let place = backend
        .remote()
        .map_or(String::new(), |it| format!(" at {}", it.base_url));
    let mut lines = format!("{name}{place}\n");
    for line in &findings.works {
        lines.push_str(&format!("  ok    {line}\n"));
    }
    for line in &findings.fails {
        lines.push_str(&format!("  FAIL  {line}\n"));
    }
    if findings.works.is_empty() && findings.fails.is_empty() {
        lines.push_str("  no tier uses it, so there was nothing to ask it for\n");
    }
    lines
}
