//! `tintype move`: moves all records and images to a database that several nodes share, or back to a data directory.

use super::verify;
use crate::backup::{CopyTotals, copy_objects, rewind};
use crate::cli::data_dir_init::{self, DataDirInit};
use crate::cli::output::{escape_control_chars, print};
use crate::cli::progress;
use crate::cli::record_source::{self, Records};
use crate::cli::settings::Settings;
use crate::config::Config;
use crate::server::instance_secrets::InstanceSecrets;
use crate::server::{engine, move_mark, object_store, service_marks};
use anyhow::{Context as _, bail, ensure};
use bytes::Bytes;
use clap::{ArgGroup, Args};
use sha2::{Digest, Sha256};
use std::io::{self, BufRead};
use std::path::{self, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use tintype_storage::domain::counted::counted;
use tintype_storage::engine::{Direction, Engine, EngineError, KeyRange};
use tintype_storage::export::{LoadOutcome, load, write};
use tintype_storage::store::Store;
use tintype_storage::store::tables::VAULT_KEY;

/// Value of --objects for the images directory of a data directory.
const LOCAL: &str = "local";
/// Object that is written and deleted to test the access to a bucket.
const PROBE_KEY: &str = "move-probe.txt";
/// Images listed in an error.
const MAX_LISTED: usize = 5;
const MARKED_SOURCE: &str = "The source still contains its records and is marked as moved, so that no server starts on it. Where this service \
     does not run any more, stop and disable it: `systemctl disable --now tintype`.";
const UNMARKED_SOURCE: &str = "The source still contains its records. Start no server on it: stop and disable it with `systemctl disable --now tintype`.";
const DATABASE_SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

#[derive(Args)]
#[command(group(ArgGroup::new("action").required(true).args(["to", "reopen"])))]
pub struct Arguments {
    /// Target of the records: postgres://USER@HOST/DATABASE without records, or an empty directory. Set the password of the database
    /// in PGPASSWORD.
    #[arg(long, value_name = "DESTINATION")]
    to: Option<String>,
    /// Target of the images: s3://bucket/prefix, gs://bucket/prefix, az://container/prefix, or local for the new data directory
    /// [default: images in a bucket stay there].
    #[arg(long, value_name = "DESTINATION")]
    objects: Option<String>,
    /// Move even if the ledger is inconsistent or images are missing.
    #[arg(long)]
    even_with_faults: bool,
    /// Move nothing; allow a server to use the records of --data-dir or [storage] again that were moved elsewhere. Stop the servers of
    /// the other copy first.
    #[arg(long, conflicts_with_all = ["objects", "even_with_faults"])]
    reopen: bool,
    #[command(flatten)]
    settings: Settings,
}

struct MoveOutcome {
    loaded: LoadOutcome,
    /// `None` if the images stay where they are.
    copied: Option<CopyTotals>,
    /// The counts of [`verify::Report`].
    counts: String,
    /// Whether the source could be marked as moved.
    marked: Result<(), EngineError>,
}

pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let source = arguments.settings.load_for_records()?;
    record_source::require_store(&source)?;
    let Some(to) = &arguments.to else {
        return reopen(&source);
    };
    let target = target_config(&arguments, to, &source)?;
    let moved = progress::run("checking source and target", async |say| {
        move_all(&source, &target, arguments.even_with_faults, say).await
    })?;
    print(&outcome_text(&target, &moved))?;
    moved.marked.context(
        "the move is complete, but the source could not be marked as moved; start no server on it",
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Allows a server to use records that were moved elsewhere.
fn reopen(source: &Config) -> anyhow::Result<ExitCode> {
    require_records(source)?;
    let engine = engine::open_even_if_moved(source)?;
    let removed = move_mark::remove(source, &*engine);
    engine.close();
    let data_dir = source.storage.data_dir.display();
    let place = match &source.storage.url {
        Some(url) => format!("the database {url}"),
        None => format!("the data directory {data_dir}"),
    };
    let Some(text) = removed? else {
        let advice = match &source.storage.url {
            Some(_) if move_mark::is_in_data_dir(source) => format!(
                ". Those in the data directory {data_dir} are: to use them again, restore the former url and objects in [storage] first"
            ),
            _ => String::new(),
        };
        bail!("the records in {place} are not marked as moved; nothing is changed{advice}");
    };
    print(&format!(
        "The records in {place}, which were {text}, can be used again. A server that starts on them continues from the state at that time: \
         it runs the jobs that were queued and sends the webhooks that were pending. Start no server on the other copy.\n"
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// The configuration of the server after the move.
fn target_config(arguments: &Arguments, to: &str, source: &Config) -> anyhow::Result<Config> {
    let objects = arguments.objects.as_deref();
    let is_database = to.contains("://");
    ensure!(
        !is_database || DATABASE_SCHEMES.iter().any(|it| to.starts_with(it)),
        "--to `{}`: expected postgres://USER@HOST/DATABASE or an empty directory",
        to.split("://").next().unwrap_or_default()
    );
    if !is_database && source.storage.url.is_none() {
        bail!(
            "the source is already a data directory: {}; to move it to another one, stop the server and copy the directory",
            source.storage.data_dir.display()
        );
    }
    let objects = match (objects, &source.storage.objects) {
        (Some(LOCAL), _) if is_database => bail!(
            "--objects {LOCAL}: several nodes share the images, so give a bucket such as s3://bucket/prefix"
        ),
        (Some(LOCAL), _) => String::new(),
        (Some(url), _) => url.to_owned(),
        (None, Some(bucket)) => bucket.to_string(),
        (None, None) => bail!(
            "the images are in the data directory {}, but nodes that share a database need a bucket; give one with --objects s3://bucket/prefix",
            source.storage.data_dir.display()
        ),
    };
    let mut settings = arguments.settings.with_file();
    let url = match is_database {
        true => to,
        false => {
            settings.data_dir = Some(PathBuf::from(to));
            ""
        }
    };
    let flag = |key: &str, value: &str| (key.to_owned(), toml::Value::String(value.to_owned()));
    let flags = vec![flag("storage.url", url), flag("storage.objects", &objects)];
    let target = settings.load_without_backend_keys(flags)?;
    ensure!(
        target.cluster.secret.is_some() || target.storage.url.is_none(),
        "set the environment variable TINTYPE_SECRET to the output of `openssl rand -hex 32`: the nodes derive their keys from it and encrypt webhook secrets with it"
    );
    Ok(target)
}

async fn move_all(
    source: &Config,
    target: &Config,
    even_with_faults: bool,
    say: &dyn Fn(String),
) -> anyhow::Result<MoveOutcome> {
    let from = open_source(source)?;
    check_secrets(source, &Store::new(Arc::clone(&from))).await?;
    let images_stay = target.storage.objects.is_some()
        && target.storage.objects.as_ref() == source.storage.objects.as_ref();
    if !images_stay && target.storage.objects.is_some() {
        check_bucket(target).await?;
    }
    let new_store = DataDirInit::begin_move(target)?;
    let data_dir = &source.storage.data_dir;
    let temp_dir = match data_dir.is_dir() {
        true => data_dir.clone(),
        false => std::env::temp_dir(),
    };
    let records = record_source::from_engine(&from, false, &temp_dir, say)?;
    let copied = match images_stay {
        true => None,
        false => Some(copy_images(source, target, &records, say).await?),
    };
    let missing = copied.as_ref().map_or(&[][..], |it| &it.missing[..]);
    ensure!(
        missing.is_empty() || even_with_faults,
        "the object store lacks {} of done jobs: {}; list them with `tintype verify`, or move without them with --even-with-faults",
        counted(missing.len(), "image"),
        missing[..missing.len().min(MAX_LISTED)].join(", ")
    );
    say("writing records".into());
    let store = Store::new(Arc::clone(&new_store.engine));
    engine::mark_incomplete(&*new_store.engine)?;
    let loaded = load(&*new_store.engine, rewind(&records.file)?, |_| {})?;
    verify_copy(&records, &new_store.engine)?;
    say("verifying the ledger".into());
    let objects = object_store::inspect(target)?;
    let report = verify::check(target, &store, objects.as_ref(), false).await?;
    data_dir_init::check_faults(&report.faults, even_with_faults)?;
    if target.storage.url.is_some() {
        // The nodes read the key that encrypts webhook secrets from the database.
        let secrets = InstanceSecrets::new(target, true)?;
        secrets.open_vault(target, &store).await?;
    }
    match &objects {
        _ if images_stay => {
            service_marks::copy_tokens(&Store::new(Arc::clone(&from)), &store).await?;
        }
        Some(objects) => service_marks::reset(&store, objects).await?,
        None => {}
    }
    drop(store);
    new_store.finish()?;
    // Only now: after a crash before this line, the source can still be used.
    let marked = move_mark::set(source, &*from, &destination(target));
    from.close();
    Ok(MoveOutcome {
        loaded,
        copied,
        counts: report.counts,
        marked,
    })
}

/// The place of the records, without a password.
fn destination(target: &Config) -> String {
    let data_dir = &target.storage.data_dir;
    match &target.storage.url {
        Some(url) => url.to_string(),
        None => path::absolute(data_dir)
            .unwrap_or_else(|_| data_dir.clone())
            .display()
            .to_string(),
    }
}

/// Opens the source exclusively: what a server acknowledged during the move would be lost.
fn open_source(source: &Config) -> anyhow::Result<Arc<dyn Engine>> {
    require_records(source)?;
    let engine = engine::open_even_if_moved(source)
        .context("cannot move records while a server may change them")?;
    move_mark::refuse(source, &*engine)?;
    Ok(engine)
}

/// Refuses a database without records. Opening it exclusively would write to it.
fn require_records(source: &Config) -> anyhow::Result<()> {
    if source.storage.url.is_some() {
        let engine = engine::open_engine_for_reading(source)?;
        let first = engine.scan(&KeyRange::prefix(b""), Direction::Rising, 1);
        ensure!(
            !first.wait()?.is_empty(),
            "the configured database contains no records"
        );
    }
    Ok(())
}

/// Refuses records with webhook secrets that cannot be decrypted, because their deliveries could not be signed.
async fn check_secrets(source: &Config, store: &Store) -> anyhow::Result<()> {
    let has_vault_key = VAULT_KEY.get(store, &()).await?.is_some();
    if has_vault_key || store.any_webhook().await?.is_some() {
        let secrets = InstanceSecrets::new(source, has_vault_key)?;
        secrets.open_vault(source, store).await?;
    }
    Ok(())
}

/// Refuses a bucket that cannot be written.
async fn check_bucket(target: &Config) -> anyhow::Result<()> {
    let bucket = object_store::open_unsigned(target)?;
    let written = async {
        let probe = Bytes::from_static(b"tintype");
        bucket.put(PROBE_KEY, probe, "text/plain").await?;
        bucket.delete(PROBE_KEY).await
    };
    written
        .await
        .context("cannot write images to the bucket of --objects")
}

async fn copy_images(
    source: &Config,
    target: &Config,
    records: &Records,
    say: &dyn Fn(String),
) -> anyhow::Result<CopyTotals> {
    // The server creates the directory with the first image.
    let Some(from) = object_store::inspect(source)? else {
        return Ok(CopyTotals::default());
    };
    let to = object_store::open_unsigned(target)?;
    let kept_since = verify::kept_since(source, records.images_kept_since);
    copy_objects(&records.file, kept_since, &from, &to, say).await
}

/// Compares the records of source and target.
fn verify_copy(records: &Records, engine: &Arc<dyn Engine>) -> anyhow::Result<()> {
    let mut expected = Sha256::new();
    let (mut lines, mut line) = (rewind(&records.file)?, Vec::new());
    while lines.read_until(b'\n', &mut line)? > 0 {
        expected.update(&line);
        line.clear();
    }
    let mut found = Sha256::new();
    write(Arc::clone(engine).snapshot()?, |block| {
        found.update(block);
        Ok::<_, io::Error>(())
    })?;
    ensure!(
        expected.finalize() == found.finalize(),
        "the target's records differ from the source's; empty the target and start again"
    );
    Ok(())
}

fn outcome_text(target: &Config, moved: &MoveOutcome) -> String {
    let records = moved.loaded.summary.records;
    let mut text = format!(
        "{} moved, compared with the source, and verified: {}\n",
        counted(records, "record"),
        moved.counts.trim_end()
    );
    match &moved.copied {
        Some(CopyTotals {
            copied,
            bytes,
            there,
            expired,
            missing,
        }) => {
            text += &format!(
                "images: {copied} copied ({}), {there} already in the target, {expired} deleted by retention or by their owner\n",
                counted(*bytes, "byte")
            );
            for key in missing {
                text += &format!("MISSING: {}\n", escape_control_chars(key));
            }
        }
        None => text += "images: not moved\n",
    }
    text += &data_dir_init::pending_work(&moved.loaded);
    text + &format!("\n{}\n", instructions(target, moved.marked.is_ok()))
}

/// How to configure the server after the move, and what to do with the source.
fn instructions(target: &Config, is_marked: bool) -> String {
    let source = match is_marked {
        true => MARKED_SOURCE,
        false => UNMARKED_SOURCE,
    };
    let objects = target.storage.objects.as_ref();
    let objects = objects.map(ToString::to_string).unwrap_or_default();
    match &target.storage.url {
        Some(url) => format!(
            "Set this on each node, then start the nodes:\n\n[storage]\nurl = \"{url}\"\nobjects = \"{objects}\"\n\n\
             Set these environment variables on each node: TINTYPE_SECRET as for this command, PGPASSWORD, and those of the bucket. A node \
             keeps no records in its data directory, only the operator token. {source}\n"
        ),
        None => {
            let secret = match target.cluster.secret {
                Some(_) => {
                    "Keep TINTYPE_SECRET in the environment: it encrypts the webhook secrets. "
                }
                None => "",
            };
            format!(
                "Set this, then start the server:\n\n[storage]\nurl = \"\"\ndata_dir = \"{}\"\nobjects = \"{objects}\"\n\n\
                 {secret}The server creates a new operator token in its data directory. {source}\n",
                target.storage.data_dir.display()
            )
        }
    }
}
