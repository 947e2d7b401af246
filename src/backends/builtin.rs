//! The built-in generator as a backend. It draws on the blocking pool, never on an arbiter.

use super::image_background::refuse_transparent;
use super::inputs::read_back;
use super::upstream::{blocking, decoding};
use crate::decode_permits::INPUT_DECODING;
use crate::objects::ObjectStorage;
use bytes::Bytes;
use futures_util::FutureExt as _;
use std::sync::Arc;
use tintype_actors::ports::{GenerateError, GeneratedImage, GenerationTask, Generator, PortFuture};
use tintype_imaging::DecodePermit;
use tintype_procedural::{DrawError, DrawRequest};

/// Draws from the words of the prompt. The backend's concurrency bounds the number of blocking threads in use.
pub struct Builtin {
    objects: ObjectStorage,
}

impl Builtin {
    pub fn new(objects: ObjectStorage) -> Self {
        Self { objects }
    }
}

impl Generator for Builtin {
    fn generate(&self, task: GenerationTask) -> PortFuture<GeneratedImage> {
        draw(self.objects.clone(), task).boxed_local()
    }
}

async fn draw(
    objects: ObjectStorage,
    task: GenerationTask,
) -> Result<GeneratedImage, GenerateError> {
    refuse_transparent(&task)?;
    let mut inputs: Vec<Bytes> = Vec::with_capacity(task.inputs.len());
    for input in &task.inputs {
        inputs.push(read_back(&objects, &task, input).await?);
    }
    let task = Arc::new((task, inputs));
    let photos = match task.1.is_empty() {
        true => None,
        false => {
            let task = Arc::clone(&task);
            let account = task.0.account;
            let decode = move |permit: &DecodePermit| {
                tintype_procedural::decode_inputs(&brief(&task), permit)
            };
            Some(
                decoding(&INPUT_DECODING, account, decode)
                    .await
                    .map_err(to_generate_error)?,
            )
        }
    };
    let drawn = blocking(move || {
        let brief = brief(&task);
        match photos {
            Some(photos) => tintype_procedural::draw_with(&brief, &photos),
            None => tintype_procedural::draw(&brief),
        }
    });
    drawn
        .await
        .map(|it| GeneratedImage::own(it.png))
        .map_err(to_generate_error)
}

fn brief((task, inputs): &(GenerationTask, Vec<Bytes>)) -> DrawRequest<'_> {
    DrawRequest {
        prompt: &task.prompt,
        width: task.pixels.0,
        height: task.pixels.1,
        inputs,
        has_mask: task.has_mask,
    }
}

/// A format that this backend does not decode is `Unsupported`: the tier's next backend may take it.
fn to_generate_error(error: DrawError) -> GenerateError {
    let text = error.to_string();
    match error {
        DrawError::Format { .. } | DrawError::TooLarge { .. } => GenerateError::Unsupported(text),
        DrawError::Broken { .. } => GenerateError::InvalidRequest(text),
        DrawError::Size { .. } | DrawError::Mask => GenerateError::Refused(text),
        DrawError::Encode(_) => GenerateError::BackendFault(text),
    }
}
