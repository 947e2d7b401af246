//! Bodies made of text and of pictures in base64, read from the object store while they are sent: an answer takes no more
//! memory for a large picture than for a small one.

use crate::application::state::AppState;
use crate::images::ImagesError;
use actix_web::body::{BodyStream, BoxBody, SizedStream};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt as _};
use object_store::GetResult;
use std::mem;

/// A piece of a body, or why it breaks off.
pub type Piece = Result<Bytes, object_store::Error>;

/// A picture that has been found in the store.
pub struct Picture(GetResult);

impl Picture {
    /// Finds it.
    ///
    /// # Errors
    /// It is kept no more, or the store fails.
    pub async fn open(state: &AppState, key: &str) -> Result<Self, ImagesError> {
        state.images.reader(key).await.map(Self)
    }

    /// Characters of its base64 text.
    fn characters(&self) -> u64 {
        self.0.meta.size.div_ceil(3) * 4
    }

    /// Its base64 text, in pieces.
    fn text(self) -> BoxStream<'static, Piece> {
        encoded(self.0.into_stream()).boxed()
    }
}

/// A part of a body.
pub enum Part {
    /// Text as it is.
    Text(String),
    /// A picture in base64.
    Picture(Box<Picture>),
}

/// The parts one after the other, as a body whose length is known; see [`followed_by`].
pub fn sized(parts: Vec<Part>, sent: impl FnOnce() + 'static) -> BoxBody {
    let length = parts.iter().map(|part| match part {
        Part::Text(text) => text.len() as u64,
        Part::Picture(picture) => picture.characters(),
    });
    let length = length.sum();
    BoxBody::new(SizedStream::new(length, followed_by(pieces(parts), sent)))
}

/// The parts one after the other.
pub fn pieces(parts: Vec<Part>) -> BoxStream<'static, Piece> {
    let each = |part| match part {
        Part::Text(text) => stream::iter([Ok(Bytes::from(text))]).boxed(),
        Part::Picture(picture) => picture.text(),
    };
    stream::iter(parts).flat_map(each).boxed()
}

/// A body that goes on for as long as `pieces` does.
pub fn streamed(pieces: impl Stream<Item = Piece> + 'static) -> BoxBody {
    BoxBody::new(BodyStream::new(pieces))
}

/// The pieces; `sent` is called after the last of them. It is dropped uncalled where the client goes away before, or the object
/// store fails.
pub fn followed_by(
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

/// Encodes bytes that come in pieces: base64 takes them by threes.
fn encoded(bytes: BoxStream<'static, Piece>) -> impl Stream<Item = Piece> + Send {
    let ended = stream::iter([None]);
    let all = bytes.map(Some).chain(ended);
    all.scan(Vec::new(), |left: &mut Vec<u8>, piece| {
        let text = match piece {
            None => Ok(STANDARD.encode(mem::take(left))),
            Some(Err(error)) => Err(error),
            Some(Ok(bytes)) => {
                left.extend_from_slice(&bytes);
                let rest = left.split_off(left.len() - left.len() % 3);
                Ok(STANDARD.encode(mem::replace(left, rest)))
            }
        };
        std::future::ready(Some(text.map(Bytes::from)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pieces_of_any_size_give_one_text() {
        for length in [0, 1, 2, 3, 4, 1_000, 1_001] {
            let bytes: Vec<u8> = (0..length).map(|at| at as u8).collect();
            for piece in [1, 2, 3, 7, 4_096] {
                let pieces: Vec<Piece> = bytes
                    .chunks(piece)
                    .map(|it| Ok(Bytes::copy_from_slice(it)))
                    .collect();
                let text: Vec<Bytes> = encoded(stream::iter(pieces).boxed())
                    .map(Result::unwrap)
                    .collect()
                    .await;
                assert_eq!(text.concat(), STANDARD.encode(&bytes).as_bytes());
            }
        }
    }

    #[tokio::test]
    async fn a_fault_breaks_the_text_off() {
        let fault = || {
            Err(object_store::Error::NotImplemented {
                operation: "it".into(),
                implementer: "it".into(),
            })
        };
        let pieces = [Ok(Bytes::from_static(b"abc")), fault()];
        let outcome: Vec<bool> = encoded(stream::iter(pieces).boxed())
            .map(|piece| piece.is_ok())
            .collect()
            .await;
        assert_eq!(outcome[..2], [true, false]);
    }
}
