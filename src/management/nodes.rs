//! Lists the nodes that share the store.

use crate::application::core::Core;
use crate::application::nodes::{self, NodeView};
use crate::web::access::OperatorCall;
use crate::web::problem::HttpResult;
use actix_web::{HttpResponse, web};
use tintype_api::{Node, Nodes};
use tintype_storage::domain::node::NodeProcess;

/// `GET /nodes`
pub async fn list(
    _: OperatorCall,
    core: web::Data<Core>,
    process: web::Data<NodeProcess>,
) -> HttpResult {
    let views = nodes::list(&core, &process);
    Ok(HttpResponse::Ok().json(Nodes {
        shared: core.system.node().is_some(),
        warnings: nodes::warnings(&views),
        data: views.into_iter().map(node).collect(),
    }))
}

fn node(view: NodeView) -> Node {
    let process = view.node.process;
    Node {
        node_id: view.id.map(Into::into),
        answers: view.is_this,
        state: match (view.node.has_ended, view.node.is_leaving) {
            (true, _) => "dead".into(),
            (false, true) => "leaving".into(),
            (false, false) => "up".into(),
        },
        version: process.version,
        host: process.host,
        pid: process.pid,
        started_at: process.started_at.into(),
        running: view.node.running,
        beat_age_ms: u64::try_from(view.beat_age.as_millis()).unwrap_or(u64::MAX),
        configuration: process.configuration,
    }
}
