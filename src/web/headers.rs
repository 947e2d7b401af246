//! Reads headers that may be given only once.

use crate::web::problem::FieldFault;
use actix_web::http::header::{HeaderMap, HeaderValue};

/// The value of a header; `None` without it.
pub fn single<'a>(
    headers: &'a HeaderMap,
    name: &str,
) -> Result<Option<&'a HeaderValue>, FieldFault> {
    let mut values = headers.get_all(name);
    let value = values.next();
    match values.next() {
        Some(_) => Err(FieldFault::new(name, "is given twice; send it once")),
        None => Ok(value),
    }
}
