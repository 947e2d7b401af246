//! `tintype check-config --probe`: tests each back end.

use super::output::print;
use crate::backends::kinds;
use crate::backends::probe::Findings;
use crate::config::{Backend, Config};
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

/// Time limit for one back end.
const PROBE_TIMEOUT: Duration = Duration::from_secs(30);

/// Tests all back ends and prints the results. Exit code 1 if one does not work.
pub fn run(config: &Config) -> ExitCode {
    let system = actix_web::rt::System::new();
    let sound = system.block_on(async {
        let mut sound = true;
        for (name, backend) in &config.backends {
            let uses = uses(config, name, backend);
            let models = uses.iter().filter_map(|it| it.model.clone()).collect();
            let mut findings = ask(name, backend, models).await;
            for it in uses.iter().filter(|it| it.model.is_none()) {
                if kinds::needs_model(backend) {
                    findings.fails(format!(
                        "model {}: the back end's model is not named, and this API needs one; set `model`",
                        it.tier
                    ));
                }
            }
            sound &= findings.fails.is_empty();
            sound &= print(&report(name, backend, &findings, &uses)).is_ok();
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
            match tokio::time::timeout(PROBE_TIMEOUT, asked).await {
                Ok(found) => findings = found,
                Err(_) => findings.fails(format!("no answer within {} s", PROBE_TIMEOUT.as_secs())),
            }
        }
        Ok(None) => findings.works("built in, needs no network"),
        Err(error) => findings.fails(error.to_string()),
    }
    findings
}

/// One entry in `[tiers.*] backends`.
struct Use {
    tier: &'static str,
    model: Option<String>,
    /// What the tier offers but the back end's model cannot make.
    shortfall: Option<String>,
}

fn uses(config: &Config, name: &str, backend: &Backend) -> Vec<Use> {
    let mut uses = Vec::new();
    for (tier, settings) in config.tiers.iter() {
        for entry in settings.backends.iter().filter(|it| it.name == name) {
            let listed = entry.model.as_deref();
            let model = kinds::model(backend, listed, &settings.compat_models);
            uses.push(Use {
                tier,
                shortfall: kinds::shortfall(backend, model.as_deref(), &settings.resolutions),
                model,
            });
        }
    }
    uses
}

/// The lines about one back end.
fn report(name: &str, backend: &Backend, findings: &Findings, uses: &[Use]) -> String {
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
    for it in uses {
        if let Some(shortfall) = &it.shortfall {
            lines.push_str(&format!("  note  model {}: {shortfall}\n", it.tier));
        }
    }
    if findings.works.is_empty() && findings.fails.is_empty() {
        lines.push_str("  no model uses it, so there was nothing to test\n");
    }
    lines
}
