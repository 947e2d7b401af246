//! `tintype workflow`: prints a built-in ComfyUI workflow.

use super::output::print;
use crate::backends::comfyui::builtin_workflow;
use clap::{Args, ValueEnum};
use std::process::ExitCode;

#[derive(Args)]
pub struct Arguments {
    /// Mode of the workflow.
    mode: Mode,
    /// Number of input images of an image-to-image workflow.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=14))]
    inputs: u8,
}

#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    /// Text-to-image, for `workflow_text`.
    Text,
    /// Image-to-image, for `workflow_image`.
    Image,
}

pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let inputs = match arguments.mode {
        Mode::Text => 0,
        Mode::Image => usize::from(arguments.inputs),
    };
    print(&builtin_workflow(inputs)?)?;
    Ok(ExitCode::SUCCESS)
}
