//! The built-in generator as a back end: drawing happens on the blocking pool, never on an arbiter.

use super::inputs::read_back;
use crate::images::Images;
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use tintype_actors::ports::{GenerateError, GenerationTask, Generator, Picture};
use tintype_procedural::{Brief, DrawError};

/// Draws from the prompt's words. Its concurrency bounds how many blocking threads it takes.
pub struct Builtin {
    images: Images,
}

impl Builtin {
    /// A generator that reads input images from this store.
    pub fn new(images: Images) -> Self {
        Self { images }
    }
}

impl Generator for Builtin {
    fn generate(
        &self,
        order: GenerationTask,
    ) -> LocalBoxFuture<'static, Result<Picture, GenerateError>> {
        draw(self.images.clone(), order).boxed_local()
    }
}

async fn draw(images: Images, order: GenerationTask) -> Result<Picture, GenerateError> {
    let mut inputs: Vec<Bytes> = Vec::with_capacity(order.inputs.len());
    for input in &order.inputs {
        inputs.push(read_back(&images, &order, input).await?);
    }
    let drawing = tokio::task::spawn_blocking(move || {
        let (width, height) = order.pixels;
        tintype_procedural::draw(&Brief {
            prompt: &order.prompt,
            width,
            height,
            inputs: &inputs,
        })
    });
    match drawing.await {
        Ok(Ok(picture)) => Ok(Picture::own(picture.png)),
        Ok(Err(error)) => Err(told(error)),
        // Carried on, so that a panic while drawing is told like any other panic of a run.
        Err(join) if join.is_panic() => std::panic::resume_unwind(join.into_panic()),
        Err(_) => Err(GenerateError::Broken("drawing was given up".into())),
    }
}

/// As other back ends tell it: what is not decoded here may be taken as it is by the next.
fn told(error: DrawError) -> GenerateError {
    let text = error.to_string();
    match error {
        DrawError::Format { .. } | DrawError::TooLarge { .. } => GenerateError::NotAsked(text),
        DrawError::Broken { .. } => GenerateError::Unsound(text),
        DrawError::Size { .. } => GenerateError::Refused(text),
        DrawError::Encode(_) => GenerateError::Broken(text),
    }
}
