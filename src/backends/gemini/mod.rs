//! The Gemini API as a backend: `generateContent`, one image per call.

mod fault;
mod model;
mod probe;
mod request;
mod response;

use super::image_background::refuse_transparent;
use super::inputs::{self, Accepts};
use super::setup_error::BackendSetupError;
use super::upstream::{Auth, Fault, Upstream, blocking, for_caller, misconfigured};
use crate::config::Remote;
use crate::objects::ObjectStorage;
use futures_util::FutureExt as _;
use model::Model;
pub use probe::probe;
use response::{GenerateContent, Outcome};
use tintype_actors::ports::{
    GenerateError, GeneratedImage, GenerationTask, Generator, PortFuture, set_cause,
};
use tintype_imaging::ImageKind;
use tintype_storage::domain::tier::Resolution;

/// The API's published limits for inline images. The lowest published limit for a whole request is 20 MB, in base64. Google asks callers
/// to rotate images correctly.
const ACCEPTS: Accepts = Accepts {
    kinds: &[
        ImageKind::Png,
        ImageKind::Jpeg,
        ImageKind::WebP,
        ImageKind::Heic,
    ],
    max_bytes: 7_000_000,
    max_total_bytes: 14_500_000,
    max_count: 14,
};

const AUTH: Auth = Auth::Header("x-goog-api-key");

#[derive(Clone)]
pub struct Gemini {
    upstream: Upstream,
    objects: ObjectStorage,
}

impl Gemini {
    pub fn new(
        name: &str,
        remote: &Remote,
        objects: ObjectStorage,
    ) -> Result<Self, BackendSetupError> {
        Ok(Self {
            upstream: Upstream::new(name, remote, AUTH)?,
            objects,
        })
    }

    async fn run(self, task: GenerationTask) -> Result<GeneratedImage, GenerateError> {
        let Some(id) = task.model.as_deref() else {
            // `kinds::model` finds no model only if the configuration names none at all.
            tracing::error!(backend = self.upstream.name(), tier = %task.tier, "no model is configured");
            return Err(misconfigured());
        };
        inputs::refuse_mask(&task)?;
        refuse_transparent(&task)?;
        let model = Model::named(id);
        let accepts = Accepts {
            max_count: model.max_inputs,
            ..ACCEPTS
        };
        let inputs = inputs::load(&self.objects, &task, accepts).await?;
        let path = path(
            &self.upstream,
            &format!("{}:generateContent", model.segment()),
        );
        let body = blocking(move || request::body(&task, &model, &inputs)).await;
        let response = self.upstream.post_json(&path, body).await?;
        if !response.status.is_success() {
            return Err(fault::to_fault(&self.upstream, &response).into());
        }
        let message = response.message();
        let content: GenerateContent = self.upstream.json(response).await?;
        match content.outcome() {
            Outcome::Image(data) => {
                let image = self.upstream.decode_image(data).await?;
                Ok(GeneratedImage::foreign(image))
            }
            Outcome::Blocked(why) => {
                let why = self.with_message(&why.what, &why.message);
                Err(GenerateError::Blocked(why))
            }
            Outcome::Text(text) => {
                // Without the text, which may repeat the prompt.
                set_cause("it returned text instead of an image");
                let what = "the image generator returned text instead of an image";
                Err(GenerateError::NoImage(self.with_message(what, &text)))
            }
            Outcome::Nothing(why) => {
                let why = self.with_message(&why.what, &why.message);
                Err(GenerateError::NoImage(why))
            }
            Outcome::Garbage => {
                let fault = fault::in_success(&self.upstream, message);
                let garbage = || Fault::Garbage("a response without candidates".into());
                Err(fault
                    .unwrap_or_else(|| self.upstream.noted(garbage()))
                    .into())
            }
        }
    }

    /// A text for the caller, with a message of the backend if it can be shown.
    fn with_message(&self, what: &str, message: &str) -> String {
        let what = self.upstream.clean(what);
        match for_caller(self.upstream.clean(message)) {
            message if message.is_empty() => what,
            message => format!("{what}: {message}"),
        }
    }
}

/// The largest resolution of a model; `None` if it supports all.
pub fn largest(model: &str) -> Option<Resolution> {
    (!Model::named(model).takes_size).then_some(Resolution::K1)
}

/// Adds the API version unless `base_url` ends with one.
fn path(upstream: &Upstream, model: &str) -> String {
    let base = upstream.base().path().trim_end_matches('/');
    match base.rsplit('/').next().unwrap_or_default() {
        "v1" | "v1beta" | "v1alpha" => format!("/models/{model}"),
        _ => format!("/v1beta/models/{model}"),
    }
}

impl Generator for Gemini {
    fn generate(&self, task: GenerationTask) -> PortFuture<GeneratedImage> {
        self.clone().run(task).boxed_local()
    }
}
