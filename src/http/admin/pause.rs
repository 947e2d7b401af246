//! The switches that pause the project or a model.

use crate::http::auth::Operator;
use crate::http::body;
use crate::http::problem::Problem;
use crate::http::state::AppState;
use crate::http::wire::fields::Fields;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::tier::Tier;

/// `GET /pause`
pub async fn show(_: Operator, state: web::Data<AppState>) -> HttpResponse {
    answer(*state.pause.read())
}

/// `PUT /pause`: what is left out is not paused.
pub async fn set(
    _: Operator,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let body = body::read_json(&request, payload, &state).await?;
    let pause = read(&body)?;
    let _operator = state.operator.lock().await;
    state.commit(state.store.set_pause(&pause)).await?;
    *state.pause.write() = pause;
    state.system.pause_changed(pause);
    Ok(answer(pause))
}

fn read(body: &[u8]) -> Result<Pause, Problem> {
    let mut fields = Fields::parse(body).map_err(Problem::validation)?;
    let mut pause = Pause {
        project: fields.optional_bool("project").unwrap_or(false),
        tiers: [false; 3],
    };
    if let Some(raw) = fields.optional("tiers") {
        match Fields::parse(raw.get().as_bytes()) {
            Ok(mut tiers) => {
                for tier in Tier::ALL {
                    pause.tiers[tier.index()] = tiers.optional_bool(tier.word()).unwrap_or(false);
                }
                let faults = tiers
                    .finish(&["fast", "quality", "pro"])
                    .err()
                    .unwrap_or_default();
                faults
                    .into_iter()
                    .for_each(|it| fields.fault(format!("tiers.{}", it.field), it.message));
            }
            Err(_) => fields.fault("tiers", "must be an object with fast, quality and pro"),
        }
    }
    fields
        .finish(&["project", "tiers"])
        .map_err(Problem::validation)?;
    Ok(pause)
}

fn answer(pause: Pause) -> HttpResponse {
    let tiers: serde_json::Map<_, _> = Tier::ALL
        .iter()
        .map(|tier| (tier.word().to_owned(), pause.tiers[tier.index()].into()))
        .collect();
    HttpResponse::Ok().json(json!({"project": pause.project, "tiers": tiers}))
}
