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
    /// Ask each back end whether it works, by a call that makes no picture, instead of printing the configuration.
    #[arg(long)]
    probe: bool,
}

/// Prints the effective configuration, or what the back ends say, or every fault of it.
pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    match arguments.settings.load(Vec::new()) {
        Ok(config) => {
            for warning in config.warnings() {
                // Where nobody reads it, the rest is said all the same.
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
