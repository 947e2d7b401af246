//! `tintype workflow`: prints a workflow for ComfyUI that is built in, for an operator's own to begin as.

use super::output::print;
use crate::backends::comfyui::shipped_workflow;
use clap::{Args, ValueEnum};
use std::process::ExitCode;

/// Options of `workflow`.
#[derive(Args)]
pub struct Arguments {
    /// What it is for.
    mode: Mode,
    /// For how many input images, of image-to-image.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=14))]
    inputs: u8,
}

/// What a workflow is for.
#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    /// Text-to-image, for `workflow_text`.
    Text,
    /// Image-to-image, for `workflow_image`.
    Image,
}

/// Prints it.
pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let inputs = match arguments.mode {
        Mode::Text => 0,
        Mode::Image => usize::from(arguments.inputs),
    };
    print(&shipped_workflow(inputs)?)?;
    Ok(ExitCode::SUCCESS)
}
