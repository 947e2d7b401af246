//! Tests backends on demand.

use crate::application::backend_test;
use crate::application::core::Core;
use crate::application::settings::Settings;
use crate::web::access::OperatorCall;
use crate::web::problem::HttpResult;
use actix_web::{HttpResponse, web};
use tintype_api::BackendTest;

/// `POST /backends/{name}/test`
pub async fn test(
    _: OperatorCall,
    path: web::Path<String>,
    core: web::Data<Core>,
    settings: web::Data<Settings>,
) -> HttpResult {
    let name = path.into_inner();
    let findings = backend_test::test(&core, &settings, &name).await?;
    Ok(HttpResponse::Ok().json(BackendTest {
        name,
        ok: findings.fails.is_empty(),
        works: findings.works,
        fails: findings.fails,
    }))
}
