//! `tintype completions`: shell completion scripts.

use super::output::print;
use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::{Shell, generate};
use std::process::ExitCode;

#[derive(Args)]
pub struct Arguments {
    /// Shell.
    shell: SupportedShell,
}

#[derive(Clone, Copy, ValueEnum)]
enum SupportedShell {
    Bash,
    Zsh,
    Fish,
}

pub fn run<C: CommandFactory>(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let shell = match arguments.shell {
        SupportedShell::Bash => Shell::Bash,
        SupportedShell::Zsh => Shell::Zsh,
        SupportedShell::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    generate(shell, &mut C::command(), "tintype", &mut script);
    print(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}
