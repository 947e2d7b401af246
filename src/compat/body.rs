//! Reads the JSON body of a call while its pictures are streamed to the object store: memory holds the text and one part of one
//! picture.

use super::body_timeouts::BodyTimeouts;
use super::drain::drain;
use super::refusal::Refusal;
use super::scanner::{Piece, ScanFault, Scanner};
use crate::application::state::AppState;
use crate::compat::state::CompatState;
use crate::inputs::{InputLimits, StagedUpload, StoredUpload, UploadFault};
use actix_web::http::header;
use actix_web::{HttpRequest, web};
use bytes::Bytes;
use futures_util::StreamExt as _;
use object_store::path::Path;
use tintype_storage::domain::ids::AccountId;
use tokio::time::Instant;
use uuid::Uuid;

/// Bytes of a body (specification, "Limits").
pub const MAX_BODY_BYTES: u64 = 200_000_000;
/// Pictures of one body, over all turns of a conversation. Each is an object in the store.
pub const MAX_BODY_PICTURES: usize = 64;

/// What becomes of the pictures in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pictures {
    /// They go to the object store.
    Stored,
    /// They are only counted.
    Passed,
}

/// A body that has arrived whole.
pub struct Received {
    /// The JSON text, with a number in place of the data of each picture.
    pub text: String,
    /// The pictures by their numbers.
    pub pictures: Vec<BodyPicture>,
}

/// A picture of a body. A fault counts only when the request uses the picture.
pub enum BodyPicture {
    /// In the object store. Dropping it deletes it.
    Stored(Box<StoredUpload>),
    /// Refused for this reason, which follows the name of the field.
    Faulty(String),
    /// Only counted.
    Passed,
}

/// Where the objects of one call lie.
pub fn prefix() -> Path {
    Path::from(format!("inputs/{}", Uuid::new_v4()))
}

/// What is refused for being too large.
pub fn too_large() -> Refusal {
    Refusal::body(format!(
        "the request body may have at most {MAX_BODY_BYTES} bytes"
    ))
}

/// Is the body sent as it is, and not said to be too large?
///
/// # Errors
/// What is wrong with its headers.
pub fn check_headers(request: &HttpRequest) -> Result<(), Refusal> {
    let headers = request.headers();
    let mut encodings = headers.get_all(header::CONTENT_ENCODING);
    if encodings.any(|it| !it.as_bytes().eq_ignore_ascii_case(b"identity")) {
        let message = "Content-Encoding is not supported; send the body as it is";
        return Err(Refusal::body(message));
    }
    let declared = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|it| it.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|length| length > MAX_BODY_BYTES) {
        return Err(too_large());
    }
    Ok(())
}

/// Reads a body, at most until `until`.
///
/// # Errors
/// It is too large, too slow, breaks off, or is no text in UTF-8; there is no memory for it; or the object store fails. What it
/// holds is not judged here.
pub async fn receive(
    request: &HttpRequest,
    mut payload: web::Payload,
    state: &CompatState,
    account: AccountId,
    pictures: Pictures,
    until: Instant,
) -> Result<Received, Refusal> {
    let timeouts = BodyTimeouts::new(state, until);
    let read = async {
        check_headers(request)?;
        let limits = state.input_limits(account);
        read(&mut payload, state, &limits, pictures, timeouts).await
    };
    let outcome = timeouts.whole(read).await;
    if outcome.is_err() {
        drain(&mut payload, timeouts.end()).await;
    }
    outcome
}

async fn read(
    payload: &mut web::Payload,
    state: &AppState,
    limits: &InputLimits,
    pictures: Pictures,
    timeouts: BodyTimeouts,
) -> Result<Received, Refusal> {
    let mut scanner = Scanner::new(state.config.server.max_body_bytes);
    let mut collector = PictureCollector {
        state,
        limits,
        timeouts,
        prefix: prefix(),
        keeps: pictures == Pictures::Stored,
        current: Current::Nothing,
        taken: Vec::new(),
    };
    let (mut arrived, mut pieces) = (0, Vec::new());
    while let Some(chunk) = timeouts.arrival(payload.next()).await? {
        let broken =
            |error| Refusal::body(format!("the request body did not arrive whole: {error}"));
        let chunk = chunk.map_err(broken)?;
        arrived += chunk.len() as u64;
        if arrived > MAX_BODY_BYTES {
            return Err(too_large());
        }
        scanner.push(&chunk, &mut pieces).map_err(unscannable)?;
        for piece in pieces.drain(..) {
            collector.take(piece).await?;
        }
    }
    let text = String::from_utf8(scanner.into_text())
        .map_err(|_| Refusal::body("the request body is not JSON: it is not UTF-8"))?;
    Ok(Received {
        text,
        pictures: collector.taken,
    })
}

fn unscannable(fault: ScanFault) -> Refusal {
    Refusal::body(fault.to_string())
}

/// Collects the pictures of a body, one after the other.
struct PictureCollector<'a> {
    state: &'a AppState,
    limits: &'a InputLimits,
    timeouts: BodyTimeouts,
    prefix: Path,
    keeps: bool,
    current: Current,
    taken: Vec<BodyPicture>,
}

enum Current {
    Nothing,
    Arriving(Box<StagedUpload>),
    /// The rest of it is ignored.
    Over(BodyPicture),
}

impl PictureCollector<'_> {
    async fn take(&mut self, piece: Piece) -> Result<(), Refusal> {
        let current = std::mem::replace(&mut self.current, Current::Nothing);
        match (piece, current) {
            (Piece::Begin, _) => self.begin(),
            (Piece::Bytes(bytes), Current::Arriving(upload)) => {
                self.current = match self
                    .timeouts
                    .storing(upload.push(Bytes::from(bytes)))
                    .await?
                {
                    Ok(upload) => Current::Arriving(Box::new(upload)),
                    Err(fault) => Current::Over(faulty(fault)?),
                };
                Ok(())
            }
            (Piece::End(Ok(())), Current::Arriving(upload)) => {
                let taken = match self.timeouts.storing(upload.finish()).await? {
                    Ok(held) => BodyPicture::Stored(Box::new(held)),
                    Err(fault) => faulty(fault)?,
                };
                self.taken.push(taken);
                Ok(())
            }
            (Piece::End(Err(fault)), Current::Arriving(_)) => {
                self.taken.push(BodyPicture::Faulty(fault.to_string()));
                Ok(())
            }
            (Piece::End(_), Current::Over(taken)) => {
                self.taken.push(taken);
                Ok(())
            }
            (_, current) => {
                self.current = current;
                Ok(())
            }
        }
    }

    fn begin(&mut self) -> Result<(), Refusal> {
        let number = self.taken.len();
        if !self.keeps {
            self.current = Current::Over(BodyPicture::Passed);
            return Ok(());
        }
        if number == MAX_BODY_PICTURES {
            return Err(Refusal::body(format!(
                "the request has too many inline images; at most {MAX_BODY_PICTURES} are allowed over all turns"
            )));
        }
        let stem = self.prefix.clone().join(format!("h{number}"));
        let upload = StagedUpload::begin(self.state.images.store(), stem, self.limits);
        self.current = Current::Arriving(Box::new(upload));
        Ok(())
    }
}

/// A fault of the caller's counts once the picture is used; one of the object store ends the call.
fn faulty(fault: UploadFault) -> Result<BodyPicture, Refusal> {
    match fault {
        UploadFault::Image(message) => Ok(BodyPicture::Faulty(message)),
        fault @ (UploadFault::Store(_) | UploadFault::MemoryUnavailable(_)) => Err(fault.into()),
    }
}
