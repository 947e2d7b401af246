//! The OpenAI images API as a backend: OpenAI itself, and compatible servers with their dialects.

mod fault;
mod probe;
mod request;
mod response;
mod size;

use super::image_background::refuse_transparent;
use super::inputs::{self, Accepts};
use super::local::finish::finish;
use super::luma_mask::to_luma;
use super::setup_error::BackendSetupError;
use super::upstream::{Auth, Fault, Response, Upstream, blocking};
use crate::config::{ImageField, MaskFormat, OpenAiDialect, Remote};
use crate::objects::ObjectStorage;
use futures_util::FutureExt as _;
pub use probe::probe;
use request::Fields;
use response::{Images as ImagesResponse, Item};
use size::Family;
use std::sync::Arc;
use tintype_actors::ports::{GenerateError, GeneratedImage, GenerationTask, Generator, PortFuture};
use tintype_imaging::ImageKind;
use tintype_imaging::fit::FittedImage;
use tintype_storage::domain::tier::Resolution;

#[derive(Clone)]
pub struct OpenAi {
    upstream: Upstream,
    dialect: Arc<OpenAiDialect>,
    objects: ObjectStorage,
}

impl OpenAi {
    pub fn new(
        name: &str,
        remote: &Remote,
        dialect: OpenAiDialect,
        objects: ObjectStorage,
    ) -> Result<Self, BackendSetupError> {
        Ok(Self {
            upstream: Upstream::new(name, remote, Auth::Bearer)?,
            dialect: Arc::new(dialect),
            objects,
        })
    }

    async fn run(self, task: GenerationTask) -> Result<GeneratedImage, GenerateError> {
        let family = Family::of(task.model.as_deref());
        let mask_format = mask_format(family, &self.dialect);
        if mask_format == MaskFormat::None {
            inputs::refuse_mask(&task)?;
        }
        if !takes_transparent(task.model.as_deref()) {
            refuse_transparent(&task)?;
        }
        let accepts = accepts(family, &self.dialect);
        let mut inputs = inputs::load(&self.objects, &task, accepts).await?;
        let mask = match (inputs::take_mask(&task, &mut inputs), inputs.first()) {
            (Some(mask), Some(image)) => Some(inputs::fit_mask(task.account, mask, image).await?),
            (mask, _) => mask,
        };
        let mask = match mask {
            Some(mask) if mask_format == MaskFormat::Luma => {
                Some(to_luma(task.account, mask).await?)
            }
            mask => mask,
        };
        let fields = Fields::of(&task, family, &self.dialect);
        let response = self.ask(fields, inputs, mask).await?;
        if !response.status.is_success() {
            return Err(fault::to_generate_error(&self.upstream, family, &response));
        }
        let message = response.message();
        let images: ImagesResponse = self.upstream.json(response).await?;
        let Some(item) = images.first() else {
            let known = fault::by_code(&self.upstream, &message);
            return Err(known.unwrap_or_else(|| self.upstream.no_image(&message.body)));
        };
        let bytes = self.image(item).await?;
        match (family, self.dialect.max_pixels) {
            (Family::Any, Some(_)) => finish(task.account, bytes, task.pixels).await,
            _ => Ok(GeneratedImage::foreign(bytes)),
        }
    }

    async fn ask(
        &self,
        fields: Fields,
        inputs: Vec<FittedImage>,
        mask: Option<FittedImage>,
    ) -> Result<Response, Fault> {
        let generation = inputs.is_empty() || self.dialect.image_field == ImageField::File;
        if generation {
            let body = blocking(move || fields.json(inputs.first())).await;
            self.upstream.post_json("/images/generations", body).await
        } else {
            let form = fields.form(&inputs, mask.as_ref(), self.dialect.image_field);
            self.upstream.post_form("/images/edits", form).await
        }
    }

    /// Decodes the image, or fetches it from the address in the response.
    async fn image(&self, item: Item) -> Result<Vec<u8>, Fault> {
        match item {
            Item::Data(text) => self.upstream.decode_image(text).await,
            Item::Address(url) => {
                let response = self.upstream.get_same_origin(&url).await?;
                Ok(self.upstream.expect_success(response)?.body.to_vec())
            }
        }
    }
}

/// The limits of OpenAI itself, unless the dialect has lower ones.
fn accepts(family: Family, dialect: &OpenAiDialect) -> Accepts {
    let is_file = dialect.image_field == ImageField::File;
    Accepts {
        kinds: match family == Family::Any || is_file {
            // The formats that every compatible server reads.
            true => &[ImageKind::Png, ImageKind::Jpeg],
            false => &[ImageKind::Png, ImageKind::Jpeg, ImageKind::WebP],
        },
        max_bytes: 50_000_000,
        max_total_bytes: 200_000_000,
        max_count: match is_file {
            true => dialect.max_inputs.min(1),
            false => dialect.max_inputs,
        },
    }
}

/// Does a server of this dialect use the mask of an edit, with this model?
pub fn takes_mask(model: Option<&str>, dialect: &OpenAiDialect) -> bool {
    mask_format(Family::of(model), dialect) != MaskFormat::None
}

/// Does OpenAI generate this model's images with a transparent background?
pub fn takes_transparent(model: Option<&str>) -> bool {
    let id = model.unwrap_or_default();
    let refuses = id == "gpt-image-2" || id.starts_with("gpt-image-2-");
    Family::of(model) != Family::Any && !refuses
}

/// Never `Auto`. Only OpenAI is known to read masks as callers send them: other servers ignore the mask or read its grey values, which
/// would change the wrong part of the image.
fn mask_format(family: Family, dialect: &OpenAiDialect) -> MaskFormat {
    match (dialect.image_field, dialect.mask) {
        // A generation has no field for a mask.
        (ImageField::File, _) => MaskFormat::None,
        _ if dialect.max_inputs == 0 => MaskFormat::None,
        (_, MaskFormat::Auto) if family == Family::Any => MaskFormat::None,
        (_, MaskFormat::Auto) => MaskFormat::Alpha,
        (_, configured) => configured,
    }
}

/// The largest resolution of a model; `None` if it supports all or its limit is unknown.
pub fn largest(model: &str) -> Option<Resolution> {
    match Family::of(Some(model)) {
        Family::ThreeSizes => Some(Resolution::K1),
        Family::Bounded => Some(Resolution::K2),
        Family::Any => None,
    }
}

/// The pixels that Tintype requests at most from this model; `None` if `max_pixels` does not apply to it.
pub fn max_pixels(model: Option<&str>, dialect: &OpenAiDialect) -> Option<u64> {
    let is_other = Family::of(model) == Family::Any;
    dialect.max_pixels.filter(|_| is_other)
}

/// Does Tintype request every size from this model, because it does not know a limit of it?
pub fn is_unlimited(model: Option<&str>, dialect: &OpenAiDialect) -> bool {
    Family::of(model) == Family::Any && dialect.max_pixels.is_none()
}

impl Generator for OpenAi {
    fn generate(&self, task: GenerationTask) -> PortFuture<GeneratedImage> {
        self.clone().run(task).boxed_local()
    }
}
