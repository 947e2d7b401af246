//! The panel's page and its assets, served from the binary.

use crate::web::assets::Assets;
use crate::web::auth::access::path_segment;
use crate::web::problem::{Code, HttpResult, Problem};
use actix_web::HttpRequest;
use std::sync::LazyLock;

macro_rules! assets {
    ($($name:literal),+ $(,)?) => {
        static ASSETS: Assets = Assets::new(&[
            $(($name, include_bytes!(concat!("assets/", $name)))),+
        ]);
    };
}

assets!(
    "index.html",
    "icon.svg",
    "inter-400.woff2",
    "inter-600.woff2",
    "source-serif-500.woff2",
    "fonts-license.txt",
    "startup.js",
    "theme.js",
    "base.css",
    "layout.css",
    "parts.css",
    "pages.css",
    "app.js",
    "api.js",
    "dom.js",
    "focus.js",
    "recovery.js",
    "refresh.js",
    "live.js",
    "format.js",
    "shell.js",
    "dialogs.js",
    "charts.js",
    "lists.js",
    "filters.js",
    "menu.js",
    "density.js",
    "theme_switch.js",
    "tabs.js",
    "key_form.js",
    "limits.js",
    "funds.js",
    "idempotent_submit.js",
    "progress.js",
    "preview.js",
    "drafts.js",
    "demo.js",
    "checklist.js",
    "backends.js",
    "operator_webhook.js",
    "icons.js",
    "snippets.js",
    "verifiers.js",
    "page_sign_in.js",
    "page_overview.js",
    "page_playground.js",
    "input_images.js",
    "favourite.js",
    "page_gallery.js",
    "lightbox.js",
    "image.js",
    "page_jobs.js",
    "page_job.js",
    "page_batches.js",
    "page_batch.js",
    "batch_progress.js",
    "page_keys.js",
    "page_key.js",
    "page_webhooks.js",
    "page_deliveries.js",
    "page_usage.js",
    "page_ledger.js",
    "page_people.js",
    "redeliver.js",
    "verify_delivery.js",
    "page_accounts.js",
    "page_service.js",
    "page_nodes.js",
    "page_queue.js",
    "pause.js",
    "page_audit.js",
    "page_profile.js",
);

/// The page names its scripts and styles below their tag, so that none comes from a node with another version.
static PAGE: LazyLock<String> = LazyLock::new(|| {
    let below_tag = format!("panel/{}/", ASSETS.tag());
    include_str!("assets/index.html").replace("panel/TAG/", &below_tag)
});

/// The single page, which shows every view.
pub async fn page(request: HttpRequest) -> HttpResult {
    Ok(ASSETS.send(&request, "index.html", PAGE.as_bytes()))
}

pub async fn asset(request: HttpRequest) -> HttpResult {
    ASSETS.respond_to_path(&request)
}

pub async fn tagged_asset(request: HttpRequest) -> HttpResult {
    if path_segment(&request, "tag") != ASSETS.tag() {
        let detail = "another version of the panel has this path; reload the page";
        return Err(Problem::new(Code::NotFound, detail));
    }
    ASSETS.respond_to_path(&request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::domain::audit_log::Action;

    #[test]
    fn assets_are_complete_and_refer_to_no_other_host() {
        ASSETS.assert_self_contained();
    }

    #[test]
    fn the_audit_log_has_words_and_a_filter_for_each_action() {
        let page = include_str!("assets/page_audit.js");
        // The page derives the words of a pause from its switches.
        let described = Action::names().filter(|it| *it != Action::PauseChange.as_str());
        for action in described {
            assert!(page.contains(&format!("\"{action}\": [")), "{action}");
        }
        for action in Action::names() {
            let kind = action.split('.').next().unwrap();
            assert!(page.contains(&format!("[\"{kind}\", ")), "{kind}");
        }
    }
}
