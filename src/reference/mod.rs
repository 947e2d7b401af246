//! The page at `/docs`: the published descriptions of the interfaces, for people, with a console to try them.
//!
//! It is one page from the binary that reads the documents and draws them; look and building blocks are the panel's. A key or
//! token that is typed into it is held in the page's memory alone and goes nowhere but to this server.

use crate::web::assets::{self, Part};
use crate::web::problem::Problem;
use actix_web::{HttpRequest, HttpResponse, web};
use std::sync::LazyLock;

macro_rules! parts {
    ($($name:literal from $place:literal),+ $(,)?) => {
        /// Each part with its text.
        const PARTS: &[Part] = &[
            $(($name, include_bytes!(concat!($place, "/", $name)))),+
        ];
    };
}

parts!(
    "index.html" from "assets",
    "reference.css" from "assets",
    "console.css" from "assets",
    "reference.js" from "assets",
    "document.js" from "assets",
    "prose.js" from "assets",
    "schema.js" from "assets",
    "operation.js" from "assets",
    "samples.js" from "assets",
    "console.js" from "assets",
    "answer.js" from "assets",
    "json.js" from "assets",
    "base.css" from "../panel/assets",
    "theme.js" from "../panel/assets",
    "dom.js" from "../panel/assets",
    "focus.js" from "../panel/assets",
    "icon.svg" from "../panel/assets",
);

static TAG: LazyLock<String> = LazyLock::new(|| assets::tag(PARTS));

/// Adds the page.
pub fn configure(service: &mut web::ServiceConfig) {
    service
        .service(
            web::resource(["/docs", "/docs/"])
                .route(web::get().to(page))
                .route(web::head().to(page))
                .default_service(web::to(wrong_method)),
        )
        .service(
            web::resource("/docs/assets/{name}")
                .route(web::get().to(part))
                .route(web::head().to(part))
                .default_service(web::to(wrong_method)),
        );
}

async fn page(request: HttpRequest) -> Result<HttpResponse, Problem> {
    assets::answer(&request, PARTS, &TAG, "index.html")
}

async fn part(request: HttpRequest) -> Result<HttpResponse, Problem> {
    let name = request.match_info().get("name").unwrap_or_default();
    assets::answer(&request, PARTS, &TAG, name)
}

async fn wrong_method() -> Result<HttpResponse, Problem> {
    Err(Problem::method_not_allowed("GET, HEAD"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_whole_and_name_no_other_host() {
        assets::check(PARTS);
    }
}
