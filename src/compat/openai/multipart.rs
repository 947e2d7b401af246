//! Reads the form of an edit while it arrives: texts into memory, images into the object store.

use super::limited_body::{LimitedBody, check_form};
use super::options::{MARKUP, RawOptions, unsupported_markup};
use crate::application::error::upload_fault;
use crate::application::submission::generation_request::Input;
use crate::compat::refusal::Refusal;
use crate::compat::request_body::body::{MAX_BODY_BYTES, too_large};
use crate::compat::request_body::body_timeouts::BodyTimeouts;
use crate::compat::state::CompatState;
use crate::inputs::{BodyUpload, CallInputs};
use crate::web::body::media_type;
use actix_multipart::{Field, Multipart};
use actix_web::{HttpRequest, web};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::request::MAX_INPUTS;
use tokio::time::Instant;

/// Memory counted for each part in addition to its bytes.
const PART_BYTES: usize = 64;

/// A complete edit, sent as a form or as JSON.
pub struct Form {
    pub options: RawOptions,
    pub images: Vec<Input>,
    pub mask: Option<Input>,
}

/// # Errors
/// The form is too large, too slow or malformed; a part is invalid; there is no memory for it in time; or the object store fails.
pub async fn receive(
    request: &HttpRequest,
    payload: web::Payload,
    state: &CompatState,
    account: AccountId,
    deadline: Instant,
) -> Result<Form, Refusal> {
    let timeouts = BodyTimeouts::new(&state.settings, deadline);
    let body = LimitedBody::new(payload, MAX_BODY_BYTES, too_large, timeouts);
    let read = async {
        // JSON with a wrong charset gets here.
        media_type(request)?;
        let advice = "send the images as `Content-Type: multipart/form-data`, in parts named `image`, or as JSON in `images`";
        check_form(request, advice)?;
        let reader = FormReader {
            body: body.clone(),
            inputs: state.generations.inputs.of(account),
            text_bytes_left: state.settings.config.server.max_body_bytes,
        };
        reader.read(request).await
    };
    body.clone().drain_if_refused(read).await
}

struct FormReader<'a> {
    body: LimitedBody,
    inputs: CallInputs<'a>,
    /// Remaining bytes for all texts together.
    text_bytes_left: usize,
}

impl FormReader<'_> {
    async fn read(mut self, request: &HttpRequest) -> Result<Form, Refusal> {
        let mut form = Form {
            options: RawOptions::default(),
            images: Vec::new(),
            mask: None,
        };
        let mut fields = Multipart::new(request.headers(), self.body.clone());
        while let Some(field) = self.body.next(&mut fields).await? {
            let name = field.name().unwrap_or_default().to_owned();
            match name.as_str() {
                "image" | "image[]" => {
                    let number = form.images.len();
                    if number == MAX_INPUTS {
                        let message = format!(
                            "is sent more than {MAX_INPUTS} times; send at most {MAX_INPUTS} images"
                        );
                        return Err(Refusal::field("image", message));
                    }
                    let upload = self.inputs.begin_upload();
                    let name = format!("image[{number}]");
                    let image = self.image(field, upload, &name).await?;
                    form.images.push(image);
                }
                "mask" => {
                    if form.mask.is_some() {
                        return Err(Refusal::field("mask", "is given twice; send it once"));
                    }
                    let upload = self.inputs.begin_upload();
                    form.mask = Some(self.image(field, upload, "mask").await?);
                }
                MARKUP => return Err(unsupported_markup()),
                _ => {
                    let text = self.text(field, &name).await?;
                    form.options.set(&name, text)?;
                }
            }
        }
        Ok(form)
    }

    async fn image(
        &self,
        mut field: Field,
        mut upload: BodyUpload,
        name: &str,
    ) -> Result<Input, Refusal> {
        let refused = |fault| upload_fault(fault, name);
        while let Some(chunk) = self.body.next(&mut field).await? {
            let pushed = self.body.timeouts.store_step(upload.push(chunk)).await?;
            upload = pushed.map_err(refused)?;
        }
        let held = self.body.timeouts.store_step(upload.finish()).await?;
        Ok(Input::Stored(Box::new(held.map_err(refused)?)))
    }

    async fn text(&mut self, mut field: Field, name: &str) -> Result<String, Refusal> {
        // An empty part needs memory too.
        self.spend(name.len() + PART_BYTES)?;
        let mut bytes = Vec::new();
        while let Some(chunk) = self.body.next(&mut field).await? {
            self.spend(chunk.len())?;
            bytes.extend_from_slice(&chunk);
        }
        String::from_utf8(bytes).map_err(|_| {
            let message = "is not UTF-8; send images in parts named `image` or `image[]`, and a mask as `mask`";
            Refusal::field(name, message)
        })
    }

    fn spend(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.text_bytes_left = self.text_bytes_left.checked_sub(bytes).ok_or_else(|| {
            Refusal::body("the form has too much text; send images in parts named `image`")
        })?;
        Ok(())
    }
}
