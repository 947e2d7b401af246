//! The `/sdapi/v1` interface: AUTOMATIC1111's web UI, Forge, SD.Next and stable-diffusion.cpp.
//!
//! One call makes one picture and is answered when it is done. What the servers differ in is either left to settings (the
//! options of Forge, the reference images of stable-diffusion.cpp) or found out on the way (whether progress is told).

pub mod answer;
mod interrupt;
mod probe;
mod progress;
pub mod prompt;
pub mod request;

pub use probe::SdApiProbe;

use super::local::{finish::finish, originals, size};
use super::upstream::{Answer, Auth, Fault, Upstream, UpstreamSetupError, blocking, not_set_up};
use crate::config::{Remote, SdApiSettings};
use crate::images::Images;
use answer::{Enlarged, Made, NoPicture, Pictured};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use interrupt::Interrupt;
use request::Request;
use std::sync::Arc;
use tintype_actors::ports::{GenerateError, GenerationTask, Generator, Picture};

/// A server that speaks `/sdapi/v1`.
#[derive(Clone)]
pub struct SdApi {
    inner: Arc<Inner>,
}

struct Inner {
    upstream: Upstream,
    settings: SdApiSettings,
    /// Whether no more than one picture is asked for at a time: what is told of the whole server is then told of it.
    alone: bool,
    images: Images,
}

impl SdApi {
    /// The back end `name`. `concurrency` is how many pictures it is asked for at a time.
    ///
    /// # Errors
    /// See [`UpstreamSetupError`].
    pub fn new(
        name: &str,
        remote: &Remote,
        settings: SdApiSettings,
        concurrency: usize,
        images: Images,
    ) -> Result<Self, UpstreamSetupError> {
        let inner = Inner {
            upstream: Upstream::new(name, remote, Auth::Basic)?,
            settings,
            alone: concurrency == 1,
            images,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }
}

impl Generator for SdApi {
    fn generate(
        &self,
        order: GenerationTask,
    ) -> LocalBoxFuture<'static, Result<Picture, GenerateError>> {
        let inner = Arc::clone(&self.inner);
        async move { inner.make(order).await }.boxed_local()
    }
}

impl Inner {
    async fn make(&self, order: GenerationTask) -> Result<Picture, GenerateError> {
        let count = order.inputs.len();
        if count > 1 && !self.settings.reference_inputs {
            return Err(GenerateError::NotAsked(format!(
                "the image generator takes one input image, not {count}"
            )));
        }
        let originals = originals::load(&self.images, &order).await?;
        let wanted = order.pixels;
        let native = size::native(wanted, self.settings.max_pixels);
        let task = format!("tintype-{}-{:08x}", order.job, rand::random::<u32>());
        // Put together off the arbiter: the input images become base64.
        let (settings, asked, named) = (self.settings.clone(), order.clone(), task.clone());
        let request =
            blocking(move || request::request(&settings, &asked, native, &originals, &named)).await;
        let mut interrupt = Interrupt::new(self.upstream.clone(), task.clone());
        let answered = tokio::select! {
            answered = self.ask(request) => answered,
            never = progress::follow(&self.upstream, &task, self.alone, &order.progress) => match never {},
        };
        // Left armed by a fault: the server may be at work all the same.
        let answered = answered?;
        interrupt.disarm();
        let made = self.read::<Made>(answered).await?;
        if self.alone && progress::was_interrupted(&self.upstream).await {
            return Err(GenerateError::Broken(
                "the picture was interrupted on the image generator before it was finished".into(),
            ));
        }
        let small = native.0 < wanted.0 || native.1 < wanted.1;
        let made = match &self.settings.upscaler {
            Some(upscaler) if small => self.enlarge(made, upscaler.clone(), wanted).await,
            _ => made,
        };
        finish(order.account, made, wanted).await
    }

    async fn ask(&self, request: Request) -> Result<Answer, GenerateError> {
        let answer = self.upstream.post(request.path, request.body).await?;
        match answer.status.is_success() {
            true => Ok(answer),
            false => Err(self.refusal(&answer)),
        }
    }

    /// What an answer without success means. The caller's prompt is a plain string to these servers and cannot be at fault, so
    /// whatever they refuse is a matter of the set-up.
    fn refusal(&self, answer: &Answer) -> GenerateError {
        let body = String::from_utf8_lossy(&answer.body[..answer.body.len().min(65_536)]);
        if body.contains("OutOfMemory") || body.to_ascii_lowercase().contains("out of memory") {
            self.upstream.refusal(answer, None);
            return GenerateError::Transient {
                reason: "the image generator ran out of memory".into(),
                retry_after: answer.retry_after(),
            };
        }
        if answer.status == 404 && body.contains("\"Not Found\"") {
            let backend = self.upstream.name();
            tracing::warn!(%backend, "the path is unknown there: A1111 and Forge serve it only when started with --api");
        }
        match GenerateError::from(self.upstream.refusal(answer, None)) {
            GenerateError::Refused(_) => not_set_up(),
            other => other,
        }
    }

    async fn read<T: Pictured>(&self, answer: Answer) -> Result<Vec<u8>, GenerateError> {
        let read: T = self.upstream.json(answer).await?;
        let picked = blocking(move || read.picture()).await;
        picked.map_err(|fault| {
            let told = self.upstream.logged("", Fault::Garbage(fault.to_string()));
            match fault {
                // Some tell of a failure in this way. The server is well, and another try may succeed.
                NoPicture::Empty => GenerateError::NoPicture(
                    "the image generator answered without a picture".into(),
                ),
                NoPicture::Form | NoPicture::Encoding => told.into(),
            }
        })
    }

    /// The picture enlarged by the server, or as it is where that fails: it is made, and gets enlarged here then.
    async fn enlarge(&self, made: Vec<u8>, upscaler: String, wanted: (u32, u32)) -> Vec<u8> {
        let picture = made.clone();
        let request = blocking(move || request::enlargement(&picture, &upscaler, wanted)).await;
        let enlarged = match self.ask(request).await {
            Ok(answer) => self.read::<Enlarged>(answer).await,
            Err(error) => Err(error),
        };
        enlarged.unwrap_or_else(|_| {
            let backend = self.upstream.name();
            tracing::warn!(%backend, "its upscaler failed, so the picture is enlarged without it");
            made
        })
    }
}
