//! `tintype move`: all records and pictures into a database that several nodes can share, or back into a data directory.

use super::data_dir_init::{self, DataDirInit};
use super::record_source::{self, Records};
use super::settings::Settings;
use super::{progress, verify};
use crate::backup::{Copied, copy_objects};
use crate::config::Config;
use crate::server::instance_secrets::InstanceSecrets;
use crate::server::{engine, object_store};
use anyhow::{Context as _, bail, ensure};
use bytes::Bytes;
use clap::Args;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use tintype_actors::fail_stop::FailStop;
use tintype_storage::engine::{Direction, Engine, KeyRange};
use tintype_storage::export::{Loaded, load, write};
use tintype_storage::store::Store;

/// The word for the directory of pictures in a data directory.
const LOCAL: &str = "local";
/// An object that is written to a bucket, and removed again, to see whether that works.
const PROBE: &str = "move-probe.txt";
/// Pictures named in an error.
const NAMED: usize = 5;

/// Options of `move`.
#[derive(Args)]
pub struct Arguments {
    /// Where the records go: postgres://USER@HOST/DATABASE, without records, or an empty directory. The password of the database
    /// is taken from PGPASSWORD.
    #[arg(long, value_name = "PLACE")]
    to: String,
    /// Where the pictures go: s3://bucket/prefix, gs://bucket/prefix, az://container/prefix, or `local` for the new data directory
    /// [default: they stay in their bucket].
    #[arg(long, value_name = "PLACE")]
    objects: Option<String>,
    /// Move records even if their ledger is inconsistent, or if pictures are missing.
    #[arg(long)]
    even_with_faults: bool,
    #[command(flatten)]
    settings: Settings,
}

/// What was moved.
struct Moved {
    loaded: Loaded,
    /// `None` where the pictures stay where they are.
    copied: Option<Copied>,
    /// How much there is, as `verify` says it.
    said: String,
}

/// Moves everything, and says how the service is to be configured.
pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let source = arguments.settings.beside()?;
    ensure!(
        engine::has_store(&source),
        "{} is no data directory of Tintype; name one with --data-dir, or a configuration with --config",
        source.storage.data_dir.display()
    );
    let target = target(&arguments, &source)?;
    let progress = progress::line("looking at both places");
    let say = |words: String| progress.set_message(words);
    let moving = move_all(&source, &target, arguments.even_with_faults, &say);
    let moved = actix_web::rt::System::new().block_on(moving)?;
    progress.finish_and_clear();
    print_outcome(&source, &target, &moved);
    Ok(ExitCode::SUCCESS)
}

/// The configuration of the service on the place that the records go to.
fn target(arguments: &Arguments, source: &Config) -> anyhow::Result<Config> {
    let (to, objects) = (arguments.to.as_str(), arguments.objects.as_deref());
    let is_database = to.contains("://");
    if !is_database && source.storage.url.is_none() {
        bail!(
            "the records are in the data directory {} and would go into another; to move a data directory, stop its service and copy the directory",
            source.storage.data_dir.display()
        );
    }
    let objects = match (objects, &source.storage.objects) {
        (Some(LOCAL), _) if is_database => bail!(
            "--objects {LOCAL}: nodes on several machines share the pictures, so name a bucket such as s3://bucket/prefix"
        ),
        (Some(LOCAL), _) => String::new(),
        (Some(place), _) => place.to_owned(),
        (None, Some(bucket)) => bucket.to_string(),
        (None, None) => bail!(
            "the pictures are in the data directory {}, and the nodes of a database keep them in a bucket; name it with --objects s3://bucket/prefix",
            source.storage.data_dir.display()
        ),
    };
    let mut settings = arguments.settings.clone();
    let url = match is_database {
        true => to,
        false => {
            settings.data_dir = Some(PathBuf::from(to));
            ""
        }
    };
    let flag = |key: &str, value: &str| (key.to_owned(), toml::Value::String(value.to_owned()));
    let flags = vec![flag("storage.url", url), flag("storage.objects", &objects)];
    let target = settings.beside_with(flags)?;
    ensure!(
        target.cluster.secret.is_some() || target.storage.url.is_none(),
        "set the environment variable TINTYPE_SECRET to the output of `openssl rand -hex 32`: the nodes derive their keys from it, and the secrets of webhooks are sealed under it"
    );
    Ok(target)
}

async fn move_all(
    source: &Config,
    target: &Config,
    even_with_faults: bool,
    say: &dyn Fn(String),
) -> anyhow::Result<Moved> {
    let from = open_source(source)?;
    check_secrets(source, &Store::new(Arc::clone(&from))).await?;
    let stays = target.storage.objects.is_some()
        && target.storage.objects.as_ref() == source.storage.objects.as_ref();
    if !stays && target.storage.objects.is_some() {
        check_bucket(target).await?;
    }
    let place = Place::open(target)?;
    let data_dir = &source.storage.data_dir;
    let temp_dir = match data_dir.is_dir() {
        true => data_dir.clone(),
        false => std::env::temp_dir(),
    };
    let records = record_source::of_engine(&from, false, &temp_dir, say)?;
    let copied = match stays {
        true => None,
        false => Some(copy_pictures(source, target, &records, say).await?),
    };
    if let Some(Copied { missing, .. }) = &copied
        && !missing.is_empty()
        && !even_with_faults
    {
        bail!(
            "{} pictures are named by records but are not in the object store: {}; `tintype verify` lists them; leave them behind with --even-with-faults",
            missing.len(),
            missing[..missing.len().min(NAMED)].join(", ")
        );
    }
    say("writing the records".into());
    let store = Store::new(Arc::clone(&place.engine));
    engine::mark_incomplete(&*place.engine)?;
    let loaded = load(&*place.engine, beginning(&records.file)?, |_| {})?;
    compare(&records, &place.engine)?;
    say("verifying the ledger".into());
    let images = object_store::inspect_images(target)?;
    let checked = verify::check(target, &store, images.as_ref()).await?;
    data_dir_init::accept(&checked.faults, even_with_faults)?;
    if target.storage.url.is_some() {
        // The nodes find the key of the webhooks' secrets in the database.
        let secrets = InstanceSecrets::new(target, true)?;
        secrets.open_vault(target, &store).await?;
    }
    from.close();
    drop(store);
    place.end()?;
    Ok(Moved {
        loaded,
        copied,
        said: checked.said,
    })
}

/// Opens the records, which no service may use meanwhile: what it answered would not move along.
fn open_source(source: &Config) -> anyhow::Result<Arc<dyn Engine>> {
    if source.storage.url.is_some() {
        // Before anything is written to a database that was named by mistake.
        let seen = engine::open_engine_for_reading(source, FailStop::new())?;
        let first = seen.scan(&KeyRange::prefix(b""), Direction::Rising, 1);
        ensure!(
            !first.wait()?.is_empty(),
            "the database of this configuration holds no records"
        );
    }
    engine::open_engine_exclusively(source, FailStop::new())
        .context("the records cannot be moved while a service may change them")
}

/// Refuses records whose secrets of webhooks cannot be opened: no delivery of them could be signed.
async fn check_secrets(source: &Config, store: &Store) -> anyhow::Result<()> {
    let is_of_nodes = store.vault_key().await?.is_some();
    if is_of_nodes || store.any_webhook().await?.is_some() {
        let secrets = InstanceSecrets::new(source, is_of_nodes)?;
        secrets.open_vault(source, store).await?;
    }
    Ok(())
}

/// Refuses a bucket that cannot be written, before anything is begun.
async fn check_bucket(target: &Config) -> anyhow::Result<()> {
    let bucket = object_store::open_images(target, &target.public_url())?;
    let written = async {
        let probe = Bytes::from_static(b"tintype");
        bucket.put(PROBE, probe, "text/plain").await?;
        bucket.delete(PROBE).await
    };
    written
        .await
        .context("the pictures cannot be written to the place that --objects names")
}

async fn copy_pictures(
    source: &Config,
    target: &Config,
    records: &Records,
    say: &dyn Fn(String),
) -> anyhow::Result<Copied> {
    // No picture has been made yet where there is no directory for them.
    let Some(from) = object_store::inspect_images(source)? else {
        return Ok(Copied::default());
    };
    let to = object_store::open_images(target, &target.public_url())?;
    let kept_since = verify::kept_since(source.results.retention_days);
    copy_objects(&records.file, kept_since, &from, &to, say).await
}

/// Where the records go.
struct Place<'a> {
    engine: Arc<dyn Engine>,
    /// Of a new data directory.
    init: Option<DataDirInit<'a>>,
}

impl<'a> Place<'a> {
    fn open(target: &'a Config) -> anyhow::Result<Self> {
        if target.storage.url.is_some() {
            let engine = engine::open_engine_to_fill(target, FailStop::new())?;
            return Ok(Self { engine, init: None });
        }
        let init = DataDirInit::begin(target)?;
        let engine = engine::open_engine_to_fill(target, FailStop::new())?;
        Ok(Self {
            engine,
            init: Some(init),
        })
    }

    /// From now on a service may use them.
    fn end(self) -> anyhow::Result<()> {
        match self.init {
            Some(init) => init.end(self.engine),
            None => {
                engine::mark_complete(&*self.engine)?;
                self.engine.close();
                Ok(())
            }
        }
    }
}

/// Holds what the target has against what the source had, record by record.
fn compare(records: &Records, engine: &Arc<dyn Engine>) -> anyhow::Result<()> {
    let mut expected = Compared::default();
    let (mut lines, mut line) = (beginning(&records.file)?, Vec::new());
    while lines.read_until(b'\n', &mut line)? > 0 {
        expected.add(&line);
        line.clear();
    }
    let mut found = Compared::default();
    write(Arc::clone(engine).snapshot()?, |block| {
        let lines = block.split_inclusive(|it| *it == b'\n');
        lines.for_each(|line| found.add(line));
        Ok::<_, io::Error>(())
    })?;
    ensure!(
        expected.0.finalize() == found.0.finalize(),
        "the records that were written are not those that were read; begin again with an empty place"
    );
    Ok(())
}

/// The lines of an export that are the same in both places.
#[derive(Default)]
struct Compared(Sha256);

impl Compared {
    /// The index of what is due is left out, because nodes keep it in another form, and so is the last line, which counts it.
    fn add(&mut self, line: &[u8]) {
        let differs = [&br#"{"kind":"delivery_due","#[..], br#"{"records":"#];
        if !differs.iter().any(|it| line.starts_with(it)) {
            self.0.update(line);
        }
    }
}

fn beginning(file: &File) -> io::Result<BufReader<File>> {
    let mut file = file.try_clone()?;
    file.seek(SeekFrom::Start(0))?;
    Ok(BufReader::new(file))
}

fn print_outcome(source: &Config, target: &Config, moved: &Moved) {
    let records = moved.loaded.summary.records;
    println!(
        "{records} records moved, compared one by one, and verified: {}",
        moved.said.trim_end()
    );
    match &moved.copied {
        Some(Copied {
            copied,
            bytes,
            there,
            expired,
            missing,
        }) => {
            println!(
                "{copied} pictures copied ({bytes} bytes), {there} were there already, {expired} had expired"
            );
            for key in missing {
                println!("MISSING: {key}");
            }
        }
        None => println!("the pictures stay where they are"),
    }
    data_dir_init::print_pending_work(&moved.loaded);
    println!("\n{}", instructions(source, target));
}

/// What to set, and what to do with what is left.
fn instructions(source: &Config, target: &Config) -> String {
    let objects = target.storage.objects.as_ref();
    let objects = objects.map(ToString::to_string).unwrap_or_default();
    let data_dir = |config: &Config| config.storage.data_dir.display().to_string();
    match &target.storage.url {
        Some(url) => format!(
            "Set this at each node, and start them:\n\n[storage]\nurl = \"{url}\"\nobjects = \"{objects}\"\n\n\
             In the environment of each: TINTYPE_SECRET as it was set for this command, PGPASSWORD, and the variables of the bucket. A node \
             keeps no records in its data directory; it writes the operator's token there. The records that were read are still there. Start \
             no service on them: it would make the queued pictures and send the pending webhooks a second time.\n"
        ),
        None => {
            let from = source.storage.url.as_ref();
            let from = from.map(ToString::to_string).unwrap_or_default();
            let secret = match target.cluster.secret {
                Some(_) => {
                    "Keep TINTYPE_SECRET in the environment: the secrets of webhooks are sealed under it. "
                }
                None => "",
            };
            format!(
                "Set this, and start the service:\n\n[storage]\nurl = \"\"\ndata_dir = \"{}\"\nobjects = \"{objects}\"\n\n\
                 {secret}The service makes a new operator token in its data directory. The records that were read are still in {from}. Start no \
                 service on them: it would make the queued pictures and send the pending webhooks a second time.\n",
                data_dir(target)
            )
        }
    }
}
