//! `tintype restore`: restores a backup into an empty data directory, or into a database and a bucket.

use super::verify::more_damaged;
use crate::backup::{
    Manifest, Repository, RestoreOutcome, RestoreTarget, SECRETS_KEY, restore, restore_keys,
};
use crate::cli::data_dir_init::{self, DataDirInit, VaultKeySource};
use crate::cli::output::{escape_control_chars, print};
use crate::cli::progress;
use crate::cli::settings::Settings;
use crate::config::Config;
use crate::server::instance_secrets::InstanceSecrets;
use crate::server::object_store;
use clap::Args;
use std::process::ExitCode;
use std::sync::Arc;
use tintype_storage::domain::counted::counted;
use tintype_storage::store::Store;

#[derive(Args)]
pub struct Arguments {
    /// Backup repository: a directory or the URL of a bucket, as for `tintype backup`.
    #[arg(value_name = "LOCATION")]
    place: String,
    /// Id of the backup [default: the latest complete backup].
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Restore even if the ledger is inconsistent or images are damaged, without these images.
    #[arg(long)]
    even_with_faults: bool,
    #[command(flatten)]
    settings: Settings,
}

pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let config = arguments.settings.load_for_records()?;
    let restore = async |say: &dyn Fn(String)| restore_all(&arguments, &config, say).await;
    let (manifest, restored, vault_key, newest) = progress::run("reading the manifest", restore)?;
    let mut text = summary(&config, &manifest, &restored, &vault_key);
    text += &data_dir_init::pending_work(&restored.loaded);
    if newest != manifest.id {
        text += &format!(
            "{} has a newer backup, {}; use a new backup location from now on, because `tintype backup` does not replace images that \
             newer backups need\n",
            arguments.place,
            escape_control_chars(&newest)
        );
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

async fn restore_all(
    arguments: &Arguments,
    config: &Config,
    say: &dyn Fn(String),
) -> anyhow::Result<(Manifest, RestoreOutcome, VaultKeySource, String)> {
    let data_dir = &config.storage.data_dir;
    let repository = Repository::open_existing(&arguments.place)?;
    let manifest = repository.manifest(arguments.id.as_deref()).await?;
    let newest = repository.ids().await?.pop_last();
    let newest = newest.unwrap_or_else(|| manifest.id.clone());
    let open_objects = |is_bucket: bool| {
        let opens = manifest.images.is_some() && config.storage.objects.is_some() == is_bucket;
        let open = || object_store::open_unsigned(config);
        opens.then(open).transpose()
    };
    // Wrong settings of a bucket must leave nothing behind. A local directory is inside the data directory.
    let bucket = open_objects(true)?;
    let init = DataDirInit::begin(config)?;
    restore_keys(data_dir, &repository, &manifest).await?;
    let objects = bucket.or(open_objects(false)?);
    let target = RestoreTarget {
        engine: Arc::clone(&init.engine),
        temp_dir: data_dir,
        objects: objects.as_ref(),
        skips_damaged: arguments.even_with_faults,
    };
    let restored = restore(&repository, &manifest, target, say).await?;
    data_dir_init::check_faults(&restored.report.faults, arguments.even_with_faults)?;
    let store = Store::new(Arc::clone(&init.engine));
    let vault_key = VaultKeySource::of(&store).await?;
    if config.storage.url.is_some()
        && vault_key == VaultKeySource::KeyFile
        && has_secrets_key(&manifest)
    {
        // The nodes read the key that encrypts webhook secrets from the database.
        let secrets = InstanceSecrets::new(config, true)?;
        secrets.open_vault(config, &store).await?;
    }
    drop(store);
    init.finish()?;
    Ok((manifest, restored, vault_key, newest))
}

fn summary(
    config: &Config,
    manifest: &Manifest,
    restored: &RestoreOutcome,
    vault_key: &VaultKeySource,
) -> String {
    let (data_dir, is_database) = (&config.storage.data_dir, config.storage.url.is_some());
    let target = match &config.storage.url {
        Some(url) => url.to_string(),
        None => data_dir.display().to_string(),
    };
    let is_complete = restored.missing.is_empty()
        && restored.damaged.objects.is_empty()
        && restored.wrong_lengths.is_empty()
        && restored.report.faults.is_empty();
    let verdict = if is_complete {
        "all verified"
    } else {
        "with faults"
    };
    let mut text = format!(
        "restored backup {} of {} into {target}: {} and {}, {verdict}\n",
        escape_control_chars(&manifest.id),
        escape_control_chars(&manifest.taken_at),
        counted(restored.loaded.summary.records, "record"),
        counted(restored.images, "image")
    );
    if manifest.images.is_none() {
        text +=
            "the backup contains no images; the server reads them from `objects` in [storage]\n";
    }
    for key in &restored.missing {
        let key = escape_control_chars(key);
        text +=
            &format!("MISSING: {key} was already missing or damaged at the time of the backup\n");
    }
    let damaged = restored.damaged.objects.iter().map(|(_, fault)| fault);
    for fault in damaged.chain(&more_damaged(restored.damaged.omitted)) {
        text += &format!("DAMAGED: {}\n", escape_control_chars(fault));
    }
    for fault in &restored.wrong_lengths {
        text += &format!("FAULT {}\n", escape_control_chars(fault));
    }
    let advice = match vault_key {
        VaultKeySource::ClusterSecret => format!("{}\n", data_dir_init::CLUSTER_SECRET_ADVICE),
        VaultKeySource::KeyFile if is_database && !has_secrets_key(manifest) => format!(
            "the backup contains no {SECRETS_KEY}, which decrypts the webhook secrets; copy it to {0}, and start the first node with \
             --data-dir {0}\n",
            data_dir.display()
        ),
        _ if !is_database && !has_secrets_key(manifest) => format!(
            "the backup contains no {SECRETS_KEY}; if there are webhooks, copy it to {} before you start the server\n",
            data_dir.display()
        ),
        VaultKeySource::KeyFile | VaultKeySource::Unused => String::new(),
    };
    text + &advice
}

fn has_secrets_key(manifest: &Manifest) -> bool {
    let mut keys = manifest.keys.iter().flatten();
    keys.any(|it| it.name == SECRETS_KEY)
}
