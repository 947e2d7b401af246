//! `tintype check-config --probe`: tests each back end.

use super::output::print;
use crate::backends::probe::Findings;
use crate::backends::readiness::{self, ModelUse};
use crate::config::{Backend, Config};
use std::process::ExitCode;

/// Tests all back ends and prints the results. Exit code 1 if one does not work.
pub fn run(config: &Config) -> ExitCode {
    let system = actix_web::rt::System::new();
    let sound = system.block_on(async {
        let mut sound = true;
        for (name, backend) in &config.backends {
            let findings = readiness::test(config, name, backend).await;
            sound &= findings.fails.is_empty();
            sound &= print(&report(
                name,
                backend,
                &findings,
                &readiness::uses(config, name, backend),
            ))
            .is_ok();
        }
        sound
    });
    match sound {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// The lines about one back end.
fn report(name: &str, backend: &Backend, findings: &Findings, uses: &[ModelUse]) -> String {
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
