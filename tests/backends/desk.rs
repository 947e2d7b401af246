//! One generator alone: what it is asked for, and what it reads input images from.

use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use std::collections::BTreeMap;
use std::future::Future;
use std::io::Cursor;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use tintype::config::Remote;
use tintype::images::{FileSigningKey, Images};
use tintype_actors::ports::Progress;
use tintype_actors::ports::{GenerateError, GenerationTask, Generator, Picture};
use tintype_storage::domain::aspect_ratio::AspectRatio;
use tintype_storage::domain::ids::{AccountId, JobId, KeyId};
use tintype_storage::domain::job::InputImage;
use tintype_storage::domain::tier::{Resolution, Tier};
use tokio::sync::watch;
use uuid::Uuid;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where generators are tried.
pub struct Desk {
    dir: TempDir,
    pub images: Images,
    /// Turns true as when the process is being stopped.
    pub cut_off: watch::Sender<bool>,
}

impl Desk {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let key = FileSigningKey::load_or_create(dir.path()).expect("a key");
        let images = Images::open("", dir.path(), "http://127.0.0.1:1", key).expect("a store");
        Self {
            dir,
            images,
            cut_off: watch::channel(false).0,
        }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// An order of a job of its own, for a small square picture.
    pub fn order(&self) -> GenerationTask {
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
            progress: Progress::default(),
            cut_off: self.cut_off.subscribe(),
        }
    }

    /// The same with these input images.
    pub async fn order_with(&self, inputs: &[Vec<u8>]) -> GenerationTask {
        let mut order = self.order();
        for (at, bytes) in inputs.iter().enumerate() {
            let key = format!("inputs/{}/{at}", order.job);
            let kept = self.images.put(&key, bytes.clone().into(), "image/png");
            kept.await.expect("kept");
            order.inputs.push(InputImage {
                key,
                bytes: bytes.len() as u64,
                width: 8,
                height: 8,
            });
        }
        order
    }
}

/// Runs a test on a runtime as the jobs have it.
pub fn run<T>(test: impl Future<Output = T>) -> T {
    actix_web::rt::System::new().block_on(async {
        let done = tokio::time::timeout(PATIENCE, test).await;
        done.expect("the test takes too long")
    })
}

/// How to reach a back end.
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

/// Waits until something is so.
pub async fn until(what: &str, mut so: impl FnMut() -> bool) {
    for _ in 0..20_000 {
        if so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    panic!("waited in vain until {what}");
}

/// A picture that shows something.
pub fn picture(width: u32, height: u32) -> Vec<u8> {
    encoded(width, height, ImageFormat::Png)
}

/// The same in another format.
pub fn encoded(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let pixels = RgbImage::from_fn(width, height, |x, y| Rgb([x as u8, y as u8, 99]));
    let mut bytes = Cursor::new(Vec::new());
    let picture = DynamicImage::ImageRgb8(pixels);
    picture.write_to(&mut bytes, format).expect("encoded");
    bytes.into_inner()
}

/// A picture of nothing.
pub fn blank(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let picture = DynamicImage::new_rgb8(width, height);
    picture
        .write_to(&mut bytes, ImageFormat::Png)
        .expect("encoded");
    bytes.into_inner()
}

/// Width and height.
pub fn size(bytes: &[u8]) -> (u32, u32) {
    let picture = image::load_from_memory(bytes).expect("a picture");
    (picture.width(), picture.height())
}

/// What a generator's outcome is, in a word with its text.
pub fn word(outcome: Result<Picture, GenerateError>) -> String {
    match outcome {
        Ok(picture) => format!("picture {:?}", size(&picture.bytes)),
        Err(GenerateError::Refused(text)) => format!("refused: {text}"),
        Err(GenerateError::Blocked(text)) => format!("blocked: {text}"),
        Err(GenerateError::Transient { reason, .. }) => format!("transient: {reason}"),
        Err(GenerateError::NoPicture(text)) => format!("no picture: {text}"),
        Err(GenerateError::TimedOut(text)) => format!("timed out: {text}"),
        Err(GenerateError::Broken(text)) => format!("broken: {text}"),
        Err(GenerateError::Unsound(text)) => format!("unsound: {text}"),
        Err(GenerateError::NotAsked(text)) => format!("not asked: {text}"),
        Err(GenerateError::Storage(text)) => format!("storage: {text}"),
    }
}

/// Asks for a picture and says what came.
pub async fn outcome(generator: &dyn Generator, order: &GenerationTask) -> String {
    word(generator.generate(order.clone()).await)
}

/// Demands an outcome, and that it tells a caller nothing of the set-up.
#[track_caller]
pub fn assert_outcome(found: &str, expected: &str) {
    assert!(found.starts_with(expected), "{found:?}, not {expected:?}");
    for secret in ["127.0.0.1", "http:", "s3cret", "Traceback", ".safetensors"] {
        assert!(!found.contains(secret), "{found}");
    }
}
