//! Response bodies of text and base64 images. Images are read from the object store while they are sent, so the memory of a response
//! does not depend on their size.

use crate::application::services::JobService;
use crate::objects::ObjectError;
use actix_web::body::{BodyStream, BoxBody, SizedStream};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt as _};
use std::mem;
use std::sync::LazyLock;
use tintype_imaging::{HeaderReader, ImageKind};
use uuid::Uuid;

/// A piece of a body. An error aborts the response.
pub type Piece = Result<Bytes, object_store::Error>;

/// An image in the object store, opened for reading.
pub struct StoredImage {
    bytes: u64,
    first: Option<Piece>,
    rest: BoxStream<'static, Piece>,
    /// May pixels be transparent?
    pub has_alpha: bool,
}

impl StoredImage {
    /// # Errors
    /// The image is no longer stored, or the object store fails.
    pub async fn open(jobs: &JobService, key: &str) -> Result<Self, ObjectError> {
        let opened = jobs.objects.reader(key).await?;
        let bytes = opened.meta.size;
        let mut rest = opened.into_stream();
        let first = rest.next().await;
        let header = first.as_ref().and_then(|it| it.as_ref().ok());
        Ok(Self {
            bytes,
            has_alpha: header.is_some_and(|it| has_alpha(it)),
            first,
            rest,
        })
    }

    fn base64_length(&self) -> u64 {
        self.bytes.div_ceil(3) * 4
    }

    fn base64_pieces(self) -> BoxStream<'static, Piece> {
        encode_base64(stream::iter(self.first).chain(self.rest).boxed()).boxed()
    }
}

/// `first` is the beginning of a file. PNG and WebP declare transparency there; only a long colour profile moves the list of transparent
/// colours of a PNG further back.
fn has_alpha(first: &[u8]) -> bool {
    ImageKind::from_bytes(first).is_some_and(|kind| {
        let mut header = HeaderReader::new(kind);
        header.push(first).is_ok() && header.has_alpha()
    })
}

/// Stands for the base64 text of an image in a JSON body. Random, so that no text of a caller contains it.
pub fn place() -> &'static str {
    static PLACE: LazyLock<String> = LazyLock::new(|| Uuid::new_v4().simple().to_string());
    &PLACE
}

/// The parts of a text, with the images in the order of their [`place`]s.
pub fn parts(text: &str, images: impl IntoIterator<Item = StoredImage>) -> Vec<Part> {
    let mut images = images.into_iter();
    let mut parts = Vec::new();
    for piece in text.split(place()) {
        parts.push(Part::Text(piece.to_owned()));
        parts.extend(images.next().map(|image| Part::Image(Box::new(image))));
    }
    parts
}

pub enum Part {
    Text(String),
    /// Sent as base64.
    Image(Box<StoredImage>),
}

/// A body with `Content-Length`; for `sent` see [`on_sent`].
pub fn sized_body(parts: Vec<Part>, sent: impl FnOnce() + 'static) -> BoxBody {
    let length = parts.iter().map(|part| match part {
        Part::Text(text) => text.len() as u64,
        Part::Image(image) => image.base64_length(),
    });
    let length = length.sum();
    BoxBody::new(SizedStream::new(length, on_sent(pieces(parts), sent)))
}

pub fn pieces(parts: Vec<Part>) -> BoxStream<'static, Piece> {
    let each = |part| match part {
        Part::Text(text) => stream::iter([Ok(Bytes::from(text))]).boxed(),
        Part::Image(image) => image.base64_pieces(),
    };
    stream::iter(parts).flat_map(each).boxed()
}

/// A body without `Content-Length`.
pub fn streamed_body(pieces: impl Stream<Item = Piece> + 'static) -> BoxBody {
    BoxBody::new(BodyStream::new(pieces))
}

/// Calls `sent` after the last piece. Drops it uncalled if the client disconnects before, or if the object store fails.
pub fn on_sent(
    pieces: BoxStream<'static, Piece>,
    sent: impl FnOnce() + 'static,
) -> impl Stream<Item = Piece> {
    stream::unfold(Some((pieces, sent)), |rest| async move {
        let (mut pieces, sent) = rest?;
        match pieces.next().await {
            Some(Ok(piece)) => Some((Ok(piece), Some((pieces, sent)))),
            Some(Err(error)) => Some((Err(error), None)),
            None => {
                sent();
                None
            }
        }
    })
}

/// Base64 encodes groups of three bytes, so up to two bytes wait for the next piece.
fn encode_base64(bytes: BoxStream<'static, Piece>) -> impl Stream<Item = Piece> + Send {
    let ended = stream::iter([None]);
    let all = bytes.map(Some).chain(ended);
    all.scan(Vec::new(), |pending: &mut Vec<u8>, piece| {
        let text = match piece {
            None => Ok(STANDARD.encode(mem::take(pending))),
            Some(Err(error)) => Err(error),
            Some(Ok(bytes)) => {
                pending.extend_from_slice(&bytes);
                let rest = pending.split_off(pending.len() - pending.len() % 3);
                Ok(STANDARD.encode(mem::replace(pending, rest)))
            }
        };
        std::future::ready(Some(text.map(Bytes::from)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pieces_of_any_size_encode_to_the_same_text() {
        for length in [0, 1, 2, 3, 4, 1_000, 1_001] {
            let bytes: Vec<u8> = (0..length).map(|at| at as u8).collect();
            for piece in [1, 2, 3, 7, 4_096] {
                let pieces: Vec<Piece> = bytes
                    .chunks(piece)
                    .map(|it| Ok(Bytes::copy_from_slice(it)))
                    .collect();
                let text: Vec<Bytes> = encode_base64(stream::iter(pieces).boxed())
                    .map(Result::unwrap)
                    .collect()
                    .await;
                assert_eq!(text.concat(), STANDARD.encode(&bytes).as_bytes());
            }
        }
    }

    #[tokio::test]
    async fn each_image_is_in_its_place() {
        let image = |bytes: &'static [u8]| StoredImage {
            bytes: bytes.len() as u64,
            first: Some(Ok(Bytes::from_static(bytes))),
            rest: stream::empty().boxed(),
            has_alpha: false,
        };
        let text = format!("a {} b {} c", place(), place());
        let parts = parts(&text, [image(b"one"), image(b"two")]);
        let sent: Vec<Bytes> = pieces(parts).map(Result::unwrap).collect().await;
        let (one, two) = (STANDARD.encode("one"), STANDARD.encode("two"));
        assert_eq!(sent.concat(), format!("a {one} b {two} c").as_bytes());
    }

    #[tokio::test]
    async fn an_error_aborts_the_text() {
        let fault = || {
            Err(object_store::Error::NotImplemented {
                operation: "it".into(),
                implementer: "it".into(),
            })
        };
        let pieces = [Ok(Bytes::from_static(b"abc")), fault()];
        let outcome: Vec<bool> = encode_base64(stream::iter(pieces).boxed())
            .map(|piece| piece.is_ok())
            .collect()
            .await;
        assert_eq!(outcome[..2], [true, false]);
    }
}
