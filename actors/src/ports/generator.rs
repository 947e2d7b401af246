//! The port of an image generator.

use super::failure::PortFuture;
use super::progress::Progress;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use tintype_storage::domain::aspect_ratio::AspectRatio;
use tintype_storage::domain::ids::{AccountId, JobId, KeyId};
use tintype_storage::domain::image_options::Background;
use tintype_storage::domain::job::InputImage;
use tintype_storage::domain::tier::{Resolution, Tier};
use tokio::sync::watch;

#[derive(Clone, Debug)]
pub struct GenerationTask {
    /// For logs, and for backends that find their earlier work by this id.
    pub job: JobId,
    /// Accounts take turns for scarce resources.
    pub account: AccountId,
    /// The API key that the job is charged under.
    pub key: KeyId,
    pub tier: Tier,
    /// The backend's name for the model, if the configuration has one.
    pub model: Option<String>,
    pub prompt: String,
    pub ratio: AspectRatio,
    pub resolution: Resolution,
    /// Width and height in pixels, for backends that take a size.
    pub pixels: (u32, u32),
    /// Input images in the object store.
    pub inputs: Vec<InputImage>,
    /// Is the last input image a mask? Where it is opaque, the image keeps the pixels of the first input image.
    pub has_mask: bool,
    /// `None`: the backend's choice.
    pub background: Option<Background>,
    /// Generators report the progress of the image here. No decision depends on it.
    pub progress: Progress,
    /// Becomes true when the process stops and interrupts its runs. The job runs again after the restart, so a generator that can
    /// find its work again should leave that work running when its future is dropped.
    pub cut_off: watch::Receiver<bool>,
}

/// An image as a backend returned it.
#[derive(Clone, Debug)]
pub struct GeneratedImage {
    pub bytes: Vec<u8>,
    /// True if this process drew the image. [`JobObjects`](super::JobObjects) then skips its checks of format and size.
    pub own: bool,
}

/// An image that has passed the check, in its final form.
#[derive(Clone, Debug)]
pub struct CheckedImage {
    pub bytes: Vec<u8>,
    pub width: u32,
    pub height: u32,
}

impl GeneratedImage {
    /// An image of a remote backend, which [`JobObjects`](super::JobObjects) checks.
    pub fn foreign(bytes: Vec<u8>) -> Self {
        Self { bytes, own: false }
    }

    /// An image that this process drew, of exactly the requested pixels.
    pub fn own(bytes: Vec<u8>) -> Self {
        Self { bytes, own: true }
    }
}

/// Generates images. Its futures run on the arbiter of the jobs, so heavy work belongs on a thread pool.
pub trait Generator: Send + Sync {
    /// Generates one image. Dropping the future cancels the work.
    fn generate(&self, task: GenerationTask) -> PortFuture<GeneratedImage>;

    /// Does the backend hold work for this task from an earlier run, finished or not? A resumed run of a tier with several backends
    /// asks this, and goes on with the backend that holds the work. Most backends hold none.
    fn has_earlier_work(&self, _task: GenerationTask) -> LocalBoxFuture<'static, bool> {
        std::future::ready(false).boxed_local()
    }
}
