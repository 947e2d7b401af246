//! Parses query parameters.

use crate::application::paging::TimeRange;
use crate::web::problem::FieldFault;
use actix_web::HttpRequest;
use std::borrow::Cow;
use std::str::FromStr;
use tintype_storage::domain::time::Timestamp;

/// Faults that a response lists: a query can contain thousands.
pub const MAX_FAULTS: usize = 20;

/// The parsed value of a parameter; `None` without it. Ignores other parameters.
pub fn parsed<T>(
    request: &HttpRequest,
    name: &str,
    parse: impl FnOnce(&str, &str) -> Result<T, FieldFault>,
) -> Result<Option<T>, FieldFault> {
    let value = value(request, name)?;
    value.map(|value| parse(name, &value)).transpose()
}

fn value<'a>(request: &'a HttpRequest, name: &str) -> Result<Option<Cow<'a, str>>, FieldFault> {
    let query = url::form_urlencoded::parse(request.query_string().as_bytes());
    let mut values = query.filter(|(it, _)| it == name).map(|(_, value)| value);
    let value = values.next();
    match values.next() {
        Some(_) => Err(FieldFault::new(name, "is given twice; send it once")),
        None => Ok(value),
    }
}

pub fn id<T: FromStr>(name: &str, value: &str) -> Result<T, FieldFault> {
    let fault = |_| FieldFault::new(name, "must be an id");
    value.parse().map_err(fault)
}

pub fn moment(name: &str, value: &str) -> Result<Timestamp, FieldFault> {
    let message =
        "must be an RFC 3339 date and time, such as 2030-01-31T12:00:00Z (a + is written %2B)";
    Timestamp::parse(value).ok_or_else(|| FieldFault::new(name, message))
}

/// Sets the start of a range from the parameter `from`, or its end from `to`.
pub fn range_end(range: &mut TimeRange, name: &str, value: &str) -> Result<(), FieldFault> {
    let end = match name {
        "from" => &mut range.from,
        _ => &mut range.to,
    };
    *end = Some(moment(name, value)?);
    Ok(())
}

/// Parses one of the words of an enum.
pub fn one_of<T: FromStr>(
    name: &str,
    value: &str,
    words: impl Iterator<Item = &'static str>,
) -> Result<T, FieldFault> {
    value.parse().map_err(|_| {
        let words: Vec<_> = words.collect();
        FieldFault::new(name, format!("must be one of {}", words.join(", ")))
    })
}

/// Parses a whole number within bounds.
pub fn number<T>(name: &str, text: &str, min: T, max: T) -> Result<T, FieldFault>
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

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::domain::tier::Tier;

    #[test]
    fn a_fault_names_the_parameter_and_what_it_takes() {
        let fault = moment("from", "2030-01-31").unwrap_err();
        assert_eq!(fault.field, "from");
        assert!(fault.message.contains("2030-01-31T12:00:00Z"), "{fault:?}");
        assert!(fault.message.contains("%2B"), "{fault:?}");
        let fault = one_of::<Tier>("tier", "nb2", Tier::names()).unwrap_err();
        assert_eq!(fault.message, "must be one of fast, quality, pro");
    }
}
