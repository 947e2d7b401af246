//! The form of an upload: a file and its purpose.

use super::file_object::BATCH;
use crate::application::error::Error;
use crate::application::file_batches::uploaded_files::{MAX_FILE_BYTES, NewFile};
use crate::compat::openai::expires_after;
use crate::compat::openai::limited_body::{LimitedBody, check_form};
use crate::compat::refusal::Refusal;
use crate::compat::request_body::body_timeouts::BodyTimeouts;
use crate::compat::state::CompatState;
use crate::inputs::Reservation;
use crate::web::body::declared_length;
use actix_multipart::{Field, Multipart};
use actix_web::{HttpRequest, web};
use bytes::{Bytes, BytesMut};
use std::collections::BTreeMap;
use std::time::Duration;
use tintype_storage::domain::ids::AccountId;
use tokio::time::Instant;

/// Maximum bytes of the form besides the file.
const MAX_FORM_BYTES: usize = 64 << 10;
const MAX_BODY_BYTES: u64 = (MAX_FILE_BYTES + MAX_FORM_BYTES) as u64;
/// A growing buffer exists twice while it is copied.
const MEMORY_FACTOR: u64 = 2;
/// A longer file name is truncated.
const MAX_NAME_CHARS: usize = 255;
const LIFETIME: &str = "expires_after[seconds]";
const ANCHOR: &str = "expires_after[anchor]";
/// Text parts that are read. Others are ignored.
const KNOWN_PARTS: [&str; 3] = ["purpose", ANCHOR, LIFETIME];

/// A complete upload.
pub struct Upload {
    pub file: NewFile,
    /// Reserves the memory of the file.
    _reservation: Reservation,
}

/// # Errors
/// The upload is too large, too slow or malformed, a part is missing or invalid, or there is no memory for it in time.
pub async fn receive(
    request: &HttpRequest,
    payload: web::Payload,
    state: &CompatState,
    account: AccountId,
    deadline: Instant,
) -> Result<Upload, Refusal> {
    let timeouts = BodyTimeouts::new(&state.settings, deadline);
    let body = LimitedBody::new(payload, MAX_BODY_BYTES, too_large, timeouts);
    let read = async {
        let advice = "send the file as `Content-Type: multipart/form-data`, in parts named `file` and `purpose`";
        check_form(request, advice)?;
        let declared = declared_length(request.headers()).unwrap_or(MAX_BODY_BYTES);
        if declared > MAX_BODY_BYTES {
            return Err(too_large());
        }
        let inputs = &state.generations.inputs;
        let reservation = inputs.reserve(account, declared * MEMORY_FACTOR).await;
        let reservation = reservation.map_err(Error::from)?;
        let mut form = Form {
            body: body.clone(),
            file: None,
            texts: BTreeMap::new(),
            text_bytes_left: MAX_FORM_BYTES,
        };
        form.read(request).await?;
        Ok(Upload {
            file: form.file()?,
            _reservation: reservation,
        })
    };
    body.clone().drain_if_refused(read).await
}

fn too_large() -> Refusal {
    Refusal::field("file", format!("may have at most {MAX_FILE_BYTES} bytes"))
}

struct Form {
    body: LimitedBody,
    /// Name and content.
    file: Option<(String, Bytes)>,
    texts: BTreeMap<&'static str, String>,
    text_bytes_left: usize,
}

impl Form {
    async fn read(&mut self, request: &HttpRequest) -> Result<(), Refusal> {
        let mut fields = Multipart::new(request.headers(), self.body.clone());
        while let Some(field) = self.body.next(&mut fields).await? {
            let name = field.name().unwrap_or_default().to_owned();
            if name == "file" {
                if self.file.is_some() {
                    return Err(Refusal::field("file", "is given twice; send one file"));
                }
                let file_name = file_name(&field);
                let content = self.content(field, MAX_FILE_BYTES).await?;
                self.file = Some((file_name, content.ok_or_else(too_large)?));
                continue;
            }
            let text = self.content(field, self.text_bytes_left).await?;
            let too_much = || Refusal::body("the form has too much text besides its file");
            let text = text.ok_or_else(too_much)?;
            self.text_bytes_left -= text.len();
            if let Some(known) = KNOWN_PARTS.into_iter().find(|it| *it == name) {
                let text = String::from_utf8(text.to_vec())
                    .map_err(|_| Refusal::field(known, "is not UTF-8"))?;
                if self.texts.insert(known, text).is_some() {
                    return Err(Refusal::field(known, "is given twice; send it once"));
                }
            }
        }
        Ok(())
    }

    /// The content of a part; `None` if it has more than `max_bytes`.
    async fn content(&self, mut field: Field, max_bytes: usize) -> Result<Option<Bytes>, Refusal> {
        let mut content = BytesMut::new();
        while let Some(chunk) = self.body.next(&mut field).await? {
            if content.len() + chunk.len() > max_bytes {
                return Ok(None);
            }
            content.extend_from_slice(&chunk);
        }
        Ok(Some(content.freeze()))
    }

    fn file(self) -> Result<NewFile, Refusal> {
        match self.texts.get("purpose").map(String::as_str) {
            Some(BATCH) => {}
            Some(_) => {
                return Err(Refusal::field(
                    "purpose",
                    "must be `batch`; send images in the call that edits them",
                ));
            }
            None => return Err(Refusal::missing("purpose", "send `batch`")),
        }
        let lifetime = self.lifetime()?;
        let (name, content) = self
            .file
            .ok_or_else(|| Refusal::missing("file", "send a part of this name"))?;
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
    let name = field.content_disposition().and_then(|it| it.get_filename());
    let name = name.unwrap_or("upload").chars();
    let name = name.filter(|it| !it.is_control()).take(MAX_NAME_CHARS);
    name.collect()
}
