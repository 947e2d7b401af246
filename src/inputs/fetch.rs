//! Fetching one input image: following redirects, looking at the answer, and carrying its bytes to the object store.

use awc::{
    ClientResponse,
    http::{StatusCode, header},
};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use url::Url;

use super::{
    InputImage,
    fault::Failure,
    ingestion::{Ingestion, Stage},
    kind::{ImageKind, SNIFFED_BYTES},
    outline::Outline,
    upload::{Stored, Upload},
};
use crate::egress::{EgressFault, resolve_location};

/// An image that is complete in the store, and still taken back when dropped.
pub(super) struct Landed {
    pub image: InputImage,
    pub stored: Stored,
}

/// Fetches the entry `index` from `url`.
pub(super) async fn fetch(
    ingestion: &Ingestion<'_>,
    index: usize,
    url: Url,
) -> Result<Landed, Failure> {
    let response = follow(ingestion, url).await?;
    let encoded = |value: &header::HeaderValue| {
        let value = value.as_bytes().trim_ascii();
        !value.is_empty() && !value.eq_ignore_ascii_case(b"identity")
    };
    // We have asked for the bytes as they are. Decoding would hand the limit on bytes to whoever compressed them.
    if response
        .headers()
        .get_all(header::CONTENT_ENCODING)
        .any(encoded)
    {
        return fault("answered with a compressed body, which was not asked for");
    }
    if let Some(declared) = declared_length(&response) {
        ingestion.expect(index, declared)?;
    }
    land(ingestion, index, response).await
}

/// The final answer, if it is a `200`. A redirect is held to the rules for the first URL; besides, it may not leave https
/// for http, since the caller asked for a fetch that nobody on the way can tamper with.
async fn follow(ingestion: &Ingestion<'_>, mut url: Url) -> Result<ClientResponse, Failure> {
    for hop in 0..=ingestion.limits.max_redirects {
        let response = send(ingestion, &url, hop).await?;
        let status = response.status();
        if !is_redirect(status) {
            return if status == StatusCode::OK {
                Ok(response)
            } else {
                fault(format!("answered {status}"))
            };
        }
        let location = response
            .headers()
            .get(header::LOCATION)
            .map(header::HeaderValue::as_bytes);
        let Some(location) = location else {
            return fault(format!("answered {status} without a Location"));
        };
        let Ok(location) = std::str::from_utf8(location) else {
            return fault(format!(
                "answered {status} with a Location that is not UTF-8"
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
    fault(format!(
        "redirects more than {} times",
        ingestion.limits.max_redirects
    ))
}

async fn send(ingestion: &Ingestion<'_>, url: &Url, hop: usize) -> Result<ClientResponse, Failure> {
    let mut target = url.clone();
    target.set_fragment(None);
    let request = ingestion
        .client
        .get(target.as_str())
        // awc would leave out port 443 of an http URL and port 80 of an https one.
        .insert_header((
            header::HOST,
            &target[url::Position::BeforeHost..url::Position::AfterPort],
        ))
        .insert_header((header::ACCEPT, "image/*"))
        .insert_header((header::ACCEPT_ENCODING, "identity"))
        .force_close();
    request.send().await.map_err(|error| {
        let when = if hop > 0 { " after a redirect" } else { "" };
        Failure::Entry(format!(
            "could not be fetched{when}: {}",
            EgressFault::from(&error)
        ))
    })
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

fn declared_length(response: &ClientResponse) -> Option<u64> {
    response
        .headers()
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()
}

/// Carries the body into the store, looking on as it passes.
async fn land(
    ingestion: &Ingestion<'_>,
    index: usize,
    mut response: ClientResponse,
) -> Result<Landed, Failure> {
    let first = sniff(ingestion, index, &mut response).await?;
    let Some(kind) = ImageKind::from_bytes(&first) else {
        return fault(if first.is_empty() {
            "is empty"
        } else {
            "is not a PNG, JPEG, WebP, GIF, HEIC or AVIF image by its bytes"
        });
    };
    let damaged = |wrong| Failure::Entry(format!("is a {} image {wrong}", kind.name()));
    let path = ingestion
        .prefix
        .clone()
        .join(format!("{index}.{}", kind.extension()));
    let key = path.to_string();
    let mut upload = Upload::begin(ingestion.store.clone(), path, ingestion.alive.clone());
    let mut outline = Outline::new(kind);
    let mut bytes = 0;
    let mut next = Some(first.freeze());
    while let Some(chunk) = next {
        bytes += chunk.len() as u64;
        outline.push(&chunk).map_err(damaged)?;
        upload = ingestion
            .at(index, Stage::Storing, upload.write(chunk))
            .await?;
        next = read(ingestion, index, &mut response).await?;
    }
    let size = outline.finish().map_err(damaged)?;
    let size = size
        .check()
        .map_err(|wrong| Failure::Entry(wrong.to_string()))?;
    let stored = ingestion
        .at(index, Stage::Storing, upload.complete())
        .await?;
    let image = InputImage {
        key,
        bytes,
        media_type: kind,
        width: size.width,
        height: size.height,
    };
    Ok(Landed { image, stored })
}

/// As much of the beginning as recognising a format can take, or all there is.
async fn sniff(
    ingestion: &Ingestion<'_>,
    index: usize,
    response: &mut ClientResponse,
) -> Result<BytesMut, Failure> {
    let mut first = BytesMut::new();
    while first.len() < SNIFFED_BYTES
        && let Some(chunk) = read(ingestion, index, response).await?
    {
        first.extend_from_slice(&chunk);
    }
    Ok(first)
}

async fn read(
    ingestion: &Ingestion<'_>,
    index: usize,
    response: &mut ClientResponse,
) -> Result<Option<Bytes>, Failure> {
    match response.next().await {
        Some(Ok(chunk)) => {
            ingestion.arrived(index, chunk.len())?;
            Ok(Some(chunk))
        }
        Some(Err(_)) => fault("broke off before it was complete"),
        None => Ok(None),
    }
}

fn fault<T>(message: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Entry(message.into()))
}
