//! Serves the pages embedded in the binary, under a content security policy that blocks all other hosts.

use crate::web::auth::access::path_segment;
use crate::web::images::entity_tag;
use crate::web::problem::{Code, HttpResult, Problem};
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::{HttpRequest, HttpResponse};
use std::sync::OnceLock;

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

/// The files of a page, by name.
pub struct Assets {
    files: &'static [(&'static str, &'static [u8])],
    /// One entity tag for all files, because they only work together.
    tag: OnceLock<String>,
}

impl Assets {
    pub const fn new(files: &'static [(&'static str, &'static [u8])]) -> Self {
        Self {
            files,
            tag: OnceLock::new(),
        }
    }

    /// Responds with the file of this name.
    pub fn respond(&self, request: &HttpRequest, name: &str) -> HttpResult {
        let found = self.files.iter().find(|(it, _)| *it == name);
        let missing = || Problem::new(Code::NotFound, "there is no such path");
        let (_, content) = found.ok_or_else(missing)?;
        Ok(self.send(request, name, content))
    }

    /// Responds with this content of a file that derives from the files.
    pub fn send(&self, request: &HttpRequest, name: &str, content: &'static [u8]) -> HttpResponse {
        let tag = self.tag().to_owned();
        // The browser asks each time, so that it mixes no files of two versions. It may ask several nodes: see `panel/pages.rs`.
        let mut response = entity_tag::respond(request, tag, "no-cache", |response| {
            response.content_type(content_type(name)).body(content)
        });
        for (name, value) in SECURITY_HEADERS {
            let value = HeaderValue::from_static(value);
            response.headers_mut().insert(name, value);
        }
        response
    }

    /// The entity tag of each file.
    pub fn tag(&self) -> &str {
        self.tag
            .get_or_init(|| entity_tag::of(self.files.iter().map(|(_, content)| *content)))
    }

    /// Responds with the file that `{name}` in the path names.
    pub fn respond_to_path(&self, request: &HttpRequest) -> HttpResult {
        self.respond(request, path_segment(request, "name"))
    }
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

#[cfg(test)]
impl Assets {
    /// Asserts that a page imports only its own assets, writes no markup from scripts and names no other hosts.
    pub fn assert_self_contained(&self) {
        let words = [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
        ];
        // Skip fonts, which are binary, and their licence, which contains URLs.
        let code = self
            .files
            .iter()
            .filter(|(name, _)| !name.ends_with(".woff2") && !name.ends_with(".txt"));
        for (name, text) in code {
            let text = std::str::from_utf8(text).unwrap();
            for piece in text.split("from \"./").skip(1) {
                let imported = piece.split('"').next().unwrap();
                assert!(
                    self.files.iter().any(|(it, _)| *it == imported),
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
            // A proxy may serve the pages under a prefix.
            for rooted in [
                "=\"/",
                "url(\"/",
                "url(/",
                "\"/panel",
                "`/panel",
                "\"/docs",
                "`/docs",
                "\"/status",
                "`/status",
            ] {
                assert!(!text.contains(rooted), "{name} has {rooted}");
            }
            if name.ends_with(".html") {
                assert!(!text.contains("<style") && !text.contains(" style="));
            }
        }
    }
}
