//! `tintype completions`: what a shell needs to complete these commands.

use super::output::print;
use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::{Shell, generate};
use std::process::ExitCode;

/// Options of `completions`.
#[derive(Args)]
pub struct Arguments {
    /// Your shell.
    shell: Known,
}

/// Shells that are known here.
#[derive(Clone, Copy, ValueEnum)]
enum Known {
    Bash,
    Zsh,
    Fish,
}

/// Does it for the commands of `C`.
pub fn run<C: CommandFactory>(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let shell = match arguments.shell {
        Known::Bash => Shell::Bash,
        Known::Zsh => Shell::Zsh,
        Known::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    generate(shell, &mut C::command(), "tintype", &mut script);
    print(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}
