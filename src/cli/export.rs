//! `tintype export`: all records as lines of JSON.

use super::operator_access::Access;
use super::{progress, record_source};
use anyhow::Context as _;
use clap::Args;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `export`.
#[derive(Args)]
pub struct Arguments {
    /// File to write; it must not exist yet [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    access: Access,
}

/// Writes an export after all records were read and checked.
pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let progress = progress::line("reading the records");
    let say = |words: String| progress.set_message(words);
    let output = arguments.output.as_deref();
    let beside = output.and_then(Path::parent);
    let beside = beside.map(|it| {
        if it.as_os_str().is_empty() {
            Path::new(".")
        } else {
            it
        }
    });
    let temp_dir = beside.map_or_else(std::env::temp_dir, Path::to_owned);
    let read = actix_web::rt::System::new().block_on(async {
        if arguments.access.names_a_server() {
            return record_source::from_service(&arguments.access.operator()?, &temp_dir, &say)
                .await;
        }
        let config = arguments.access.config()?;
        record_source::from_data_dir(&config, &arguments.access, &temp_dir, &say).await
    })?;
    let mut from = read.file;
    match output {
        None => {
            io::copy(&mut from, &mut io::stdout().lock())?;
        }
        Some(path) => {
            let named = || format!("the output file {}", path.display());
            let mut half = tempfile::Builder::new()
                .prefix(".tintype-export-")
                .tempfile_in(&temp_dir)
                .with_context(named)?;
            io::copy(&mut from, &mut half).with_context(named)?;
            half.as_file().sync_all().with_context(named)?;
            half.persist_noclobber(path)
                .map_err(|it| it.error)
                .with_context(named)?;
        }
    }
    progress.finish_and_clear();
    eprintln!("{} records exported", read.summary.records);
    Ok(ExitCode::SUCCESS)
}
