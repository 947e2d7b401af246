//! The signed addresses of pictures.

use crate::application::picture_views::{ViewFormat, WIDTHS};
use crate::http::openapi::Header;
use crate::http::openapi::{Answer, Operation, Sketch};
use crate::web::problem::Code;
use serde_json::json;

/// `GET /files/...`
pub fn show(sketch: &mut Sketch<'_>) -> Operation {
    let operation = Operation::new("fetchPicture", "Files", "Download an image").path(
        "file",
        "The picture's name.",
        json!({"type": "string"}),
    );
    if sketch.config.storage.objects.is_some() {
        return operation
            .text("Pictures of this service are in a bucket: `result.image_url` leads there, and there is nothing here.")
            .refuses([Code::NotFound]);
    }
    let picture = || json!({"schema": {"type": "string", "contentMediaType": "image/png"}});
    let filed = |answer: Answer| {
        answer
            .content("image/png", picture())
            .content("image/jpeg", picture())
            .content("image/webp", picture())
            .content("image/gif", picture())
            .header(Header::ETAG)
            .header(Header::CACHE_FILE)
            .header(Header::ACCEPT_RANGES)
            .header(Header::DISPOSITION)
            .header(Header::NOSNIFF)
            .header(Header::POLICY)
    };
    operation
        .text("Follow `result.image_url` as it stands: the query is the signature. A URL that was changed, or that the service did not write, is `403`, and so is one that has expired; the next lookup of the job makes a new one.\n\n\
             Add `&width=` or `&format=` for a small form of the picture, which is made at the first call and kept. It has no ranges.")
        .query("expires", "When the address ends, in seconds since 1970.", json!({"type": "integer", "minimum": 0}))
        .query("signature", "What the service signed the address with.", json!({"type": "string", "pattern": "^[0-9a-f]{64}$"}))
        .query("width", "A small form of at most this width, in pixels. A narrower picture keeps its size. With `format` alone: 1024.", json!({"type": "integer", "enum": WIDTHS}))
        .query("format", "The form of a small picture: `webp` is without loss. With `width` alone: `jpeg`.", json!({"type": "string", "enum": ViewFormat::ALL.map(ViewFormat::word)}))
        .header("Range", "One range of bytes. Several, or one that makes no sense, are answered with the whole.", json!({"type": "string", "examples": ["bytes=0-1023"]}))
        .header("If-None-Match", "The `ETag` of a copy that you have.", json!({"type": "string"}))
        .header("If-Range", "The `ETag` of a copy that `Range` is to go on with.", json!({"type": "string"}))
        .answer(filed(Answer::new(200, "The picture.")))
        .answer(filed(Answer::new(206, "The part that was asked for.")).header(Header::CONTENT_RANGE))
        .answer(Answer::new(304, "The copy that you have is the picture.").header(Header::ETAG).header(Header::CACHE_FILE))
        .refuses([
            Code::InvalidSignature,
            Code::UrlExpired,
            Code::ValidationFailed,
            Code::Gone,
            Code::RangeNotSatisfiable,
            Code::StorageUnavailable,
        ])
}
