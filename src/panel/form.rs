//! JSON bodies of panel calls.

use crate::application::settings::Settings;
use crate::web::body;
use crate::web::problem::Problem;
use actix_web::{HttpRequest, web};
use tintype_api::Fields;

/// Reads a body of at most `max_bytes`, whose fields are all required strings.
///
/// # Errors
/// The body is too large or incomplete, or a field is missing, unknown or no string.
pub async fn strings<const N: usize>(
    max_bytes: usize,
    names: [&'static str; N],
    request: &HttpRequest,
    payload: web::Payload,
    settings: &Settings,
) -> Result<[String; N], Problem> {
    let body = body::read_json_within(max_bytes, request, payload, settings).await?;
    let mut fields = Fields::parse(&body).map_err(Problem::validation)?;
    let values = names.map(|name| fields.required_string(name));
    fields.finish(&names).map_err(Problem::validation)?;
    Ok(values.map(Option::unwrap_or_default))
}
