//! Pages from the binary: their parts, sent under a policy that lets nothing in from elsewhere.

use super::problem::{Code, Problem};
use actix_web::http::header::{self, EntityTag, Header as _, IfNoneMatch};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use sha2::{Digest, Sha256};

/// No script, style, picture, font or call of another host; no inline script or style; no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; font-src 'self'; connect-src 'self'; \
     form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// A part by its name.
pub type Part = (&'static str, &'static [u8]);

/// Changes whenever any part does: the parts belong together.
pub fn tag(parts: &[Part]) -> String {
    let digest = parts
        .iter()
        .fold(Sha256::new(), |digest, (_, text)| digest.chain_update(text))
        .finalize();
    hex::encode(&digest[..12])
}

/// Answers with the part of this name.
pub fn answer(
    request: &HttpRequest,
    parts: &[Part],
    tag: &str,
    name: &str,
) -> Result<HttpResponse, Problem> {
    let found = parts.iter().find(|(it, _)| *it == name);
    let (_, text) = found.ok_or_else(|| Problem::new(Code::NotFound, "there is no such path"))?;
    let tag = EntityTag::new_strong(tag.to_owned());
    let same = IfNoneMatch::parse(request).is_ok_and(|it| match it {
        IfNoneMatch::Any => true,
        IfNoneMatch::Items(items) => items.iter().any(|it| it.weak_eq(&tag)),
    });
    let mut answer = secured(match same {
        true => HttpResponse::NotModified(),
        false => HttpResponse::Ok(),
    });
    // Asked about each time, so that a new version is never mixed with an old one.
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

fn secured(mut answer: HttpResponseBuilder) -> HttpResponseBuilder {
    answer.insert_header((header::CONTENT_SECURITY_POLICY, POLICY));
    answer.insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"));
    answer.insert_header((header::X_FRAME_OPTIONS, "DENY"));
    answer.insert_header((header::REFERRER_POLICY, "no-referrer"));
    answer.insert_header(("Cross-Origin-Opener-Policy", "same-origin"));
    answer
}

/// What every page's parts must be like: whole, without markup written by scripts, and without other hosts.
#[cfg(test)]
pub fn check(parts: &[Part]) {
    let words = [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
    ];
    // Fonts are bytes, and their licence names the pages of its authors.
    let code = parts
        .iter()
        .filter(|(name, _)| !name.ends_with(".woff2") && !name.ends_with(".txt"));
    for (name, text) in code {
        let text = std::str::from_utf8(text).unwrap();
        for piece in text.split("from \"./").skip(1) {
            let imported = piece.split('"').next().unwrap();
            assert!(
                parts.iter().any(|(it, _)| *it == imported),
                "{name} imports {imported}"
            );
        }
        for word in words {
            assert!(!text.contains(word), "{name} has {word}");
        }
        for place in text.match_indices("://").map(|(at, _)| at) {
            let around = &text[place.saturating_sub(8)..(place + 24).min(text.len())];
            let known = ["http://www.w3.org/", "example.com", "tintype.example"]
                .iter()
                .any(|it| around.contains(it));
            assert!(known, "{name} names {around}");
        }
        if name.ends_with(".html") {
            assert!(!text.contains("<style") && !text.contains(" style="));
        }
    }
}
