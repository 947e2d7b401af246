//! The images that the page shows. The page sends the credentials that the user has entered.

use crate::application::jobs;
use crate::application::services::JobService;
use crate::web::auth::access::path_segment;
use crate::web::auth::{Principal, authenticate_operator};
use crate::web::images::job_image;
use crate::web::problem::HttpResult;
use actix_web::{HttpRequest, web};

pub async fn of_client(
    principal: Principal,
    request: HttpRequest,
    service: web::Data<JobService>,
) -> HttpResult {
    let account = principal.caller.account();
    let job = jobs::find(&service.core, account, path_segment(&request, "job_id")).await?;
    principal.admit()?;
    job_image::respond(&request, &service, &job).await
}

pub async fn of_any_account(request: HttpRequest, service: web::Data<JobService>) -> HttpResult {
    authenticate_operator(&request).await?;
    let id = jobs::read_id(path_segment(&request, "job_id"))?;
    let job = jobs::find_in_all(&service.core, None, id).await?;
    job_image::respond(&request, &service, &job).await
}
