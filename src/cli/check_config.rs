//! `tintype check-config`

use super::output::print;
use super::probe;
use super::settings::Settings;
use clap::Args;
use std::io::{self, Write as _};
use std::process::ExitCode;

/// Options of `check-config`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    settings: Settings,
    /// Test each back end with a call that generates nothing, instead of printing the configuration.
    #[arg(long)]
    probe: bool,
}

/// Prints the effective configuration or the results of the probe, or every error of the configuration.
pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    match arguments.settings.load(Vec::new()) {
        Ok(config) => {
            for warning in config.warnings() {
                // A closed standard error must not keep the configuration from being printed.
                let _ = writeln!(io::stderr(), "warning: {warning}");
            }
            if arguments.probe {
                return Ok(probe::run(&config));
            }
            print(&config.render())?;
            Ok(ExitCode::SUCCESS)
        }
        Err(errors) => {
            let _ = writeln!(io::stderr(), "{errors}");
            Ok(ExitCode::FAILURE)
        }
    }
}
