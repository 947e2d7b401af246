//! The page at `/docs`: renders the OpenAPI documents, with a console to try the calls.
//!
//! A static page from the binary, in the style of the panel. It keeps an entered key or token in memory only, and sends it only to this
//! server, which also sends the images that the page shows.

mod job_images;

use crate::web::assets::Assets;
use crate::web::problem::HttpResult;
use crate::web::problem::catch_panic::GuardedResource;
use crate::web::read_only::read_only;
use actix_web::{HttpRequest, web};

macro_rules! assets {
    ($($name:literal from $folder:literal),+ $(,)?) => {
        static ASSETS: Assets = Assets::new(&[
            $(($name, include_bytes!(concat!($folder, "/", $name)))),+
        ]);
    };
}

assets!(
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
    "response.js" from "assets",
    "json.js" from "assets",
    "base.css" from "../panel/assets",
    "theme.js" from "../panel/assets",
    "dom.js" from "../panel/assets",
    "theme_switch.js" from "../panel/assets",
    "focus.js" from "../panel/assets",
    "icon.svg" from "../panel/assets",
);

pub fn configure(service: &mut web::ServiceConfig) {
    service
        .service(read_only(web::resource("/docs"), page))
        // The page names its assets relative to `/docs`.
        .service(web::redirect("/docs/", "../docs"))
        .service(read_only(web::resource("/docs/assets/{name}"), asset))
        .service(
            GuardedResource::of(web::resource("/docs/clients/jobs/{job_id}/picture"))
                .get(job_images::of_client),
        )
        .service(
            GuardedResource::of(web::resource("/docs/operator/jobs/{job_id}/picture"))
                .get(job_images::of_any_account),
        );
}

async fn page(request: HttpRequest) -> HttpResult {
    ASSETS.respond(&request, "index.html")
}

async fn asset(request: HttpRequest) -> HttpResult {
    ASSETS.respond_to_path(&request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_assets_are_complete_and_name_no_other_host() {
        ASSETS.assert_self_contained();
    }
}
