//! Reads a file of requests. The server validates its contents.

use crate::api::batch::Form;
use crate::api::batch_table::{self, TableFault};
use crate::cli::http_client::Body;
use anyhow::{Context as _, bail};
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

/// Reads the file, or standard input if it is `-`.
pub fn read(file: &Path, is_csv: bool) -> anyhow::Result<Body> {
    let bytes = match file.as_os_str() == "-" {
        true => {
            let mut bytes = Vec::new();
            let read = io::stdin().lock().read_to_end(&mut bytes);
            read.context("cannot read standard input")?;
            bytes
        }
        false => fs::read(file).with_context(|| format!("cannot read {}", file.display()))?,
    };
    let has_csv_extension = file
        .extension()
        .is_some_and(|it| it.eq_ignore_ascii_case("csv"));
    if is_csv || has_csv_extension {
        return from_csv(&bytes).with_context(|| format!("cannot read {} as CSV", file.display()));
    }
    Ok(Body {
        media_type: match batch_table::form(&bytes) {
            Form::Json => "application/json",
            Form::Lines => "application/x-ndjson",
        },
        bytes: bytes.into(),
    })
}

fn from_csv(bytes: &[u8]) -> anyhow::Result<Body> {
    match batch_table::lines(bytes, usize::MAX) {
        Ok(lines) => Ok(Body {
            media_type: "application/x-ndjson",
            bytes: lines.text.into(),
        }),
        Err(faults) => {
            let faults: Vec<String> = faults.iter().map(TableFault::to_string).collect();
            bail!("{}", faults.join("\n"))
        }
    }
}
