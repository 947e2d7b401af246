//! Lists the nodes that share the store.

use crate::application::core::Core;
use crate::application::nodes;
use crate::web::access::OperatorCall;
use crate::web::problem::HttpResult;
use actix_web::{HttpResponse, web};
use tintype_api::Nodes;
use tintype_storage::domain::node::NodeProcess;

/// `GET /nodes`
pub async fn list(
    _: OperatorCall,
    core: web::Data<Core>,
    process: web::Data<NodeProcess>,
) -> HttpResult {
    let nodes = nodes::list(&core, &process);
    Ok(HttpResponse::Ok().json(Nodes {
        shared: core.system.node().is_some(),
        warnings: nodes::warnings(&nodes),
        data: nodes,
    }))
}
