//! The queues of all models, for the operator: waiting jobs and their estimated start.

use super::jobs::with_account_names;
use crate::application::core::Core;
use crate::application::operations::queue::{self, QueueFilter};
use crate::application::services::JobService;
use crate::web::auth::access::OperatorCall;
use crate::web::problem::{FieldFault, HttpResult};
use crate::web::queries::query;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use serde_json::json;
use tintype_storage::domain::job::JobState;
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::StoreError;

/// The page lists this many jobs per model.
const SHOWN: usize = 50;

/// The next jobs of each model, and the number of all queued jobs.
pub async fn list(_: OperatorCall, request: HttpRequest, jobs: Data<JobService>) -> HttpResult {
    let core = &jobs.core;
    let filter = filter(&request)?;
    let mut found = Vec::new();
    for tier in filter.tiers() {
        for next in filter.next(core, tier, SHOWN) {
            // The job may have begun, ended or been deleted meanwhile, also at another node.
            let job = core.store.job(next.account, next.job).await?;
            found.extend(job.filter(|it| it.state == JobState::Queued));
        }
    }
    let data = with_account_names(&jobs, &found).await?;
    let count = filter.count(core);
    let models = models(core).await?;
    Ok(HttpResponse::Ok()
        .json(json!({"data": data, "count": count, "shown_of_each": SHOWN, "models": models})))
}

async fn models(core: &Core) -> Result<Vec<serde_json::Value>, StoreError> {
    let mut models = Vec::new();
    for tier in Tier::ALL {
        let jobs = core.system.queue();
        let oldest = queue::oldest_created_at(core, tier).await?;
        models.push(json!({
            "model": tier.as_str(),
            "queued": jobs.queued(tier),
            "running": jobs.begun(tier),
            "oldest_created_at": oldest.map(|it| it.to_string()),
        }));
    }
    Ok(models)
}

/// Cancels a bounded number of jobs; `more` says whether to call again.
pub async fn cancel(
    OperatorCall(caller): OperatorCall,
    request: HttpRequest,
    jobs: Data<JobService>,
) -> HttpResult {
    let filter = filter(&request)?;
    let before = created_before(&request)?;
    let canceled = queue::cancel(&jobs, &caller, filter, before).await?;
    Ok(HttpResponse::Ok().json(json!({"canceled": canceled.count, "more": canceled.more})))
}

fn filter(request: &HttpRequest) -> Result<QueueFilter, FieldFault> {
    let tier = |name: &str, value: &str| query::one_of::<Tier>(name, value, Tier::names());
    Ok(QueueFilter {
        tier: query::parsed(request, "tier", tier)?,
        account: query::parsed(request, "account_id", query::id)?,
    })
}

/// Jobs that are created after the operator confirmed are not canceled.
fn created_before(request: &HttpRequest) -> Result<Timestamp, FieldFault> {
    let name = "created_before";
    let before = query::parsed(request, name, query::moment)?;
    before.ok_or_else(|| FieldFault::new(name, "is required"))
}
