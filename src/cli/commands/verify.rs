//! `tintype verify`: checks every invariant of a stopped data directory, a database or a backup, without changing it.

use crate::backup::{
    ADMIN_TOKEN, DamagedParts, FILE_SIGNING_KEY, Manifest, Repository, RestoreOutcome,
    RestoreTarget, SECRETS_KEY, affected_backups, restore,
};
use crate::cli::data_dir_init::VaultKeySource;
use crate::cli::object_check::RequiredObjects;
use crate::cli::output::{escape_control_chars, fault_lines, print};
use crate::cli::settings::Settings;
use crate::cli::{progress, record_source};
use crate::config::Config;
use crate::objects::{FileSigningKey, ObjectStorage};
use crate::server::instance_secrets::InstanceSecrets;
use crate::server::{StartError, engine, object_store};
use crate::webhooks::{Vault, VaultError};
use anyhow::Context as _;
use clap::Args;
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use tintype_storage::domain::counted::counted;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::engine::ScratchDir;
use tintype_storage::store::tables::{IMAGES_FORGOTTEN, WEBHOOKS};
use tintype_storage::store::{All, Store};
use tintype_storage::verify::{MAX_FAULTS, verify};

const NO_TEMP_DIR: &str = "cannot use the directory for temporary files; set TMPDIR to a directory with room for the records";

#[derive(Args)]
pub struct Arguments {
    /// Verify a backup in this repository instead: its checksums, and everything that a restore checks.
    #[arg(long, value_name = "LOCATION", conflicts_with = "data_dir")]
    backup: Option<String>,
    /// Id of the backup [default: the latest complete backup].
    #[arg(long, value_name = "ID", requires = "backup")]
    id: Option<String>,
    /// Also read every image, not only its length, and report damaged ones. Detects any damage to a PNG, and other images that cannot be
    /// decoded.
    #[arg(long, conflicts_with = "backup")]
    read_images: bool,
    #[command(flatten)]
    settings: Settings,
}

/// Exits with code 1 if there is a fault.
pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    if let Some(place) = &arguments.backup {
        return run_on_backup(place, arguments.id.as_deref());
    }
    let config = arguments.settings.load_for_records()?;
    record_source::require_store(&config)?;
    let store = Store::new(engine::inspect_engine(&config)?);
    let objects = object_store::inspect(&config)?;
    let system = actix_web::rt::System::new();
    let report = check(&config, &store, objects.as_ref(), arguments.read_images);
    let Report { counts, mut faults } = system.block_on(report)?;
    faults.extend(system.block_on(secret_faults(&config, &store))?);
    if faults.is_empty() {
        print(&(counts + "all invariants hold\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let listed = fault_lines(&faults);
    print(&format!(
        "{counts}{listed}{}\n",
        counted(faults.len(), "fault")
    ))?;
    Ok(ExitCode::FAILURE)
}

pub struct Report {
    /// One line with the number of records of each kind.
    pub counts: String,
    pub faults: Vec<String>,
}

/// Checks all records of a store, and that the objects that they name exist. `reads_images`: and that the images are not damaged.
pub async fn check(
    config: &Config,
    store: &Store,
    objects: Option<&ObjectStorage>,
    reads_images: bool,
) -> anyhow::Result<Report> {
    let deleted_before = IMAGES_FORGOTTEN.mark(store).await?;
    let retention = || kept_since(config, deleted_before);
    let mut required = RequiredObjects::new(store, &retention).await?;
    let mut report = verify(store, |job| required.add_job(job))?;
    // A running server may delete an uploaded file at any moment.
    if config.storage.url.is_none() {
        required.add_batches_and_uploads(store).await?;
    }
    let image_count = required.images;
    let room = MAX_FAULTS.saturating_sub(report.faults.len());
    let missing = required.faults(store, objects, reads_images).await;
    report.faults.extend(missing.into_iter().take(room));
    let counts = [
        counted(report.accounts, "account"),
        counted(report.live_jobs, "live job"),
        counted(report.ended_jobs, "ended job"),
        counted(report.entries, "ledger entry"),
        counted(report.deliveries, "delivery"),
        counted(report.audit_entries, "audit log entry"),
        counted(image_count, "image"),
    ];
    Ok(Report {
        counts: format!("{}\n", counts.join(", ")),
        faults: report.faults,
    })
}

/// Key files with which the server does not start, and webhook secrets that do not decrypt. The server creates a missing key file, but
/// not the key that decrypts the webhook secrets on record. Nodes have no key files.
async fn secret_faults(config: &Config, store: &Store) -> anyhow::Result<Vec<String>> {
    let data_dir = &config.storage.data_dir;
    let has_key_files = config.storage.url.is_none();
    let exists = |name: &str| has_key_files && data_dir.join(name).exists();
    let secrets = InstanceSecrets::DataDir;
    let (mut faults, mut unreadable): (Vec<StartError>, _) = (Vec::new(), Vec::new());
    let opens_vault = match VaultKeySource::of(store).await? {
        VaultKeySource::KeyFile => has_key_files,
        VaultKeySource::Unused => exists(SECRETS_KEY),
        VaultKeySource::ClusterSecret => {
            let has_secret = config.cluster.secret.is_some();
            if !has_secret && store.any_webhook().await?.is_some() {
                faults.push(VaultError::NoSecret.into());
            }
            has_secret
        }
    };
    if opens_vault {
        match secrets.open_vault(config, store).await {
            Ok(vault) => unreadable = unreadable_secrets(&vault, store).await?,
            Err(error) => faults.push(error),
        }
    }
    if exists(FILE_SIGNING_KEY) {
        let key = FileSigningKey::load_or_create(data_dir);
        faults.extend(key.err().map(StartError::from));
    }
    if exists(ADMIN_TOKEN) {
        faults.extend(secrets.admin_token(config).err());
    }
    let faults = faults.iter().map(ToString::to_string);
    Ok(faults.chain(unreadable).collect())
}

/// The webhooks with a secret that does not decrypt: their deliveries fail.
async fn unreadable_secrets(vault: &Vault, store: &Store) -> anyhow::Result<Vec<String>> {
    let (mut faults, now) = (Vec::new(), Timestamp::now());
    WEBHOOKS
        .each(store, &All, |_, webhook| {
            if !vault.opens(&webhook, now) && faults.len() < MAX_FAULTS {
                let Webhook { id, account, .. } = webhook;
                faults.push(format!(
                    "webhook {id} of account {account}: a secret cannot be decrypted; give it a new one with `tintype webhook rotate {id}`"
                ));
            }
            Ok(())
        })
        .await?;
    Ok(faults)
}

/// Retention may have deleted the images of jobs that finished before this time. It moves on while a service runs. `deleted_before`: the
/// mark in the records, for images that were deleted under a shorter retention.
pub fn kept_since(config: &Config, deleted_before: Timestamp) -> Timestamp {
    let age = config.results.retention();
    age.map_or(deleted_before, |age| {
        Timestamp::now().minus(age).max(deleted_before)
    })
}

/// Restores the backup to a temporary directory, which makes every check of a restore. Exits with code 1 if there is a fault.
fn run_on_backup(place: &str, id: Option<&str>) -> anyhow::Result<ExitCode> {
    let check = async |say: &dyn Fn(String)| check_backup(place, id, say).await;
    let (manifest, restored, affected) = progress::run("reading the manifest", check)?;
    let mut text = format!(
        "backup {} of {}: {}, {}, {}\n",
        escape_control_chars(&manifest.id),
        escape_control_chars(&manifest.taken_at),
        counted(restored.loaded.summary.records, "record"),
        counted(restored.images, "image"),
        counted(manifest.keys.iter().flatten().count(), "key file")
    );
    let missing = restored.missing.iter().map(|key| {
        format!(
            "{key} is the image of a done job, and was missing or damaged at the time of the backup"
        )
    });
    let DamagedParts {
        objects,
        omitted,
        key_files,
    } = restored.damaged;
    let is_repairable = !objects.is_empty();
    let damaged = objects.into_iter().map(|(key, fault)| {
        let backups = affected.get(&key).map_or(String::new(), |it| it.join(", "));
        format!("{fault}; needed by the backups {backups}")
    });
    let omitted = more_damaged(omitted);
    let faults = restored.report.faults.into_iter().chain(missing);
    let faults = faults.chain(restored.wrong_lengths);
    let faults = faults.chain(key_files).chain(damaged).chain(omitted);
    let faults: Vec<String> = faults.collect();
    if faults.is_empty() {
        print(&(text + "the backup is complete; all invariants hold\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    text += &format!(
        "{}{}\n",
        fault_lines(&faults),
        counted(faults.len(), "fault")
    );
    if is_repairable {
        text += "to repair the images, run `tintype backup` to this repository with --repair: it checks all images that the service \
                 still has, and copies damaged ones again\n";
    }
    print(&text)?;
    Ok(ExitCode::FAILURE)
}

/// A sentence for the damaged images that are not listed.
pub fn more_damaged(count: u64) -> Option<String> {
    match count {
        0 => None,
        1 => Some("1 more image is damaged or missing".to_owned()),
        _ => Some(format!("{count} more images are damaged or missing")),
    }
}

/// Also returns which other backups need each damaged object.
async fn check_backup(
    place: &str,
    id: Option<&str>,
    say: &dyn Fn(String),
) -> anyhow::Result<(Manifest, RestoreOutcome, BTreeMap<String, Vec<String>>)> {
    let temp_dir = ScratchDir::create_in(&std::env::temp_dir()).context(NO_TEMP_DIR)?;
    let repository = Repository::open_existing(place)?;
    let manifest = repository.manifest(id).await?;
    let engine = engine::open_temporary_engine(&temp_dir.path().join("store"));
    let engine = engine.context(NO_TEMP_DIR)?;
    let target = RestoreTarget {
        engine: engine.clone(),
        temp_dir: temp_dir.path(),
        objects: None,
        skips_damaged: false,
    };
    let restored = restore(&repository, &manifest, target, say).await;
    engine.close();
    let restored = restored.with_context(|| {
        format!(
            "the backup {} cannot be restored; create another with `tintype backup`, and see the others with `tintype backup list`",
            manifest.id
        )
    })?;
    let keys = restored.damaged.objects.iter().map(|(key, _)| key.as_str());
    let keys: BTreeSet<&str> = keys.collect();
    let affected = match keys.is_empty() {
        true => BTreeMap::new(),
        false => affected_backups(&repository, &keys, temp_dir.path()).await?,
    };
    Ok((manifest, restored, affected))
}
