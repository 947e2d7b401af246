//! `tintype check-config`

use super::settings::Settings;
use clap::Args;
use std::process::ExitCode;

/// Options of `check-config`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    settings: Settings,
}

/// Prints the effective configuration, or every fault of it.
pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    match arguments.settings.load(Vec::new()) {
        Ok(config) => {
            print!("{}", config.render());
            Ok(ExitCode::SUCCESS)
        }
        Err(errors) => {
            eprintln!("{errors}");
            Ok(ExitCode::FAILURE)
        }
    }
}
