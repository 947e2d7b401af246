//! The port of an image generator.

use super::failure::GenerateError;
use super::progress::Progress;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use tintype_storage::domain::aspect_ratio::AspectRatio;
use tintype_storage::domain::ids::{AccountId, JobId, KeyId};
use tintype_storage::domain::job::InputImage;
use tintype_storage::domain::tier::{Resolution, Tier};
use tokio::sync::watch;

/// What a generator is asked for.
#[derive(Clone, Debug)]
pub struct GenerationTask {
    /// For logs, and for backends that find their earlier work by it.
    pub job: JobId,
    /// Accounts take turns for what is scarce.
    pub account: AccountId,
    /// The API key that the job is charged under.
    pub key: KeyId,
    pub tier: Tier,
    /// The backend's own name of the model, where the configuration gives one.
    pub model: Option<String>,
    pub prompt: String,
    pub ratio: AspectRatio,
    pub resolution: Resolution,
    /// Width and height in pixels, for backends that take a size.
    pub pixels: (u32, u32),
    /// Input images in the object store.
    pub inputs: Vec<InputImage>,
    /// Generators that know how far the picture is report it here. No decision depends on it.
    pub progress: Progress,
    /// Turns true when the process stops and cuts its runs off. The job runs again after the restart, so a generator that can
    /// find its work again leaves it running when its future is dropped.
    pub cut_off: watch::Receiver<bool>,
}

/// A picture as a backend returned it.
#[derive(Clone, Debug)]
pub struct Picture {
    pub bytes: Vec<u8>,
    /// True when this process drew it. The image store then skips the check of its soundness and shape.
    pub own: bool,
}

impl Picture {
    /// A picture from elsewhere, which the image store checks.
    pub fn foreign(bytes: Vec<u8>) -> Self {
        Self { bytes, own: false }
    }

    /// A picture that this process drew, of exactly the requested pixels.
    pub fn own(bytes: Vec<u8>) -> Self {
        Self { bytes, own: true }
    }
}

/// Makes pictures. Its futures run on the arbiter of the jobs, so heavy work belongs on a thread pool.
pub trait Generator: Send + Sync {
    /// Makes one picture. Dropping the future gives up.
    fn generate(
        &self,
        task: GenerationTask,
    ) -> LocalBoxFuture<'static, Result<Picture, GenerateError>>;

    /// Does the backend hold work for this task that an earlier run left behind, finished or not? A resumed run asks this where
    /// its tier has several backends, and goes on where the work is. Most backends keep none.
    fn holds(&self, _task: GenerationTask) -> LocalBoxFuture<'static, bool> {
        std::future::ready(false).boxed_local()
    }
}
