//! Query parameters of calls that are not lists.

use super::problem::FieldFault;
use actix_web::HttpRequest;
use std::borrow::Cow;
use std::str::FromStr;

/// The value of a parameter; `None` without it. Ignores other parameters.
pub fn value<'a>(request: &'a HttpRequest, name: &str) -> Result<Option<Cow<'a, str>>, FieldFault> {
    let query = url::form_urlencoded::parse(request.query_string().as_bytes());
    let mut values = query.filter(|(it, _)| it == name).map(|(_, value)| value);
    let value = values.next();
    match values.next() {
        Some(_) => Err(FieldFault::new(name, "is given twice; send it once")),
        None => Ok(value),
    }
}

/// Parses a whole number within bounds.
pub fn number<T>(text: &str, name: &str, min: T, max: T) -> Result<T, FieldFault>
where
    T: FromStr + PartialOrd + std::fmt::Display,
{
    let digits = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let read = text.parse().ok().filter(|_| digits);
    read.filter(|it| (&min..=&max).contains(&it))
        .ok_or_else(|| {
            let message = format!("must be a whole number from {min} to {max}");
            FieldFault::new(name, message)
        })
}
