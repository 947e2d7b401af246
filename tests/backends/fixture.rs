//! Fixtures to test one generator without a server.

use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use std::collections::BTreeMap;
use std::future::Future;
use std::io::Cursor;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use tintype::config::Remote;
use tintype::objects::{FileSigningKey, ObjectStorage};
use tintype_actors::ports::Progress;
use tintype_actors::ports::{GenerateError, GeneratedImage, GenerationTask, Generator};
use tintype_storage::domain::aspect_ratio::AspectRatio;
use tintype_storage::domain::ids::{AccountId, JobId, KeyId};
use tintype_storage::domain::job::InputImage;
use tintype_storage::domain::tier::{Resolution, Tier};
use tokio::sync::watch;
use uuid::Uuid;

const TEST_TIMEOUT: Duration = Duration::from_secs(120);

pub struct Fixture {
    dir: TempDir,
    pub objects: ObjectStorage,
    /// Set to true to simulate a shutdown.
    pub cut_off: watch::Sender<bool>,
}

impl Fixture {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let key = FileSigningKey::load_or_create(dir.path()).expect("a key");
        let objects =
            ObjectStorage::open("", dir.path(), "http://127.0.0.1:1", key).expect("a store");
        Self {
            dir,
            objects,
            cut_off: watch::channel(false).0,
        }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A task of a new job for a small square image.
    pub fn task(&self) -> GenerationTask {
        GenerationTask {
            job: JobId(Uuid::now_v7()),
            account: AccountId(Uuid::nil()),
            key: KeyId(Uuid::nil()),
            tier: Tier::Pro,
            model: None,
            prompt: "a red fox (in snow)".into(),
            ratio: AspectRatio::SQUARE,
            resolution: Resolution::K1,
            pixels: (64, 64),
            inputs: Vec::new(),
            has_mask: false,
            background: None,
            progress: Progress::default(),
            cut_off: self.cut_off.subscribe(),
        }
    }

    pub async fn task_with(&self, inputs: &[Vec<u8>]) -> GenerationTask {
        let mut task = self.task();
        for (at, bytes) in inputs.iter().enumerate() {
            let key = format!("inputs/{}/{at}", task.job);
            let stored = self.objects.put(&key, bytes.clone().into(), "image/png");
            stored.await.expect("stored");
            task.inputs.push(InputImage {
                key,
                bytes: bytes.len() as u64,
                width: 8,
                height: 8,
            });
        }
        task
    }
}

/// Runs a test on the kind of runtime that jobs run on.
pub fn run<T>(test: impl Future<Output = T>) -> T {
    actix_web::rt::System::new().block_on(async {
        let done = tokio::time::timeout(TEST_TIMEOUT, test).await;
        done.expect("the test takes too long")
    })
}

pub fn remote(base_url: &str) -> Remote {
    Remote {
        base_url: base_url.to_owned(),
        timeout_seconds: 60,
        retries: 0,
        api_key: None,
        api_key_env: None,
        headers: BTreeMap::new(),
    }
}

pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..20_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    panic!("timed out waiting until {what}");
}

pub fn image(width: u32, height: u32) -> Vec<u8> {
    encoded(width, height, ImageFormat::Png)
}

pub fn encoded(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let pixels = RgbImage::from_fn(width, height, |x, y| Rgb([x as u8, y as u8, 99]));
    let mut bytes = Cursor::new(Vec::new());
    let image = DynamicImage::ImageRgb8(pixels);
    image.write_to(&mut bytes, format).expect("encoded");
    bytes.into_inner()
}

/// An image of a single colour.
pub fn blank(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let image = DynamicImage::new_rgb8(width, height);
    image
        .write_to(&mut bytes, ImageFormat::Png)
        .expect("encoded");
    bytes.into_inner()
}

pub fn size(bytes: &[u8]) -> (u32, u32) {
    let image = image::load_from_memory(bytes).expect("an image");
    (image.width(), image.height())
}

/// The kind of the outcome with its text.
pub fn describe(outcome: Result<GeneratedImage, GenerateError>) -> String {
    match outcome {
        Ok(image) => format!("image {:?}", size(&image.bytes)),
        Err(GenerateError::Refused(text)) => format!("refused: {text}"),
        Err(GenerateError::Blocked(text)) => format!("blocked: {text}"),
        Err(GenerateError::Transient { reason, .. } | GenerateError::Overloaded { reason, .. }) => {
            format!("transient: {reason}")
        }
        Err(GenerateError::NoImage(text)) => format!("no image: {text}"),
        Err(GenerateError::TimedOut(text)) => format!("timed out: {text}"),
        Err(GenerateError::BackendFault(text)) => format!("backend fault: {text}"),
        Err(GenerateError::Unreachable(text)) => format!("unreachable: {text}"),
        Err(GenerateError::Misconfigured(text)) => format!("misconfigured: {text}"),
        Err(GenerateError::BackendRejectsAll(text)) => format!("rejects all: {text}"),
        Err(GenerateError::InvalidRequest(text)) => format!("invalid request: {text}"),
        Err(GenerateError::BackendLimit(text)) => format!("backend limit: {text}"),
        Err(GenerateError::Unsupported(text)) => format!("unsupported: {text}"),
        Err(GenerateError::Storage(text)) => format!("storage: {text}"),
    }
}

pub async fn outcome(generator: &dyn Generator, task: &GenerationTask) -> String {
    describe(generator.generate(task.clone()).await)
}

/// Checks an outcome, and that it reveals nothing of the configuration.
#[track_caller]
pub fn assert_outcome(found: &str, expected: &str) {
    assert!(found.starts_with(expected), "{found:?}, not {expected:?}");
    for secret in ["127.0.0.1", "http:", "s3cret", "Traceback", ".safetensors"] {
        assert!(!found.contains(secret), "{found}");
    }
}
