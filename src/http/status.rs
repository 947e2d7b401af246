//! `GET /status`, without a key: whether jobs are accepted and how long they wait. Browsers get a page, others JSON.

use crate::application::core::Core;
use crate::application::operations::pause;
use crate::application::operations::queue::has_room;
use crate::application::settings::Settings;
use crate::application::submission::queue_estimate::wait_now;
use crate::web::assets::Assets;
use crate::web::no_store;
use crate::web::problem::HttpResult;
use actix_web::http::header::{self, Header as _};
use actix_web::{HttpRequest, web};
use tintype_api::{ModelStatus, ServiceStatus};
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::tier::Tier;

static ASSETS: Assets = Assets::new(&[
    ("status.html", include_bytes!("status_page/status.html")),
    ("status.css", include_bytes!("status_page/status.css")),
    ("status.js", include_bytes!("status_page/status.js")),
    ("base.css", include_bytes!("../panel/assets/base.css")),
    ("theme.js", include_bytes!("../panel/assets/theme.js")),
    ("dom.js", include_bytes!("../panel/assets/dom.js")),
    ("focus.js", include_bytes!("../panel/assets/focus.js")),
    ("icon.svg", include_bytes!("../panel/assets/icon.svg")),
]);

pub async fn show(
    request: HttpRequest,
    core: web::Data<Core>,
    settings: web::Data<Settings>,
) -> HttpResult {
    let mut response = match wants_page(&request) {
        true => ASSETS.respond(&request, "status.html")?,
        false => {
            let has_room = has_room(&core, &settings, 1);
            no_store::json(status(&core, &pause::current(&core).await?, has_room))
        }
    };
    let vary = header::HeaderValue::from_static("Accept");
    response.headers_mut().insert(header::VARY, vary);
    Ok(response)
}

pub async fn asset(request: HttpRequest) -> HttpResult {
    ASSETS.respond_to_path(&request)
}

/// Does the caller prefer a page? Browsers name HTML first.
fn wants_page(request: &HttpRequest) -> bool {
    let accept = header::Accept::parse(request).map(|it| it.ranked());
    let ranked = accept.unwrap_or_default();
    let position = |kind: &str| ranked.iter().position(|it| it.essence_str() == kind);
    let rank = |kind| position(kind).or(position("*/*")).unwrap_or(usize::MAX);
    rank("text/html") < rank("application/json")
}

fn status(core: &Core, pause: &Pause, has_room: bool) -> ServiceStatus {
    let is_stopping = *core.stopping.borrow() || core.fail_stop.has_tripped();
    let model = |tier: &Tier| {
        let paused = pause.covers(*tier);
        let reason = match paused {
            true => pause.reason(*tier),
            false => obstacle(core, *tier, has_room),
        };
        let wait = has_room.then(|| wait_now(core, *tier)).flatten();
        ModelStatus {
            id: tier.as_str().into(),
            paused,
            reason: reason.map(str::to_owned),
            wait_seconds: wait.map(|it| it.as_secs()),
        }
    };
    let models: Vec<ModelStatus> = Tier::ALL.iter().map(model).collect();
    let is_obstructed = models.iter().any(|it| !it.paused && it.reason.is_some());
    ServiceStatus {
        status: status_word(pause, is_stopping, !is_obstructed).into(),
        at: core.now().into(),
        models,
    }
}

/// Why a model that is not paused accepts no job or starts none. Callers do not see which backends are paused.
fn obstacle(core: &Core, tier: Tier, has_room: bool) -> Option<&'static str> {
    match (has_room, core.system.has_backend_in_service(tier)) {
        (false, _) => Some("the queue is full"),
        (true, false) => Some("no backend is available; new jobs wait"),
        (true, true) => None,
    }
}

/// `is_open`: do all models that are not paused accept and start jobs?
fn status_word(pause: &Pause, is_stopping: bool, is_open: bool) -> &'static str {
    let paused = Tier::ALL.iter().filter(|it| pause.covers(**it)).count();
    match (is_stopping, paused) {
        (true, _) => "stopping",
        (false, 0) if is_open => "up",
        (false, some) if some < Tier::ALL.len() => "limited",
        (false, _) => "paused",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::test::TestRequest;

    #[test]
    fn the_assets_are_complete_and_name_no_other_host() {
        ASSETS.assert_self_contained();
    }

    #[test]
    fn browsers_get_the_page_and_programs_json() {
        for (accept, page) in [
            ("text/html,application/xhtml+xml,*/*;q=0.8", true),
            ("application/json, text/html", false),
            ("application/json", false),
            ("text/html;q=0.1, application/json", false),
            ("application/json;q=0.5, Text/HTML;q=0.6", true),
            ("text/html;q=0.9, */*", false),
            ("*/*", false),
            ("", false),
        ] {
            let request = TestRequest::default().insert_header((header::ACCEPT, accept));
            assert_eq!(wants_page(&request.to_http_request()), page, "{accept}");
        }
        assert!(!wants_page(&TestRequest::default().to_http_request()));
    }

    #[test]
    fn the_status_follows_the_pauses() {
        let paused = |project, tiers| Pause {
            project,
            tiers,
            ..Pause::default()
        };
        for (pause, expected) in [
            (paused(false, [false; 3]), "up"),
            (paused(false, [true, false, false]), "limited"),
            (paused(false, [true; 3]), "paused"),
            (paused(true, [false; 3]), "paused"),
        ] {
            assert_eq!(status_word(&pause, false, true), expected);
            let full = if expected == "up" {
                "limited"
            } else {
                expected
            };
            assert_eq!(status_word(&pause, false, false), full);
            assert_eq!(status_word(&pause, true, true), "stopping");
        }
    }
}
