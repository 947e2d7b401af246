//! `tintype workflow`: prints a built-in ComfyUI workflow.

use crate::backends::comfyui::builtin_workflow;
use crate::cli::output::print;
use clap::{Args, ValueEnum};
use std::process::ExitCode;

#[derive(Args)]
pub struct Arguments {
    /// Mode of the workflow.
    mode: Mode,
    /// Number of input images; only for `image` [default: 1].
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=14))]
    inputs: Option<u8>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    /// Text-to-image, for `workflow_text`.
    Text,
    /// Image-to-image, for `workflow_image`.
    Image,
}

pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let inputs = match (arguments.mode, arguments.inputs) {
        (Mode::Text, Some(inputs)) => anyhow::bail!(
            "--inputs `{inputs}`: a text-to-image workflow has no input images; omit --inputs, or use `tintype workflow image`"
        ),
        (Mode::Text, None) => 0,
        (Mode::Image, inputs) => usize::from(inputs.unwrap_or(1)),
    };
    print(&builtin_workflow(inputs)?)?;
    Ok(ExitCode::SUCCESS)
}
