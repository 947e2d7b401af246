//! Serves the pages embedded in the binary, under a content security policy that blocks all other hosts.

use super::problem::{Code, HttpResult, Problem};
use actix_web::http::header::{self, EntityTag, Header as _, IfNoneMatch};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use sha2::{Digest, Sha256};

/// No other hosts, no inline scripts or styles, no framing.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; font-src 'self'; connect-src 'self'; \
     form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Name and content.
pub type Asset = (&'static str, &'static [u8]);

/// One tag for all assets of a page, because their versions must match.
pub fn tag(assets: &[Asset]) -> String {
    let digest = assets
        .iter()
        .fold(Sha256::new(), |digest, (_, text)| digest.chain_update(text))
        .finalize();
    hex::encode(&digest[..12])
}

/// Responds with the asset of this name.
pub fn respond(request: &HttpRequest, assets: &[Asset], tag: &str, name: &str) -> HttpResult {
    let found = assets.iter().find(|(it, _)| *it == name);
    let (_, text) = found.ok_or_else(|| Problem::new(Code::NotFound, "there is no such path"))?;
    let tag = EntityTag::new_strong(tag.to_owned());
    let same = IfNoneMatch::parse(request).is_ok_and(|it| match it {
        IfNoneMatch::Any => true,
        IfNoneMatch::Items(items) => items.iter().any(|it| it.weak_eq(&tag)),
    });
    let mut answer = with_security_headers(match same {
        true => HttpResponse::NotModified(),
        false => HttpResponse::Ok(),
    });
    // Revalidate each time, so that versions never mix.
    answer.insert_header((header::CACHE_CONTROL, "no-cache"));
    answer.insert_header(header::ETag(tag));
    if same {
        return Ok(answer.finish());
    }
    Ok(answer.content_type(content_type(name)).body(*text))
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("txt") => "text/plain; charset=utf-8",
        Some("woff2") => "font/woff2",
        _ => "text/javascript; charset=utf-8",
    }
}

fn with_security_headers(mut answer: HttpResponseBuilder) -> HttpResponseBuilder {
    answer.insert_header((header::CONTENT_SECURITY_POLICY, POLICY));
    answer.insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"));
    answer.insert_header((header::X_FRAME_OPTIONS, "DENY"));
    answer.insert_header((header::REFERRER_POLICY, "no-referrer"));
    answer.insert_header(("Cross-Origin-Opener-Policy", "same-origin"));
    answer
}

/// Asserts that a page imports only its own assets, writes no markup from scripts and names no other hosts.
#[cfg(test)]
pub fn check(assets: &[Asset]) {
    let words = [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
    ];
    // Skip fonts, which are binary, and their licence, which contains URLs.
    let code = assets
        .iter()
        .filter(|(name, _)| !name.ends_with(".woff2") && !name.ends_with(".txt"));
    for (name, text) in code {
        let text = std::str::from_utf8(text).unwrap();
        for piece in text.split("from \"./").skip(1) {
            let imported = piece.split('"').next().unwrap();
            assert!(
                assets.iter().any(|(it, _)| *it == imported),
                "{name} imports {imported}"
            );
        }
        for word in words {
            assert!(!text.contains(word), "{name} has {word}");
        }
        for at in text.match_indices("://").map(|(at, _)| at) {
            // The last one is ComfyUI's default address, in an example of a configuration.
            let known = [
                "http://www.w3.org/",
                "example.com",
                "tintype.example",
                "base_url = \"http://127.0.0.1:8188\"",
            ];
            let around = &text[at.saturating_sub(16)..(at + 24).min(text.len())];
            let known = known.iter().any(|it| around.contains(it));
            assert!(known, "{name} names {around}");
        }
        if name.ends_with(".html") {
            assert!(!text.contains("<style") && !text.contains(" style="));
        }
    }
}
