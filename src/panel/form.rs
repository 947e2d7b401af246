//! Small JSON bodies of panel calls.

use crate::application::settings::Settings;
use crate::web::body;
use crate::web::problem::Problem;
use actix_web::{HttpRequest, web};
use tintype_api::Fields;

/// Fits the longest email address and two of the longest passwords with every character escaped.
const MAX_BYTES: usize = 8 << 10;

/// Reads a body whose fields are all required strings.
pub async fn strings<const N: usize>(
    names: [&'static str; N],
    request: &HttpRequest,
    payload: web::Payload,
    settings: &Settings,
) -> Result<[String; N], Problem> {
    let body = body::read_json_within(MAX_BYTES, request, payload, settings).await?;
    let mut fields = Fields::parse(&body).map_err(Problem::validation)?;
    let values = names.map(|name| fields.required_string(name));
    fields.finish(&names).map_err(Problem::validation)?;
    Ok(values.map(Option::unwrap_or_default))
}
