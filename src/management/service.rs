//! The service as a whole: its pause switches, backends, nodes and statistics, and a point-in-time export of all records.

use crate::api::requests::read;
use crate::api::stats;
use crate::application::core::Core;
use crate::application::error::Error;
use crate::application::jobs::export;
use crate::application::nodes;
use crate::application::operations::backends;
use crate::application::operations::pause;
use crate::application::services::JobService;
use crate::application::settings::Settings;
use crate::web::auth::access::{OperatorCall, WithBody};
use crate::web::problem::HttpResult;
use crate::web::queries::{paging, query};
use actix_web::http::Method;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::stream;
use tintype_api::{BackendTest, Nodes, Switches};
use tintype_storage::domain::node::NodeProcess;
use tintype_storage::domain::pause::UnnamedPauses;
use tintype_storage::domain::time::Timestamp;

pub async fn show_pause(_: OperatorCall, core: Data<Core>) -> HttpResult {
    let pauses = pause::all(&core).await?;
    Ok(HttpResponse::Ok().json(Switches::new(&pauses.models, &pauses.backends)))
}

/// `PUT /pause` resumes what the body omits, except all backends. `PATCH /pause` keeps it, including concurrent changes.
pub async fn change_pause(
    WithBody(OperatorCall(caller), body): WithBody<OperatorCall>,
    request: HttpRequest,
    core: Data<Core>,
) -> HttpResult {
    let unnamed = match *request.method() {
        Method::PUT => UnnamedPauses::Resume,
        _ => UnnamedPauses::Keep,
    };
    let pauses = pause::change(&core, &caller, read(&body)?, unnamed).await?;
    Ok(HttpResponse::Ok().json(Switches::new(&pauses.models, &pauses.backends)))
}

pub async fn test_backend(
    _: OperatorCall,
    path: Path<String>,
    core: Data<Core>,
    settings: Data<Settings>,
) -> HttpResult {
    let name = path.into_inner();
    let findings = backends::test(&core, &settings, &name).await?;
    Ok(HttpResponse::Ok().json(BackendTest {
        name,
        ok: findings.fails.is_empty(),
        works: findings.works,
        fails: findings.fails,
    }))
}

pub async fn nodes(
    _: OperatorCall,
    request: HttpRequest,
    core: Data<Core>,
    process: Data<NodeProcess>,
) -> HttpResult {
    let window = paging::window(&request)?;
    let nodes = nodes::list(&core, &process, &window);
    Ok(HttpResponse::Ok().json(Nodes {
        data: nodes.page.data,
        next_cursor: nodes.page.next_cursor,
        shared: core.system.node().is_some(),
        warnings: nodes.warnings,
    }))
}

pub async fn stats(_: OperatorCall, core: Data<Core>) -> HttpResult {
    Ok(HttpResponse::Ok().json(stats::stats(&core).await?))
}

pub async fn export(
    OperatorCall(caller): OperatorCall,
    request: HttpRequest,
    jobs: Data<JobService>,
) -> HttpResult {
    let flag = |name: &str, value: &str| query::one_of(name, value, ["true", "false"].into_iter());
    let is_recorded = query::parsed(&request, "recorded", flag)?.unwrap_or(true);
    let receiver = export::start(&jobs, &caller, is_recorded).await?;
    let blocks = stream::unfold(receiver, |mut receiver| async {
        let block = receiver.recv().await?;
        Some((Ok::<_, actix_web::Error>(block), receiver))
    });
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "application/x-ndjson"))
        .streaming(blocks))
}

pub async fn record_backup(
    OperatorCall(caller): OperatorCall,
    path: Path<String>,
    core: Data<Core>,
) -> HttpResult {
    let taken_at = Timestamp::parse(&path);
    let taken_at = taken_at.ok_or_else(|| {
        Error::not_found(
            "the time of a backup is an RFC 3339 date and time, such as 2030-01-31T12:00:00Z",
        )
    })?;
    export::record_backup(&core, &caller, taken_at).await?;
    Ok(HttpResponse::NoContent().finish())
}
