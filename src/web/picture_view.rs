//! `?width=` and `?format=` of a picture: a small form of it instead of the picture.

use super::problem::{FieldFault, Problem};
use crate::application::picture_views::{View, ViewFormat, WIDTHS};
use actix_web::http::header::{self, EntityTag, Header as _, IfNoneMatch};
use actix_web::{HttpRequest, HttpResponse};
use bytes::Bytes;
use sha2::{Digest, Sha256};

const WIDTH: &str = "width";
const FORMAT: &str = "format";
const DEFAULT_WIDTH: u32 = 1024;

/// The view that a query asks for, or its faults; and the query without it.
pub struct Asked {
    /// `None` where the picture itself is meant.
    pub view: Option<Result<View, Problem>>,
    pub rest: String,
}

/// Takes the parameters of a view out of a query. What is left is as it was.
pub fn asked(query: &str) -> Asked {
    let (mut width, mut format, mut rest) = (None, None, Vec::new());
    let (mut faults, mut is_asked) = (Vec::new(), false);
    for piece in query.split('&') {
        let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
        let before = match name {
            WIDTH => width.replace(value),
            FORMAT => format.replace(value),
            _ => {
                rest.push(piece);
                continue;
            }
        };
        is_asked = true;
        if before.is_some() && faults.is_empty() {
            faults.push(FieldFault::new(name, "stands twice; send it once"));
        }
    }
    let read = || match (read_width(width), read_format(format)) {
        (Ok(width), Ok(format)) if faults.is_empty() => Ok(View { width, format }),
        (width, format) => {
            let faults = faults.into_iter().chain(width.err()).chain(format.err());
            Err(Problem::validation(faults.collect()))
        }
    };
    Asked {
        rest: rest.join("&"),
        view: is_asked.then(read),
    }
}

fn read_width(value: Option<&str>) -> Result<u32, FieldFault> {
    let Some(value) = value else {
        return Ok(DEFAULT_WIDTH);
    };
    let known = WIDTHS.into_iter().find(|it| it.to_string() == value);
    known.ok_or_else(|| {
        let widths = WIDTHS.map(|it| it.to_string()).join(", ");
        FieldFault::new(WIDTH, format!("must be one of {widths}"))
    })
}

fn read_format(value: Option<&str>) -> Result<ViewFormat, FieldFault> {
    let Some(value) = value else {
        return Ok(ViewFormat::Jpeg);
    };
    let known = ViewFormat::ALL.into_iter().find(|it| it.word() == value);
    known.ok_or_else(|| {
        let words = ViewFormat::ALL.map(ViewFormat::word).join(", ");
        FieldFault::new(FORMAT, format!("must be one of {words}"))
    })
}

/// Answers with a view, for as long a time in caches as `cache` says.
pub fn answer(
    request: &HttpRequest,
    bytes: Bytes,
    picture: &str,
    view: View,
    cache: String,
) -> HttpResponse {
    let tag = EntityTag::new_strong(hex::encode(&Sha256::digest(&bytes)[..12]));
    let same = IfNoneMatch::parse(request).is_ok_and(|it| match it {
        IfNoneMatch::Any => request.headers().contains_key(header::IF_NONE_MATCH),
        IfNoneMatch::Items(items) => items.iter().any(|it| it.weak_eq(&tag)),
    });
    let mut answer = match same {
        true => HttpResponse::NotModified(),
        false => HttpResponse::Ok(),
    };
    answer.insert_header(header::ETag(tag));
    answer.insert_header((header::CACHE_CONTROL, cache));
    if same {
        return answer.finish();
    }
    let key = view.key(picture);
    let name = key.rsplit('/').next().unwrap_or_default();
    answer.insert_header((
        header::CONTENT_DISPOSITION,
        format!("inline; filename=\"{name}\""),
    ));
    answer.insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"));
    answer.insert_header((
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; sandbox",
    ));
    answer.content_type(view.format.media_type()).body(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(query: &str) -> Vec<String> {
        let problem = asked(query).view.unwrap().unwrap_err();
        problem.errors.into_iter().map(|it| it.field).collect()
    }

    #[test]
    fn a_view_is_taken_out_of_its_query() {
        let found = asked("expires=1&width=512&signature=a&format=webp");
        assert_eq!(found.rest, "expires=1&signature=a");
        let view = found.view.unwrap().ok();
        let wanted = View {
            width: 512,
            format: ViewFormat::Webp,
        };
        assert_eq!(view, Some(wanted));
        let found = asked("expires=1&signature=a");
        assert_eq!(found.rest, "expires=1&signature=a");
        assert!(found.view.is_none());
        let view = asked("format=jpeg").view.unwrap().ok().unwrap();
        assert_eq!(view.width, DEFAULT_WIDTH);
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        for value in ["", "0", "-1", "513", "0512", "1e3", "99999999999", "512px"] {
            assert_eq!(faults(&format!("width={value}")), ["width"], "{value}");
        }
        for value in ["", "png", "JPEG", "avif"] {
            assert_eq!(faults(&format!("format={value}")), ["format"], "{value}");
        }
        assert_eq!(faults("width=1&format=gif"), ["width", "format"]);
        assert_eq!(faults("width=256&width=512"), ["width"]);
        assert_eq!(faults("width"), ["width"]);
    }
}
