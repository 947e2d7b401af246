//! Shows and changes the pause switches of the project and of each model.

use crate::api::requests::read;
use crate::application::core::Core;
use crate::application::pause;
use crate::application::settings::Settings;
use crate::web::access::OperatorCall;
use crate::web::body;
use crate::web::problem::HttpResult;
use actix_web::http::Method;
use actix_web::{HttpRequest, HttpResponse, web};
use tintype_api::Switches;
use tintype_storage::domain::pause::UnnamedPauses;

/// `GET /pause`
pub async fn show(_: OperatorCall, core: web::Data<Core>) -> HttpResult {
    let pause = pause::current(&core).await?;
    Ok(HttpResponse::Ok().json(Switches::from(&pause)))
}

/// `PUT /pause` resumes what the body omits. `PATCH /pause` keeps it, including concurrent changes.
pub async fn change(
    OperatorCall(caller): OperatorCall,
    request: HttpRequest,
    payload: web::Payload,
    core: web::Data<Core>,
    settings: web::Data<Settings>,
) -> HttpResult {
    let body = body::read_json(&request, payload, &settings).await?;
    let unnamed = match *request.method() {
        Method::PUT => UnnamedPauses::Resume,
        _ => UnnamedPauses::Keep,
    };
    let pause = pause::change(&core, &caller, read(&body)?, unnamed).await?;
    Ok(HttpResponse::Ok().json(Switches::from(&pause)))
}
