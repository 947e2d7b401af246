//! The built-in generator as a back end: drawing happens on the blocking pool, never on an arbiter.

use super::inputs::read_back;
use super::upstream::{blocking, decoding};
use crate::image_decoding::INPUTS;
use crate::images::Images;
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use std::sync::Arc;
use tintype_actors::ports::{GenerateError, GenerationTask, Generator, Picture};
use tintype_imaging::DecodePermit;
use tintype_procedural::{DrawError, DrawRequest};

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
    let order = Arc::new((order, inputs));
    let photos = match order.1.is_empty() {
        true => None,
        false => {
            let order = Arc::clone(&order);
            let account = order.0.account;
            let decode = move |permit: &DecodePermit| {
                tintype_procedural::decode_inputs(&brief(&order), permit)
            };
            Some(
                decoding(&INPUTS, account, decode)
                    .await
                    .map_err(to_generate_error)?,
            )
        }
    };
    let drawn = blocking(move || {
        let brief = brief(&order);
        match photos {
            Some(photos) => tintype_procedural::draw_with(&brief, &photos),
            None => tintype_procedural::draw(&brief),
        }
    });
    drawn
        .await
        .map(|it| Picture::own(it.png))
        .map_err(to_generate_error)
}

fn brief((order, inputs): &(GenerationTask, Vec<Bytes>)) -> DrawRequest<'_> {
    DrawRequest {
        prompt: &order.prompt,
        width: order.pixels.0,
        height: order.pixels.1,
        inputs,
    }
}

/// As other back ends tell it: what is not decoded here may be taken as it is by the next.
fn to_generate_error(error: DrawError) -> GenerateError {
    let text = error.to_string();
    match error {
        DrawError::Format { .. } | DrawError::TooLarge { .. } => GenerateError::NotAsked(text),
        DrawError::Broken { .. } => GenerateError::Unsound(text),
        DrawError::Size { .. } => GenerateError::Refused(text),
        DrawError::Encode(_) => GenerateError::Broken(text),
    }
}
