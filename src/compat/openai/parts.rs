//! The parts of a form, read while they arrive: texts into memory, pictures into the object store.

use super::wanted::Options;
use crate::compat::body::{MAX_BODY_BYTES, check_headers, late, too_large};
use crate::compat::call::Input;
use crate::compat::drain::drain;
use crate::compat::refusal::Refusal;
use crate::http::state::AppState;
use crate::inputs::{Handed, HandedFault};
use actix_multipart::{Field, Multipart};
use actix_web::error::PayloadError;
use actix_web::http::header;
use actix_web::{HttpRequest, web};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use object_store::path::Path;
use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use tintype_storage::domain::request::MAX_INPUTS;
use tokio::time::{Instant, timeout_at};

/// A form that has arrived whole.
pub struct Form {
    /// Its texts.
    pub options: Options,
    /// Its pictures, in their order.
    pub images: Vec<Input>,
}

/// The body, of which a copy is kept so that it can be read on when the form is given up.
#[derive(Clone)]
struct Counted {
    payload: Rc<RefCell<web::Payload>>,
    arrived: Rc<Cell<u64>>,
}

impl Stream for Counted {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.payload.borrow_mut().poll_next_unpin(cx);
        if let Poll::Ready(Some(Ok(chunk))) = &polled {
            self.arrived.set(self.arrived.get() + chunk.len() as u64);
        }
        polled
    }
}

/// Reads a form.
///
/// # Errors
/// It is too large, too slow or malformed, or holds something that is not taken.
pub async fn receive(
    request: &HttpRequest,
    payload: web::Payload,
    prefix: &Path,
    state: &AppState,
) -> Result<Form, Refusal> {
    let time = state.config.server.body_timeout();
    let until = Instant::now() + time;
    let mut body = Counted {
        payload: Rc::new(RefCell::new(payload)),
        arrived: Rc::default(),
    };
    let read = async {
        check_headers(request)?;
        check_type(request)?;
        read(request, body.clone(), prefix, state).await
    };
    let outcome = timeout_at(until, read).await;
    let outcome = outcome.unwrap_or_else(|_| Err(late(time)));
    if outcome.is_err() {
        drain(&mut body, until).await;
    }
    outcome
}

fn check_type(request: &HttpRequest) -> Result<(), Refusal> {
    let given = request.headers().get(header::CONTENT_TYPE);
    let is_form = given
        .and_then(|it| it.to_str().ok())
        .is_some_and(|it| it.to_ascii_lowercase().starts_with("multipart/form-data"));
    is_form.then_some(()).ok_or_else(|| {
        Refusal::body(
            "send the pictures as `Content-Type: multipart/form-data`, in parts named `image`",
        )
    })
}

async fn read(
    request: &HttpRequest,
    body: Counted,
    prefix: &Path,
    state: &AppState,
) -> Result<Form, Refusal> {
    let arrived = Rc::clone(&body.arrived);
    let mut form = Form {
        options: Options::default(),
        images: Vec::new(),
    };
    let mut room = state.config.server.max_body_bytes;
    let mut fields = Multipart::new(request.headers(), body);
    while let Some(field) = fields.next().await {
        let field = field.map_err(malformed)?;
        let name = field.name().unwrap_or_default().to_owned();
        match name.as_str() {
            "image" | "image[]" => {
                let number = form.images.len();
                if number == MAX_INPUTS {
                    let message = format!("has too many images; at most {MAX_INPUTS} are allowed");
                    return Err(Refusal::field("image", message));
                }
                let stem = prefix.clone().join(format!("h{number}"));
                let handed = Handed::begin(state.images.store(), stem);
                let held = picture(field, handed, &format!("image[{number}]"), &arrived).await?;
                form.images.push(held);
            }
            "mask" => {
                let message = "is not supported; say in the prompt what is to change";
                return Err(Refusal::field("mask", message));
            }
            _ => {
                let text = text(field, &name, &mut room, &arrived).await?;
                form.options.set(name, text);
            }
        }
    }
    Ok(form)
}

async fn next(field: &mut Field, arrived: &Cell<u64>) -> Result<Option<Bytes>, Refusal> {
    let chunk = field.next().await.transpose().map_err(malformed)?;
    if arrived.get() > MAX_BODY_BYTES {
        return Err(too_large());
    }
    Ok(chunk)
}

async fn picture(
    mut field: Field,
    mut handed: Handed,
    name: &str,
    arrived: &Cell<u64>,
) -> Result<Input, Refusal> {
    let refused = |fault: HandedFault| match fault {
        HandedFault::Image(message) => Refusal::field(name, message),
        fault @ HandedFault::Store(_) => fault.into(),
    };
    while let Some(chunk) = next(&mut field, arrived).await? {
        handed = handed.push(chunk).await.map_err(refused)?;
    }
    let held = handed.finish().await.map_err(refused)?;
    Ok(Input::Held(Box::new(held)))
}

/// `room` is what is left for texts, over all of them.
async fn text(
    mut field: Field,
    name: &str,
    room: &mut usize,
    arrived: &Cell<u64>,
) -> Result<String, Refusal> {
    let mut bytes = Vec::new();
    while let Some(chunk) = next(&mut field, arrived).await? {
        *room = room.checked_sub(chunk.len()).ok_or_else(|| {
            Refusal::body("the request has too much text; pictures go into parts named `image`")
        })?;
        bytes.extend_from_slice(&chunk);
    }
    String::from_utf8(bytes).map_err(|_| Refusal::field(name, "is not UTF-8"))
}

fn malformed(error: impl std::fmt::Display) -> Refusal {
    Refusal::body(format!("the request body is not a form: {error}"))
}
