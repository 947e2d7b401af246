//! `tintype export`: writes all records as JSON Lines.

use crate::cli::operator_access::Access;
use crate::cli::output::note;
use crate::cli::{progress, record_source};
use anyhow::{Context as _, bail};
use clap::Args;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tintype_storage::domain::counted::counted;

#[derive(Args)]
pub struct Arguments {
    /// File to write, which must not exist [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    access: Access,
}

/// Writes nothing until all records are read and checked.
pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    if let Some(path) = arguments.output.as_deref().filter(|it| it.exists()) {
        bail!("{} exists; give another file with --output", path.display());
    }
    let progress = progress::spinner("reading records");
    let say = |message: String| progress.set_message(message);
    let output = arguments.output.as_deref();
    let parent = output.and_then(Path::parent);
    let parent = parent.map(|it| {
        if it.as_os_str().is_empty() {
            Path::new(".")
        } else {
            it
        }
    });
    let temp_dir = parent.map_or_else(std::env::temp_dir, Path::to_owned);
    let records = actix_web::rt::System::new().block_on(async {
        if arguments.access.has_server() {
            return record_source::from_service(&arguments.access.operator()?, &temp_dir, &say)
                .await;
        }
        let config = arguments.access.config()?;
        record_source::from_data_dir(&config, &arguments.access, false, &temp_dir, &say).await
    })?;
    // Only a backup reads more than the records.
    drop(records.source);
    let mut from = records.file;
    match output {
        None => {
            io::copy(&mut from, &mut io::stdout().lock())
                .context("cannot write the export to standard output")?;
        }
        Some(path) => {
            let failed = || format!("cannot write {}", path.display());
            let mut partial = tempfile::Builder::new()
                .prefix(".tintype-export-")
                .tempfile_in(&temp_dir)
                .with_context(failed)?;
            io::copy(&mut from, &mut partial).with_context(failed)?;
            partial.as_file().sync_all().with_context(failed)?;
            partial
                .persist_noclobber(path)
                .map_err(|it| it.error)
                .with_context(failed)?;
        }
    }
    progress.finish_and_clear();
    let count = counted(records.summary.records, "record");
    note(&format!("{count} exported"));
    Ok(ExitCode::SUCCESS)
}
