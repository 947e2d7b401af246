//! The input images of a call, brought together in the object store.

use super::call::Input;
use super::refusal::{Kind, Refusal};
use crate::application::state::AppState;
use crate::inputs::{self, Held, IngestError, InputImage};
use object_store::path::Path;
use tintype_storage::domain::job;

/// An input in the object store.
pub enum Gathered {
    /// It came with the request. Dropping it takes it back.
    Held(Box<Held>),
    /// It was fetched.
    Fetched(InputImage),
}

impl Gathered {
    /// What it is.
    pub fn image(&self) -> &InputImage {
        match self {
            Self::Held(held) => held.image(),
            Self::Fetched(image) => image,
        }
    }

    /// Leaves it in the store.
    pub fn keep(self) {
        if let Self::Held(held) = self {
            held.keep();
        }
    }
}

/// Fetches what is to be fetched; all inputs in their order.
///
/// # Errors
/// They are too large together, one is not to be had, or the object store fails.
pub async fn gather(
    state: &AppState,
    prefix: &Path,
    inputs: Vec<Input>,
) -> Result<Vec<Gathered>, Refusal> {
    let (mut urls, mut fields, mut held_bytes) = (Vec::new(), Vec::new(), 0);
    for input in &inputs {
        match input {
            Input::Held(held) => held_bytes += held.image().bytes,
            Input::Url { url, field } => {
                urls.push(url.clone());
                fields.push(field.as_str());
            }
        }
    }
    let mut limits = state.input_limits();
    let most = limits.max_total_bytes;
    let too_much = || {
        Refusal::body(format!(
            "the input images must not exceed {most} bytes over all"
        ))
    };
    if held_bytes > most {
        return Err(too_much());
    }
    limits.max_total_bytes = most - held_bytes;
    let mut fetched = Vec::new();
    if !urls.is_empty() {
        let store = state.images.store();
        let outcome = inputs::ingest(&state.egress, store, prefix, &urls, &limits).await;
        fetched = outcome.map_err(|error| refused_fetch(error, &fields, too_much))?;
    }
    let mut fetched = fetched.into_iter();
    let in_order = inputs.into_iter().filter_map(|input| match input {
        Input::Held(held) => Some(Gathered::Held(held)),
        Input::Url { .. } => fetched.next().map(Gathered::Fetched),
    });
    Ok(in_order.collect())
}

/// The first fault, under the name that the field has here. The bound that was passed is the one over all inputs: what is left
/// of it for those that are fetched would tell the caller nothing.
fn refused_fetch(
    error: IngestError,
    fields: &[&str],
    too_much: impl FnOnce() -> Refusal,
) -> Refusal {
    match error {
        IngestError::Invalid(faults) => {
            let Some((name, message)) = faults.into_iter().next() else {
                return Refusal::body("an input image could not be fetched");
            };
            let entry = (0..fields.len()).find(|at| name == format!("{}[{at}]", inputs::FIELD));
            match entry {
                Some(at) => Refusal::field(fields[at], message),
                None => too_much(),
            }
        }
        IngestError::Store(fault) => {
            tracing::error!(error = %fault, "input images could not be stored");
            let message = "the input images could not be stored; try again";
            Refusal::new(Kind::Unavailable, message)
        }
    }
}

/// As a job's record has it.
pub fn input_of(image: &InputImage) -> job::InputImage {
    job::InputImage {
        key: image.key.clone(),
        bytes: image.bytes,
        width: image.width,
        height: image.height,
    }
}
