//! Fetches one input image: follows redirects, checks the response, and streams the body to the object store. An image that the
//! service itself stores is read from there.

use super::ingestion::{Ingestion, Stage};
use crate::inputs::fault::Failure;
use crate::inputs::mask;
use crate::inputs::upload::{ImageUpload, StoredImage};
use bytes::Bytes;
use futures_util::{TryStreamExt as _, stream::BoxStream};
use tintype_egress::{
    HeaderMap, Method, Response, StatusCode,
    header::{self, HeaderValue},
    resolve_location,
};
use url::Url;

/// Per image.
const MAX_REDIRECTS: usize = 5;

/// Where an image is.
pub enum Target {
    Url(Url),
    /// In the object store, with this key.
    Own(String),
}

/// The bytes of an image, as they arrive.
enum Source {
    Response(Box<Response>),
    Stored {
        chunks: BoxStream<'static, object_store::Result<Bytes>>,
        bytes: u64,
    },
}

impl Source {
    fn length(&self) -> Option<u64> {
        match self {
            Self::Response(response) => response.length(),
            Self::Stored { bytes, .. } => Some(*bytes),
        }
    }
}

pub async fn fetch_image(
    ingestion: &Ingestion<'_>,
    index: usize,
    target: Target,
) -> Result<StoredImage, Failure> {
    let permit = ingestion.limits.memory.begin_fetch();
    let _permit = ingestion.during(index, Stage::Waiting, permit).await;
    let source = match (target, &ingestion.own_files) {
        (Target::Url(url), _) => request(ingestion, url).await?,
        (Target::Own(key), Some(own_files)) => {
            let opened = own_files.open(&key);
            let opened = ingestion.during(index, Stage::Storing, opened).await?;
            Source::Stored {
                bytes: opened.meta.size,
                chunks: opened.into_stream(),
            }
        }
        (Target::Own(_), None) => return fault("is not a valid download URL"),
    };
    if let Some(declared) = source.length() {
        ingestion.expect(index, declared)?;
    }
    store_body(ingestion, index, source).await
}

async fn request(ingestion: &Ingestion<'_>, url: Url) -> Result<Source, Failure> {
    let response = follow(ingestion, url).await?;
    let encoded = |value: &HeaderValue| {
        let value = value.as_bytes().trim_ascii();
        !value.is_empty() && !value.eq_ignore_ascii_case(b"identity")
    };
    // The request asks for no compression. Decoding a compressed body would bypass the byte limit.
    if response
        .headers
        .get_all(header::CONTENT_ENCODING)
        .iter()
        .any(encoded)
    {
        return fault("returned a compressed body, although the request does not accept one");
    }
    Ok(Source::Response(Box::new(response)))
}

/// Follows redirects to a `200`. Each target must pass the rules for the first URL, and may not downgrade https to http, because
/// the caller asked for a fetch that cannot be tampered with.
async fn follow(ingestion: &Ingestion<'_>, mut url: Url) -> Result<Response, Failure> {
    for hop in 0..=MAX_REDIRECTS {
        let response = send(ingestion, &url, hop).await?;
        let status = response.status;
        if !is_redirect(status) {
            return if status == StatusCode::OK {
                Ok(response)
            } else {
                fault(format!("returned {status}"))
            };
        }
        let location = response
            .headers
            .get(header::LOCATION)
            .map(HeaderValue::as_bytes);
        let Some(location) = location else {
            return fault(format!("returned {status} without a Location"));
        };
        let Ok(location) = std::str::from_utf8(location) else {
            return fault(format!(
                "returned {status} with a Location that is not UTF-8"
            ));
        };
        let next = match resolve_location(&url, location) {
            Ok(next) => next,
            Err(wrong) => return fault(format!("redirects to a URL that {wrong}")),
        };
        if url.scheme() == "https" && next.scheme() == "http" {
            return fault("redirects from https to http");
        }
        if ingestion.egress.gate().check_host(&next).is_err() {
            return fault("redirects to a host that is not at a public address");
        }
        url = next;
    }
    fault(format!("redirects more than {MAX_REDIRECTS} times"))
}

async fn send(ingestion: &Ingestion<'_>, url: &Url, hop: usize) -> Result<Response, Failure> {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static("image/*"));
    headers.insert(
        header::ACCEPT_ENCODING,
        HeaderValue::from_static("identity"),
    );
    let response = ingestion
        .egress
        .send(Method::GET, url, headers, Bytes::new())
        .await;
    response.map_err(|wrong| {
        let when = if hop > 0 { " after a redirect" } else { "" };
        Failure::Entry(format!("could not be fetched{when}: {wrong}"))
    })
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

async fn store_body(
    ingestion: &Ingestion<'_>,
    index: usize,
    mut source: Source,
) -> Result<StoredImage, Failure> {
    let memory = ingestion.limits.memory.reserve(source.length());
    let memory = ingestion.during(index, Stage::Waiting, memory).await;
    let stem = ingestion.prefix.clone().join(index.to_string());
    let store = ingestion.store.clone();
    let mut upload = ImageUpload::begin(store, stem, ingestion.alive.clone());
    upload.hold(memory);
    while let Some(chunk) = read(ingestion, index, &mut source).await? {
        upload = ingestion
            .during(index, Stage::Storing, upload.push(chunk))
            .await?;
    }
    let finished = upload.finish(ingestion.limits.max_pixels);
    let stored = ingestion.during(index, Stage::Storing, finished).await?;
    if ingestion.mask == Some(index) {
        mask::check_format(stored.kind, stored.has_alpha).map_err(Failure::Entry)?;
    }
    Ok(stored)
}

async fn read(
    ingestion: &Ingestion<'_>,
    index: usize,
    source: &mut Source,
) -> Result<Option<Bytes>, Failure> {
    let chunk = match source {
        Source::Response(response) => match response.chunk().await {
            Ok(chunk) => chunk,
            Err(_) => return fault("closed the connection before the image was complete"),
        },
        Source::Stored { chunks, .. } => {
            let next = chunks.try_next();
            ingestion.during(index, Stage::Storing, next).await?
        }
    };
    if let Some(chunk) = &chunk {
        ingestion.record_bytes(index, chunk.len())?;
    }
    Ok(chunk)
}

fn fault<T>(message: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Entry(message.into()))
}
