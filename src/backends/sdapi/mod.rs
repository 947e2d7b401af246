//! The `/sdapi/v1` interface: AUTOMATIC1111's web UI, Forge, SD.Next and stable-diffusion.cpp.
//!
//! One call generates one image; the server answers when the image is done. Settings cover some differences between the servers (the
//! options of Forge, the reference images of stable-diffusion.cpp); the adapter detects whether the server reports progress.

mod interrupt;
mod probe;
mod progress;
pub mod prompt;
pub mod request;
pub mod response;

pub use probe::probe;

use super::image_background::refuse_transparent;
use super::inputs;
use super::local::{crop::crop, finish::finish, originals, out_of_memory, size};
use super::luma_mask::to_luma;
use super::setup_error::BackendSetupError;
use super::upstream::{Auth, Fault, Response, Upstream, blocking, without_refusal};
use crate::config::{Remote, SdApiSettings};
use crate::objects::ObjectStorage;
use futures_util::FutureExt as _;
use progress::Interruptions;
use request::{Inputs, Request};
use response::{GenerationResponse, NoImage, ReturnedImage, UpscaleResponse};
use std::sync::Arc;
use tintype_actors::ports::{
    GenerateError, GeneratedImage, GenerationTask, Generator, PortFuture, set_cause,
};
use tintype_imaging::fit::FittedImage;

/// A server that speaks `/sdapi/v1`.
#[derive(Clone)]
pub struct SdApi {
    inner: Arc<Inner>,
}

struct Inner {
    upstream: Upstream,
    settings: SdApiSettings,
    /// Does Tintype send the server one task at a time? Then the server-wide progress and flags belong to this backend's only task.
    alone: bool,
    objects: ObjectStorage,
}

impl SdApi {
    /// `concurrency` is the number of concurrent requests to the server, of all its backends together.
    pub fn new(
        name: &str,
        remote: &Remote,
        settings: SdApiSettings,
        concurrency: usize,
        objects: ObjectStorage,
    ) -> Result<Self, BackendSetupError> {
        let inner = Inner {
            upstream: Upstream::new(name, remote, Auth::Basic)?,
            settings,
            alone: concurrency == 1,
            objects,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }
}

impl Generator for SdApi {
    fn generate(&self, task: GenerationTask) -> PortFuture<GeneratedImage> {
        let inner = Arc::clone(&self.inner);
        async move { inner.run(task).await }.boxed_local()
    }
}

impl Inner {
    async fn run(&self, task: GenerationTask) -> Result<GeneratedImage, GenerateError> {
        if self.settings.reference_inputs {
            inputs::refuse_mask(&task)?;
        }
        refuse_transparent(&task)?;
        let count = task.inputs.len().saturating_sub(usize::from(task.has_mask));
        if count > 1 && !self.settings.reference_inputs {
            return Err(GenerateError::Unsupported(format!(
                "the image generator takes one input image, not {count}"
            )));
        }
        let wanted = task.pixels;
        let native = size::native(wanted, self.settings.max_pixels);
        let (originals, mask) = self.load_inputs(&task, native).await?;
        let task_id = format!("tintype-{}-{:08x}", task.job, rand::random::<u32>());
        // On the blocking pool: the input images become base64.
        let (settings, own_task, own_id) = (self.settings.clone(), task.clone(), task_id.clone());
        let request = blocking(move || {
            let inputs = Inputs {
                originals: &originals,
                mask: mask.as_ref().map(|it| &it.bytes[..]),
            };
            request::request(&settings, &own_task, native, inputs, &own_id)
        })
        .await;
        // It could interrupt this task, if the server cannot identify tasks.
        self.upstream.cleanups_ended().await;
        let mut guard = interrupt::on_drop(self.upstream.clone(), task_id.clone(), self.alone);
        let (alone, mut interruptions) = (self.alone, Interruptions::default());
        let response = tokio::select! {
            response = self.upstream.post(request.path, request.body) => response,
            never = progress::follow(&self.upstream, &task_id, alone, &task.progress, &mut interruptions) => match never {},
        };
        // On a fault the guard stays armed: the server may still be working.
        let response = response?;
        if is_of_server(&response) {
            guard.disarm();
        }
        let response = self.expect_success(response)?;
        interruptions.read_last(&self.upstream, alone).await;
        let message = response.message();
        let generated: GenerationResponse = self.upstream.json(response).await?;
        if interruptions.include(generated.job_timestamp()) {
            return Err(GenerateError::BackendFault(
                "the generation was interrupted on the image generator".into(),
            ));
        }
        let (made, used) = self.decode(generated.image(), &message).await?;
        self.check_checkpoint(&task, used.as_deref());
        let small = native.0 < wanted.0 || native.1 < wanted.1;
        let made = match &self.settings.upscaler {
            Some(upscaler) if small => self.upscale(made, upscaler.clone(), wanted).await,
            _ => made,
        };
        finish(task.account, made, wanted).await
    }

    /// The input images and the mask. An image to change is cropped to `size`, with its mask.
    async fn load_inputs(
        &self,
        task: &GenerationTask,
        size: (u32, u32),
    ) -> Result<(Vec<FittedImage>, Option<FittedImage>), GenerateError> {
        let mut originals = originals::load(&self.objects, task).await?;
        let mut mask = inputs::take_mask(task, &mut originals);
        if !self.settings.reference_inputs
            && let Some(image) = originals.first_mut()
        {
            if let Some(given) = mask {
                let fitted = inputs::fit_mask(task.account, given, image).await?;
                mask = Some(crop(task.account, fitted, size).await?);
            }
            *image = crop(task.account, image.clone(), size).await?;
        }
        let mask = match mask {
            Some(mask) => Some(to_luma(task.account, mask).await?),
            None => None,
        };
        Ok((originals, mask))
    }

    fn expect_success(&self, response: Response) -> Result<Response, GenerateError> {
        match response.status.is_success() {
            true => Ok(response),
            false => Err(self.refusal(&response)),
        }
    }

    /// Maps an error response. These servers take the caller's prompt as a plain string, so a refused request always means that the
    /// backend is misconfigured.
    fn refusal(&self, response: &Response) -> GenerateError {
        let body = String::from_utf8_lossy(&response.body[..response.body.len().min(65_536)]);
        if body.contains("OutOfMemory") || body.to_ascii_lowercase().contains("out of memory") {
            self.upstream.refusal(response, None);
            return out_of_memory(response.retry_after());
        }
        let fault = self.upstream.refusal(response, None);
        if response.status == 404 && body.contains("\"Not Found\"") {
            set_cause("the server does not know the path; start A1111 or Forge with --api");
        }
        without_refusal(fault)
    }

    /// A1111 and Forge silently ignore the name of a checkpoint that they do not have, and use the loaded one.
    fn check_checkpoint(&self, task: &GenerationTask, used: Option<&str>) {
        if let (Some(wanted), Some(used)) = (request::checkpoint(&self.settings, task), used)
            && !request::may_name(wanted, used)
        {
            let used = self.upstream.clean(used);
            set_cause(format!(
                "it generated with the checkpoint {used} instead of {wanted}; does it have {wanted}?"
            ));
        }
    }

    /// The image, and the name of its checkpoint. `response` is the one that holds it.
    async fn decode(
        &self,
        returned: Result<ReturnedImage, NoImage>,
        response: &Response,
    ) -> Result<(Vec<u8>, Option<String>), GenerateError> {
        match returned {
            Ok(it) => Ok((self.upstream.decode_image(it.base64).await?, it.checkpoint)),
            Err(NoImage::Empty) => Err(self.upstream.no_image_of_model(&response.body)),
            Err(NoImage::Form) => {
                let fault = Fault::Garbage("a response unlike those of /sdapi/v1".into());
                Err(self.upstream.noted(fault).into())
            }
        }
    }

    /// Has the server upscale the image. If that fails, returns it unchanged, and [`finish`] enlarges it.
    async fn upscale(&self, made: Vec<u8>, upscaler: String, wanted: (u32, u32)) -> Vec<u8> {
        let image = made.clone();
        let request = blocking(move || request::enlargement(&image, &upscaler, wanted)).await;
        // The attempt logs the fault, although it succeeds.
        self.enlarge(request).await.unwrap_or(made)
    }

    async fn enlarge(&self, request: Request) -> Result<Vec<u8>, GenerateError> {
        let response = self.upstream.post(request.path, request.body).await?;
        let response = self.expect_success(response)?;
        let message = response.message();
        let enlarged: UpscaleResponse = self.upstream.json(response).await?;
        let (image, _) = self.decode(enlarged.image(), &message).await?;
        Ok(image)
    }
}

/// Did the server itself answer, not a proxy in front of it? The server answers when its work on the request has ended. A proxy that
/// has lost it answers 502 or 504.
fn is_of_server(response: &Response) -> bool {
    let is_gateway_error = matches!(response.status.as_u16(), 502 | 504);
    response.status.is_success()
        || (response.media_type() == "application/json" && !is_gateway_error)
}
