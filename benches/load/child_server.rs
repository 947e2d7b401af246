//! The servers under load, each in its own process: it prints what the client needs to know, then serves until its standard
//! input closes.

use crate::server::Generator as Kind;
use crate::{fill, preload, receiver, stdin};
use actix_web::{App, HttpResponse, HttpServer, web};
use anyhow::Context as _;
use futures_util::FutureExt as _;
use serde::{Deserialize, Serialize};
use std::io::Cursor;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tintype::application::Caller;
use tintype::application::accounts;
use tintype::application::accounts::api_keys;
use tintype::config::{Config, Sources};
use tintype::server::{self, Instance, Setup};
use tintype_actors::ports::{GeneratedImage, GenerationTask, Generator, PortFuture};
use tintype_storage::domain::account::NewAccount;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::KeyChange;
use tintype_storage::domain::ids::IdSource;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::{Webhook, WebhookId};
use tintype_storage::engine::commit_and_wait;
use tintype_storage::webhook_wire::secret::WebhookSecret;

/// Concurrent jobs at the only backend.
const SLOTS: usize = 1_024;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs the child server that the words name.
pub fn run(words: &[String]) -> anyhow::Result<()> {
    match words {
        [role] if role == "ceiling" => ceiling(),
        [role, data_dir, accounts, generator, receiver @ ..] if role == "tintype" => {
            tintype(Settings {
                data_dir: data_dir.into(),
                accounts: accounts.parse()?,
                instant: generator == Kind::Instant.as_str(),
                receiver: receiver.first().map(|it| it.parse()).transpose()?,
            })
        }
        [role, data_dir, accounts, queued, finished] if role == "preload" => {
            let preload = preload::Preload {
                accounts: accounts.parse()?,
                queued: queued.parse()?,
                finished: finished.parse()?,
            };
            preload::run(Path::new(data_dir), preload)
        }
        [role] if role == "receiver" => receiver::run(),
        [
            role,
            data_dir,
            address,
            receivers,
            hanging,
            count,
            first,
            spacing,
        ] if role == "fill-deliveries" => fill::deliveries(&fill::Deliveries {
            data_dir: data_dir.into(),
            address: address.parse()?,
            receivers: receivers.parse()?,
            hanging: hanging.parse()?,
            count: count.parse()?,
            first: Timestamp::from_millis(first.parse()?),
            spacing: Duration::from_micros(spacing.parse()?),
        }),
        _ => anyhow::bail!("unknown child server {words:?}"),
    }
}

#[derive(Deserialize)]
struct Body {
    prompt: String,
    aspect_ratio: String,
}

#[derive(Serialize)]
struct CreatedJob {
    job_id: &'static str,
    status: &'static str,
    status_url: &'static str,
}

/// The ceiling: the same request and an answer of the same size, with nothing in between.
async fn bare(body: web::Json<Body>) -> HttpResponse {
    assert!(!body.prompt.is_empty() && !body.aspect_ratio.is_empty());
    HttpResponse::Accepted().json(CreatedJob {
        job_id: "01890a5d-ac96-774b-bcce-b302099a8057",
        status: "queued",
        status_url: "/api/v1/jobs/01890a5d-ac96-774b-bcce-b302099a8057",
    })
}

fn ceiling() -> anyhow::Result<()> {
    actix_web::rt::System::new().block_on(async {
        let server =
            HttpServer::new(|| App::new().route("/api/v1/text-generations", web::post().to(bare)))
                .workers(2)
                .disable_signals()
                .bind("127.0.0.1:0")?;
        println!("{}", server.addrs().first().context("no address")?);
        let server = server.run();
        let handle = server.handle();
        actix_web::rt::spawn(server);
        stdin::wait_until_closed().await;
        handle.stop(false).await;
        Ok(())
    })
}

/// A generator that never ends, so that the run measures the acceptance of jobs and not the generation.
struct NeverEndingGenerator;

impl Generator for NeverEndingGenerator {
    fn generate(&self, _: GenerationTask) -> PortFuture<GeneratedImage> {
        std::future::pending().boxed_local()
    }
}

/// A generator that returns its image immediately, so that the run measures everything around it.
struct InstantGenerator {
    image: Vec<u8>,
}

impl InstantGenerator {
    fn new() -> anyhow::Result<Self> {
        let mut image = Vec::new();
        let pixels = image::RgbImage::new(16, 9);
        pixels.write_to(&mut Cursor::new(&mut image), image::ImageFormat::Png)?;
        Ok(Self { image })
    }
}

impl Generator for InstantGenerator {
    fn generate(&self, _: GenerationTask) -> PortFuture<GeneratedImage> {
        let image = GeneratedImage::own(self.image.clone());
        std::future::ready(Ok(image)).boxed_local()
    }
}

/// The settings of a Tintype.
struct Settings {
    data_dir: PathBuf,
    accounts: usize,
    instant: bool,
    /// The receiver of each account's webhook.
    receiver: Option<SocketAddr>,
}

impl Settings {
    fn generator(&self) -> anyhow::Result<Arc<dyn Generator>> {
        Ok(match self.instant {
            true => Arc::new(InstantGenerator::new()?),
            false => Arc::new(NeverEndingGenerator),
        })
    }
}

fn tintype(settings: Settings) -> anyhow::Result<()> {
    actix_web::rt::System::new().block_on(async {
        let mut config = Config::load(&Sources {
            env: Sources::process_environment(),
            ..Sources::default()
        })?;
        config.storage.data_dir.clone_from(&settings.data_dir);
        if config.server.workers == 0 {
            config.server.workers = 2;
        }
        config.server.shutdown_grace_seconds = 0;
        config.egress.allow = vec!["127.0.0.0/8".parse()?];
        // A busy machine is slow with large bodies, and that row measures memory.
        config.server.body_timeout_seconds = 600;
        config.jobs.max_live = 100_000_000;
        config.jobs.max_live_per_account = 100_000_000;
        if let Some(backend) = config.backends.get_mut("builtin") {
            backend.concurrency = SLOTS;
        }
        let listener = server::bind("127.0.0.1", 0)?;
        let address = listener.local_addr()?;
        let mut setup = Setup::new(config, format!("http://{address}"));
        setup
            .generators
            .insert("builtin".into(), settings.generator()?);
        let instance = server::start(setup).await?;
        println!("{address}");
        for number in 0..settings.accounts {
            println!("{}", customer(&instance, number, settings.receiver).await?);
        }
        let before = instance.core.store.engine().stats();
        println!("ready");
        let server = server::serve(instance.clone(), listener)?;
        let handle = server.handle();
        actix_web::rt::spawn(server);
        stdin::wait_until_closed().await;
        let after = instance.core.store.engine().stats();
        handle.stop(false).await;
        server::finish_jobs(&instance, std::future::pending()).await;
        server::close(&instance).await;
        println!(
            "{} {}",
            after.syncs - before.syncs,
            after.bytes - before.bytes
        );
        Ok(())
    })
}

/// Creates an account, with a webhook if there is a receiver, and returns its key.
async fn customer(
    instance: &Instance,
    number: usize,
    receiver: Option<SocketAddr>,
) -> anyhow::Result<String> {
    let core = &instance.core;
    let author = Caller::service();
    let balance: Amount = "100000000".parse()?;
    let new = NewAccount {
        name: format!("load {number}"),
        balance: Some(balance),
        ..NewAccount::default()
    };
    let guard = core.locks.operator.lock().await?;
    let account = accounts::create(&instance.accounts, guard, &author, new, None).await?;
    if let Some(receiver) = receiver {
        let now = core.now();
        let id = WebhookId(IdSource::new(now).next(now));
        let secret = WebhookSecret::from_random(rand::random());
        let webhook = Webhook::new(
            id,
            account.id,
            format!("http://{receiver}/ok/{number}"),
            instance.webhooks.vault.seal(id, &secret),
            now,
        );
        let writes = core.store.put_webhook(&webhook);
        commit_and_wait(core.store.engine().as_ref(), writes)?;
    }
    let (text, _) = api_keys::create(core, &author, account.id, KeyChange::default()).await?;
    Ok(text)
}
