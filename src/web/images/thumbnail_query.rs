//! `?width=` and `?format=` of an image: requests a thumbnail instead of the original.

use super::entity_tag;
use super::image_headers;
use crate::application::images::thumbnails::{Thumbnail, ThumbnailFormat, WIDTHS};
use crate::web::problem::{FieldFault, Problem};
use actix_web::{HttpRequest, HttpResponse};
use bytes::Bytes;

const WIDTH: &str = "width";
const FORMAT: &str = "format";
const DEFAULT_WIDTH: u32 = 1024;

pub struct ThumbnailQuery {
    /// `None`: the original image.
    pub thumbnail: Option<Result<Thumbnail, Problem>>,
    /// The query without the parameters of the thumbnail, otherwise unchanged.
    pub rest: String,
}

pub fn parse(query: &str) -> ThumbnailQuery {
    let (mut width, mut format, mut rest) = (None, None, Vec::new());
    let (mut faults, mut has_thumbnail) = (Vec::new(), false);
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
        has_thumbnail = true;
        if before.is_some() && faults.is_empty() {
            faults.push(FieldFault::new(name, "is given twice; send it once"));
        }
    }
    let read = || match (read_width(width), read_format(format)) {
        (Ok(width), Ok(format)) if faults.is_empty() => Ok(Thumbnail { width, format }),
        (width, format) => {
            let faults = faults.into_iter().chain(width.err()).chain(format.err());
            Err(Problem::validation(faults.collect()))
        }
    };
    ThumbnailQuery {
        rest: rest.join("&"),
        thumbnail: has_thumbnail.then(read),
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

fn read_format(value: Option<&str>) -> Result<ThumbnailFormat, FieldFault> {
    let Some(value) = value else {
        return Ok(ThumbnailFormat::Jpeg);
    };
    let known = ThumbnailFormat::ALL
        .into_iter()
        .find(|it| it.as_str() == value);
    known.ok_or_else(|| {
        let words = ThumbnailFormat::ALL.map(ThumbnailFormat::as_str).join(", ");
        FieldFault::new(FORMAT, format!("must be one of {words}"))
    })
}

/// Responds with a thumbnail that could not be stored. `cache` is the value of `Cache-Control`.
pub fn respond_unstored(
    request: &HttpRequest,
    bytes: Bytes,
    image: &str,
    thumbnail: Thumbnail,
    cache: &str,
) -> HttpResponse {
    let tag = entity_tag::of([&*bytes]);
    entity_tag::respond(request, tag, cache, |response| {
        image_headers::insert(response, &thumbnail.key(image));
        response.body(bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(query: &str) -> Vec<String> {
        let problem = parse(query).thumbnail.unwrap().unwrap_err();
        problem.errors.into_iter().map(|it| it.field).collect()
    }

    #[test]
    fn the_parameters_of_a_view_are_split_off() {
        let found = parse("expires=1&width=512&signature=a&format=webp");
        assert_eq!(found.rest, "expires=1&signature=a");
        let thumbnail = found.thumbnail.unwrap().ok();
        let wanted = Thumbnail {
            width: 512,
            format: ThumbnailFormat::Webp,
        };
        assert_eq!(thumbnail, Some(wanted));
        let found = parse("expires=1&signature=a");
        assert_eq!(found.rest, "expires=1&signature=a");
        assert!(found.thumbnail.is_none());
        let thumbnail = parse("format=jpeg").thumbnail.unwrap().ok().unwrap();
        assert_eq!(thumbnail.width, DEFAULT_WIDTH);
    }

    #[test]
    fn invalid_values_are_refused_by_name() {
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
