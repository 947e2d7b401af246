//! Serves the pages embedded in the binary, under a content security policy that blocks all other hosts.

use super::entity_tag;
use super::problem::{Code, HttpResult, Problem};
use actix_web::HttpRequest;
use actix_web::http::header::{self, HeaderName, HeaderValue};

/// No other hosts, no inline scripts or styles, no framing.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; font-src 'self'; connect-src 'self'; \
     form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

const SECURITY_HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CROSS_ORIGIN_OPENER_POLICY, "same-origin"),
];

/// Name and content.
pub type Asset = (&'static str, &'static [u8]);

/// One tag for all assets of a page, because their versions must match.
pub fn tag(assets: &[Asset]) -> String {
    entity_tag::of(assets.iter().map(|(_, text)| *text))
}

/// Responds with the asset of this name.
pub fn respond(request: &HttpRequest, assets: &[Asset], tag: &str, name: &str) -> HttpResult {
    let found = assets.iter().find(|(it, _)| *it == name);
    let (_, text) = found.ok_or_else(|| Problem::new(Code::NotFound, "there is no such path"))?;
    // Revalidate each time, so that versions never mix.
    let mut answer = entity_tag::respond(request, tag.to_owned(), "no-cache", |answer| {
        answer.content_type(content_type(name)).body(*text)
    });
    for (name, value) in SECURITY_HEADERS {
        let value = HeaderValue::from_static(value);
        answer.headers_mut().insert(name, value);
    }
    Ok(answer)
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
