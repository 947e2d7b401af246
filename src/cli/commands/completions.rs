//! `tintype completions`: shell completion scripts.

use crate::cli::output::print;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};
use std::process::ExitCode;

#[derive(Args)]
pub struct Arguments {
    /// Shell.
    #[arg(value_parser = PossibleValuesParser::new(["bash", "zsh", "fish"]).try_map(|it| it.parse::<Shell>()))]
    shell: Shell,
}

pub fn run<C: CommandFactory>(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    generate(arguments.shell, &mut C::command(), "tintype", &mut script);
    print(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}
