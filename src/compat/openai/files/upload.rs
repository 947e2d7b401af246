//! The form of an upload: a file and what it is for.

use super::file_object::BATCH;
use crate::application::error::Error;
use crate::application::uploaded_files::{MAX_FILE_BYTES, NewFile};
use crate::compat::body::check_headers;
use crate::compat::body_timeouts::BodyTimeouts;
use crate::compat::drain::drain;
use crate::compat::openai::counted_body::{CountedBody, is_form};
use crate::compat::openai::expires_after;
use crate::compat::refusal::Refusal;
use crate::compat::state::CompatState;
use crate::inputs::Reservation;
use crate::web::body::declared_length;
use actix_multipart::{Field, Multipart};
use actix_web::{HttpRequest, web};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use std::collections::BTreeMap;
use std::time::Duration;
use tintype_storage::domain::ids::AccountId;
use tokio::time::Instant;

/// Bytes of the form besides the file.
const MAX_FORM_BYTES: usize = 64 << 10;
const MAX_BODY_BYTES: u64 = (MAX_FILE_BYTES + MAX_FORM_BYTES) as u64;
/// A buffer that grows is held twice for a moment.
const MEMORY_FACTOR: u64 = 2;
/// Characters of a file's name that are kept.
const MAX_NAME_CHARS: usize = 255;
const LIFETIME: &str = "expires_after[seconds]";
const ANCHOR: &str = "expires_after[anchor]";
/// The parts that are read. Others are ignored.
const READ: [&str; 3] = ["purpose", ANCHOR, LIFETIME];

/// A file that has arrived whole.
pub struct Arrived {
    pub file: NewFile,
    /// The memory that holds it.
    _room: Reservation,
}

/// Reads an upload, at most until `until`.
///
/// # Errors
/// It is too large, too slow or malformed, lacks a part, or has one that cannot be; or there is no memory for it in time.
pub async fn receive(
    request: &HttpRequest,
    payload: web::Payload,
    state: &CompatState,
    account: AccountId,
    until: Instant,
) -> Result<Arrived, Refusal> {
    let mut body = CountedBody::new(payload, MAX_BODY_BYTES);
    let timeouts = BodyTimeouts::new(state, until);
    let read = async {
        check_headers(request)?;
        if !is_form(request) {
            let message = "send the file as `Content-Type: multipart/form-data`, in parts named `file` and `purpose`";
            return Err(Refusal::body(message));
        }
        let declared = declared_length(request.headers()).unwrap_or(MAX_BODY_BYTES);
        if declared > MAX_BODY_BYTES {
            return Err(too_large());
        }
        let memory = state.input_limits(account).memory;
        let room = memory.reserve_whole(declared * MEMORY_FACTOR).await;
        let room = room.map_err(Error::from)?;
        let mut form = Form {
            body: body.clone(),
            timeouts,
            file: None,
            texts: BTreeMap::new(),
            text_bytes_left: MAX_FORM_BYTES,
        };
        form.read(request).await?;
        Ok(Arrived {
            file: form.file()?,
            _room: room,
        })
    };
    let outcome = timeouts.whole(read).await;
    if outcome.is_err() {
        body.refuse();
        drain(&mut body, timeouts.end()).await;
    }
    outcome
}

fn too_large() -> Refusal {
    Refusal::field("file", format!("may have at most {MAX_FILE_BYTES} bytes"))
}

/// A form that is being read.
struct Form {
    body: CountedBody,
    timeouts: BodyTimeouts,
    /// Name and content.
    file: Option<(String, Bytes)>,
    texts: BTreeMap<&'static str, String>,
    text_bytes_left: usize,
}

impl Form {
    async fn read(&mut self, request: &HttpRequest) -> Result<(), Refusal> {
        let mut fields = Multipart::new(request.headers(), self.body.clone());
        while let Some(field) = self.timeouts.arrival(fields.next()).await? {
            let field = field.map_err(|error| self.malformed(error))?;
            let name = field.name().unwrap_or_default().to_owned();
            if name == "file" {
                if self.file.is_some() {
                    return Err(Refusal::field("file", "is given twice; send one file"));
                }
                let shown = file_name(&field);
                let content = self.content(field, MAX_FILE_BYTES).await?;
                self.file = Some((shown, content.ok_or_else(too_large)?));
                continue;
            }
            let text = self.content(field, self.text_bytes_left).await?;
            let too_much = || Refusal::body("the form has too much text beside its file");
            let text = text.ok_or_else(too_much)?;
            self.text_bytes_left -= text.len();
            if let Some(known) = READ.into_iter().find(|it| *it == name) {
                let text = String::from_utf8(text.to_vec())
                    .map_err(|_| Refusal::field(known, "is not UTF-8"))?;
                if self.texts.insert(known, text).is_some() {
                    return Err(Refusal::field(known, "is given twice; send it once"));
                }
            }
        }
        Ok(())
    }

    /// A part; `None` where it has more than `most` bytes.
    async fn content(&self, mut field: Field, most: usize) -> Result<Option<Bytes>, Refusal> {
        let mut content = BytesMut::new();
        while let Some(chunk) = self.timeouts.arrival(field.next()).await? {
            let chunk = chunk.map_err(|error| self.malformed(error))?;
            if content.len() + chunk.len() > most {
                return Ok(None);
            }
            content.extend_from_slice(&chunk);
        }
        Ok(Some(content.freeze()))
    }

    fn malformed(&self, error: impl std::fmt::Display) -> Refusal {
        if self.body.is_too_large() {
            return too_large();
        }
        Refusal::body(format!("the request body is not a form: {error}"))
    }

    fn file(self) -> Result<NewFile, Refusal> {
        match self.texts.get("purpose").map(String::as_str) {
            Some(BATCH) => {}
            Some(_) => return Err(Refusal::field("purpose", "must be `batch`")),
            None => return Err(Refusal::field("purpose", "is required: send `batch`")),
        }
        let lifetime = self.lifetime()?;
        let (name, content) = self
            .file
            .ok_or_else(|| Refusal::field("file", "is required: send a part of this name"))?;
        Ok(NewFile {
            name,
            content,
            lifetime,
        })
    }

    fn lifetime(&self) -> Result<Option<Duration>, Refusal> {
        let (anchor, seconds) = (self.texts.get(ANCHOR), self.texts.get(LIFETIME));
        if anchor.is_none() && seconds.is_none() {
            return Ok(None);
        }
        let (anchor, seconds) = (anchor.map(String::as_str), seconds.map(String::as_str));
        let seconds = expires_after::read("expires_after", anchor, seconds)?;
        Ok(Some(Duration::from_secs(u64::from(seconds))))
    }
}

fn file_name(field: &Field) -> String {
    let given = field.content_disposition().and_then(|it| it.get_filename());
    let name = given.unwrap_or("upload").chars();
    let name = name.filter(|it| !it.is_control()).take(MAX_NAME_CHARS);
    name.collect()
}
