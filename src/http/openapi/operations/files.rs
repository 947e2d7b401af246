//! Describes the signed URLs of images.

use crate::application::images::thumbnails::{ThumbnailFormat, WIDTHS};
use crate::http::openapi::{DocumentBuilder, Header, Operation, ResponseDoc};
use crate::web::problem::Code;
use serde_json::json;

pub fn show(builder: &mut DocumentBuilder<'_>) -> Operation {
    let operation = Operation::new("downloadImage", "Files", "Download an image").path(
        "file",
        "The file name of the image.",
        json!({"type": "string"}),
    );
    if builder.config.storage.objects.is_some() {
        return operation
            .text("This service stores images in a bucket: `result.image_url` points there, and this path does not exist.")
            .refuses([Code::NotFound]);
    }
    let image = || json!({"schema": {"type": "string", "contentMediaType": "image/png"}});
    let filed = |response: ResponseDoc| {
        response
            .content("image/png", image())
            .content("image/jpeg", image())
            .content("image/webp", image())
            .content("image/gif", image())
            .header(Header::ETAG)
            .header(Header::CACHE_FILE)
            .header(Header::ACCEPT_RANGES)
            .header(Header::DISPOSITION)
            .header(Header::NOSNIFF)
            .header(Header::POLICY)
    };
    operation
        .text("Use `result.image_url` unchanged: the query contains the signature. A changed, foreign or expired URL returns `403`; the next lookup of the job returns a new one.\n\n\
             Add `&width=` or `&format=` for a thumbnail of the image, which is created at the first call and stored.")
        .query("expires", "When the URL expires, in seconds since 1970.", json!({"type": "integer", "minimum": 0}))
        .query("signature", "The service's signature of the URL.", json!({"type": "string", "pattern": "^[0-9a-f]{64}$"}))
        .query("width", "A thumbnail of at most this width, in pixels. A narrower image keeps its size. Default with `format`: 1024.", json!({"type": "integer", "enum": WIDTHS}))
        .query("format", "The format of the thumbnail. `webp` is lossless. Default with `width`: `jpeg`.", json!({"type": "string", "enum": ThumbnailFormat::ALL.map(ThumbnailFormat::as_str)}))
        .header("Range", "One range of bytes. Several ranges, or an invalid one, return the whole file.", json!({"type": "string", "examples": ["bytes=0-1023"]}))
        .header("If-None-Match", "The `ETag` of a copy that you have.", json!({"type": "string"}))
        .header("If-Range", "The `ETag` of a copy that `Range` continues.", json!({"type": "string"}))
        .response(filed(ResponseDoc::new(200, "The image.")))
        .response(filed(ResponseDoc::new(206, "The requested range.")).header(Header::CONTENT_RANGE))
        .response(ResponseDoc::new(304, "Your copy is current.").header(Header::ETAG).header(Header::CACHE_FILE))
        .refuses([
            Code::InvalidSignature,
            Code::UrlExpired,
            Code::ValidationFailed,
            Code::Gone,
            Code::RangeNotSatisfiable,
            Code::StorageUnavailable,
        ])
}
