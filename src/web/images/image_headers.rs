//! The headers of an image that is sent from this host.

use crate::objects::{content_disposition, media_type};
use actix_web::HttpResponseBuilder;
use actix_web::http::header;

/// Stored files are images; if one were not, a browser must not run it under this server's origin.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; sandbox";

/// Adds the headers with which a browser shows a stored image, saves it under the name of its key, and runs nothing in it.
pub fn insert(response: &mut HttpResponseBuilder, key: &str) {
    response
        .content_type(media_type(key))
        .insert_header((header::CONTENT_DISPOSITION, content_disposition(key)))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY));
}
