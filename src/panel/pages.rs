//! The page and its parts, from the binary, under a policy that lets nothing in from elsewhere.

use actix_web::http::header::{self, EntityTag, Header as _, IfNoneMatch};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

/// No script, style, picture, font or call of another host; no inline script or style; no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; \
     form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

macro_rules! assets {
    ($($name:literal),+ $(,)?) => {
        /// Each part with its text.
        const ASSETS: &[(&str, &[u8])] = &[
            $(($name, include_bytes!(concat!("assets/", $name)))),+
        ];
    };
}

assets!(
    "index.html",
    "icon.svg",
    "theme.js",
    "base.css",
    "layout.css",
    "parts.css",
    "pages.css",
    "app.js",
    "api.js",
    "dom.js",
    "format.js",
    "shell.js",
    "dialogs.js",
    "charts.js",
    "lists.js",
    "key_form.js",
    "progress.js",
    "icons.js",
    "snippets.js",
    "verifiers.js",
    "page_sign_in.js",
    "page_overview.js",
    "page_playground.js",
    "page_jobs.js",
    "page_job.js",
    "page_keys.js",
    "page_key.js",
    "page_webhooks.js",
    "page_deliveries.js",
    "page_ledger.js",
    "page_people.js",
    "page_accounts.js",
    "page_service.js",
    "pause.js",
    "page_audit.js",
    "page_profile.js",
);

/// Changes whenever any part does: the parts belong together.
static TAG: LazyLock<String> = LazyLock::new(|| {
    let digest = ASSETS
        .iter()
        .fold(Sha256::new(), |digest, (_, text)| digest.chain_update(text))
        .finalize();
    hex::encode(&digest[..12])
});

/// `GET /panel`: the one page, whatever is shown in it.
pub async fn page(request: HttpRequest) -> HttpResponse {
    part(&request, "index.html")
}

/// `GET /panel/assets/{name}`
pub async fn asset(request: HttpRequest) -> HttpResponse {
    let name = request.match_info().get("name").unwrap_or_default();
    part(&request, name)
}

fn part(request: &HttpRequest, name: &str) -> HttpResponse {
    let Some((_, text)) = ASSETS.iter().find(|(it, _)| *it == name) else {
        return secured(HttpResponse::NotFound()).finish();
    };
    let tag = EntityTag::new_strong(TAG.clone());
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
        return answer.finish();
    }
    answer.content_type(content_type(name)).body(*text)
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_in_the_binary_and_names_only_parts_that_are() {
        for (name, text) in ASSETS {
            let text = std::str::from_utf8(text).unwrap();
            for piece in text.split("from \"./").skip(1) {
                let imported = piece.split('"').next().unwrap();
                assert!(
                    ASSETS.iter().any(|(it, _)| *it == imported),
                    "{name} imports {imported}"
                );
            }
        }
    }

    #[test]
    fn no_part_writes_markup_or_asks_another_host() {
        let words = [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
        ];
        for (name, text) in ASSETS {
            let text = std::str::from_utf8(text).unwrap();
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
        }
        let page = std::str::from_utf8(ASSETS[0].1).unwrap();
        assert!(!page.contains("<style") && !page.contains(" style="));
    }
}
