//! Reads headers that may be given only once.

use crate::web::problem::FieldFault;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};

/// A header is given more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeated;

impl Repeated {
    /// `name` as documents write it.
    pub fn fault(self, name: &str) -> FieldFault {
        FieldFault::new(name, "is given twice; send it once")
    }
}

/// The value of a header; `None` without it.
pub fn single<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a HeaderValue>, Repeated> {
    let mut values = headers.get_all(name);
    let value = values.next();
    match values.next() {
        Some(_) => Err(Repeated),
        None => Ok(value),
    }
}
