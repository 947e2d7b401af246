//! `tintype backup list`: the backups in a repository.

use super::output::{exit_code, note, print_as, table};
use crate::backup::{Manifest, Repository};
use clap::Args;
use serde_json::json;
use std::process::ExitCode;

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
    let headings = [
        "BACKUP",
        "TAKEN AT",
        "RECORDS",
        "IMAGES",
        "BYTES",
        "COPIED",
        "KEY FILES",
    ];
    print_as(arguments.json, &json!({"data": manifests}), || {
        table(&headings, manifests.iter().map(row).collect())
    })?;
    for fault in &faults {
        note(&format!("FAULT {fault}"));
    }
    Ok(exit_code(faults.is_empty()))
}

fn row(it: &Manifest) -> Vec<String> {
    let images = it.images.as_ref();
    let or_omitted = |count: Option<u64>| count.map_or("omitted".to_owned(), |it| it.to_string());
    let bytes = it.records.bytes + images.map_or(0, |it| it.bytes);
    vec![
        it.id.clone(),
        it.taken_at.clone(),
        it.record_count.to_string(),
        or_omitted(images.map(|it| it.count)),
        bytes.to_string(),
        or_omitted(images.map(|it| it.copied)),
        or_omitted(it.keys.as_ref().map(|it| it.len() as u64)),
    ]
}
