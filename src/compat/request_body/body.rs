//! Reads a JSON body and streams its images to the object store. Memory holds the text and one part of one image.

use super::body_timeouts::BodyTimeouts;
use super::drain::drain;
use super::scanner::{ImageFields, Piece, Scanner};
use crate::application::error::upload_fault;
use crate::application::services::GenerationService;
use crate::application::submission::generation_request::Input;
use crate::compat::refusal::Refusal;
use crate::compat::state::CompatState;
use crate::inputs::{self, BodyUpload, CallInputs, StoredUpload, UploadFault};
use crate::web::body::{check_encoding, declared_length};
use actix_web::{HttpRequest, web};
use bytes::Bytes;
use futures_util::StreamExt as _;
use tintype_storage::domain::ids::AccountId;
use tokio::time::Instant;

/// Maximum bytes of a body (specification, "Limits").
pub const MAX_BODY_BYTES: u64 = 200_000_000;
/// Maximum images of a body, over all turns of a Gemini conversation. Each is an object in the store.
pub const MAX_BODY_IMAGES: usize = 64;

/// What to do with the images of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageHandling {
    Store(ImageFields),
    /// Of `inlineData`.
    Count,
}

/// A complete body.
pub struct ReceivedBody {
    /// The JSON text, in which a number replaces the data of each image.
    pub text: String,
    /// The images by number.
    pub images: Vec<BodyImage>,
}

/// An image of a body. An invalid image is an error only if the request uses it.
pub enum BodyImage {
    /// In the object store. Dropping it deletes it.
    Stored(Box<StoredUpload>),
    /// The reason, a sentence without its subject.
    Invalid(String),
    Counted,
    /// The request has used it.
    Taken,
}

impl ReceivedBody {
    /// Takes an image out of the body. Errors name it as `field`.
    ///
    /// # Errors
    /// The data is not a valid image.
    pub fn take(&mut self, number: usize, field: String) -> Result<Input, Refusal> {
        let image = self.images.get_mut(number);
        match image.map(|it| std::mem::replace(it, BodyImage::Taken)) {
            Some(BodyImage::Stored(stored)) => Ok(Input::Stored(stored)),
            Some(BodyImage::Invalid(message)) => Err(Refusal::field(field, message)),
            Some(BodyImage::Counted | BodyImage::Taken) | None => {
                Err(Refusal::field(field, "must be base64"))
            }
        }
    }
}

pub fn too_large() -> Refusal {
    Refusal::body(format!(
        "the request body may have at most {MAX_BODY_BYTES} bytes"
    ))
}

/// # Errors
/// The body is compressed, or its declared length is too large.
pub fn check_headers(request: &HttpRequest) -> Result<(), Refusal> {
    check_encoding(request)?;
    match declared_length(request.headers()) {
        Some(length) if length > MAX_BODY_BYTES => Err(too_large()),
        _ => Ok(()),
    }
}

/// # Errors
/// The body is too large, too slow, incomplete or not UTF-8; there is no memory for it; or the object store fails. The JSON is not
/// validated here.
pub async fn receive(
    request: &HttpRequest,
    mut payload: web::Payload,
    state: &CompatState,
    account: AccountId,
    images: ImageHandling,
    deadline: Instant,
) -> Result<ReceivedBody, Refusal> {
    let timeouts = BodyTimeouts::new(&state.settings, deadline);
    let read = async {
        check_headers(request)?;
        read(&mut payload, &state.generations, account, images, &timeouts).await
    };
    let outcome = timeouts.with_deadline(read).await;
    if outcome.is_err() {
        drain(&mut payload, timeouts.drain_deadline()).await;
    }
    outcome
}

async fn read(
    payload: &mut web::Payload,
    generations: &GenerationService,
    account: AccountId,
    images: ImageHandling,
    timeouts: &BodyTimeouts,
) -> Result<ReceivedBody, Refusal> {
    let fields = match images {
        ImageHandling::Store(fields) => fields,
        ImageHandling::Count => ImageFields::InlineData,
    };
    let mut scanner = Scanner::new(fields, generations.settings.config.server.max_body_bytes);
    let mut collector = ImageCollector {
        inputs: generations.inputs.of(account),
        timeouts,
        stores_images: images != ImageHandling::Count,
        current: Current::None,
        images: Vec::new(),
    };
    let (mut received_bytes, mut pieces) = (0, Vec::new());
    while let Some(chunk) = timeouts.read_step(payload.next()).await? {
        let broken = |error| Refusal::body(format!("the request body is incomplete: {error}"));
        let chunk = chunk.map_err(broken)?;
        received_bytes += chunk.len() as u64;
        if received_bytes > MAX_BODY_BYTES {
            return Err(too_large());
        }
        scanner
            .push(&chunk, &mut pieces)
            .map_err(|fault| Refusal::body(fault.to_string()))?;
        for piece in pieces.drain(..) {
            collector.take(piece).await?;
        }
    }
    let text = String::from_utf8(scanner.into_text())
        .map_err(|_| Refusal::body("the request body is not JSON: it is not UTF-8"))?;
    Ok(ReceivedBody {
        text,
        images: collector.images,
    })
}

struct ImageCollector<'a> {
    inputs: CallInputs<'a>,
    timeouts: &'a BodyTimeouts,
    stores_images: bool,
    current: Current,
    images: Vec<BodyImage>,
}

enum Current {
    None,
    Uploading(Box<BodyUpload>),
    /// The rest of the image is ignored.
    Skipping(BodyImage),
}

impl ImageCollector<'_> {
    async fn take(&mut self, piece: Piece) -> Result<(), Refusal> {
        let current = std::mem::replace(&mut self.current, Current::None);
        match (piece, current) {
            (Piece::Begin, _) => self.begin(),
            (Piece::Bytes(bytes), Current::Uploading(upload)) => {
                self.current = match self
                    .timeouts
                    .store_step(upload.push(Bytes::from(bytes)))
                    .await?
                {
                    Ok(upload) => Current::Uploading(Box::new(upload)),
                    Err(fault) => Current::Skipping(invalid_image(fault)?),
                };
                Ok(())
            }
            (Piece::End(Ok(())), Current::Uploading(upload)) => {
                let image = match self.timeouts.store_step(upload.finish()).await? {
                    Ok(stored) => BodyImage::Stored(Box::new(stored)),
                    Err(fault) => invalid_image(fault)?,
                };
                self.images.push(image);
                Ok(())
            }
            (Piece::End(Err(fault)), Current::Uploading(_)) => {
                self.images.push(BodyImage::Invalid(fault.to_string()));
                Ok(())
            }
            (Piece::End(_), Current::Skipping(image)) => {
                self.images.push(image);
                Ok(())
            }
            (_, current) => {
                self.current = current;
                Ok(())
            }
        }
    }

    fn begin(&mut self) -> Result<(), Refusal> {
        if !self.stores_images {
            self.current = Current::Skipping(BodyImage::Counted);
            return Ok(());
        }
        if self.images.len() == MAX_BODY_IMAGES {
            return Err(Refusal::body(format!(
                "the request has too many inline images; at most {MAX_BODY_IMAGES} are allowed in all"
            )));
        }
        self.current = Current::Uploading(Box::new(self.inputs.begin_upload()));
        Ok(())
    }
}

/// An invalid image is an error only if the request uses it; a failure of the object store ends the request.
fn invalid_image(fault: UploadFault) -> Result<BodyImage, Refusal> {
    match fault {
        UploadFault::Image(message) => Ok(BodyImage::Invalid(message)),
        fault @ (UploadFault::Store(_) | UploadFault::MemoryUnavailable(_)) => {
            Err(upload_fault(fault, inputs::FIELD).into())
        }
    }
}
