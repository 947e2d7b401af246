//! `tintype check-config --probe`: tests each backend.

use super::output::{exit_code, print};
use crate::backends::probe::Findings;
use crate::backends::readiness::{self, ModelUse};
use crate::config::{Backend, Config};
use std::process::ExitCode;

/// Exits with code 1 if a backend does not work.
pub fn run(config: &Config) -> ExitCode {
    let system = actix_web::rt::System::new();
    let all_work = system.block_on(async {
        let mut all_work = true;
        for (name, backend) in &config.backends {
            let findings = readiness::test(config, name, backend).await;
            let uses = readiness::uses(config, name, backend);
            let printed = print(&report(name, backend, &findings, &uses));
            all_work &= findings.fails.is_empty() && printed.is_ok();
        }
        all_work
    });
    exit_code(all_work)
}

fn report(name: &str, backend: &Backend, findings: &Findings, uses: &[ModelUse]) -> String {
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
        if let Some(shortfall) = &it.shortfall {
            lines.push_str(&format!("  note  model {}: {shortfall}\n", it.tier));
        }
    }
    if findings.works.is_empty() && findings.fails.is_empty() {
        lines.push_str("  not tested: no model uses this backend\n");
    }
    lines
}
