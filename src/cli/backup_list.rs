//! `tintype backup list`: the backups in a repository.

use super::output::{Column, exit_code, list_table, note, print_as};
use crate::backup::{Manifest, Repository};
use clap::Args;
use serde_json::json;
use std::process::ExitCode;

const COLUMNS: [Column<Manifest>; 7] = [
    ("BACKUP", |it| it.id.clone()),
    ("TAKEN AT", |it| it.taken_at.clone()),
    ("RECORDS", |it| it.record_count.to_string()),
    ("IMAGES", |it| {
        or_omitted(it.images.as_ref().map(|it| it.count))
    }),
    ("BYTES", |it| {
        let images = it.images.as_ref().map_or(0, |it| it.bytes);
        (it.records.digest.bytes + images).to_string()
    }),
    ("COPIED", |it| {
        or_omitted(it.images.as_ref().map(|it| it.copied))
    }),
    ("KEY FILES", |it| {
        or_omitted(it.keys.as_ref().map(|it| it.len() as u64))
    }),
];

#[derive(Args)]
pub struct Arguments {
    /// Backup repository: a directory or the URL of a bucket, as for `tintype backup`.
    #[arg(value_name = "PLACE")]
    place: String,
    /// Print the manifests as JSON.
    #[arg(long)]
    json: bool,
}

/// Exits with code 1 if a manifest cannot be read.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (manifests, faults) = actix_web::rt::System::new().block_on(async {
        let repository = Repository::open_existing(&arguments.place)?;
        let (mut manifests, mut faults) = (Vec::new(), Vec::new());
        for id in repository.ids().await? {
            match repository.manifest(Some(&id)).await {
                Ok(manifest) => manifests.push(manifest),
                Err(error) => faults.push(format!("{error:#}")),
            }
        }
        anyhow::Ok((manifests, faults))
    })?;
    print_as(arguments.json, &json!({"data": manifests}), || {
        list_table(&COLUMNS, &manifests)
    })?;
    for fault in &faults {
        note(&format!("FAULT {fault}"));
    }
    Ok(exit_code(faults.is_empty()))
}

fn or_omitted(count: Option<u64>) -> String {
    count.map_or_else(|| "omitted".to_owned(), |it| it.to_string())
}
