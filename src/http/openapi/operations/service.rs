//! Describes the calls on health, status, metrics and the documents.

use crate::http::openapi::{DocumentBuilder, Header, Operation, ResponseDoc};
use crate::web::problem::Code;
use serde_json::json;
use tintype_api::{ProcessStatus, ServiceStatus};

pub fn healthz(builder: &mut DocumentBuilder<'_>) -> Operation {
    let alive =
        builder.response::<ProcessStatus>(200, "The process is alive.", json!({"status": "ok"}));
    Operation::new("checkHealth", "Service", "Check that the process is alive")
        .text("`503` after a storage failure: the process is about to stop and be restarted.")
        .response(alive)
}

pub fn readyz(builder: &mut DocumentBuilder<'_>) -> Operation {
    let ready = builder.response::<ProcessStatus>(
        200,
        "The service accepts jobs.",
        json!({"status": "ready"}),
    );
    Operation::new(
        "checkReadiness",
        "Service",
        "Check that the service accepts jobs",
    )
    .text("The store is readable and the object store responds. With several nodes, this one has joined the others, its heartbeat is on time, and it is not stopping.")
    .response(ready)
}

pub fn status(builder: &mut DocumentBuilder<'_>) -> Operation {
    let example = json!({
        "status": "limited",
        "at": "2026-11-20T20:10:58.145Z",
        "models": [
            {"id": "fast", "paused": false, "reason": null, "wait_seconds": 0},
            {"id": "quality", "paused": false, "reason": null, "wait_seconds": 40},
            {"id": "pro", "paused": true, "reason": "new hardware until noon", "wait_seconds": null},
        ],
    });
    let status = builder.response::<ServiceStatus>(200, "The status.", example);
    Operation::new("showStatus", "Service", "Get the status of the service")
        .text("Which models accept jobs, why others do not, and the current waiting time. Browsers get a page.")
        .response(status.not_stored())
}

pub fn metrics(builder: &mut DocumentBuilder<'_>) -> Operation {
    let operation = Operation::new("showMetrics", "Service", "Get metrics");
    if builder.config.server.metrics_listen.is_some() {
        return operation
            .text("The operator serves metrics at a separate address, so this path does not exist.")
            .refuses([Code::NotFound]);
    }
    let example = "# HELP tintype_jobs_live Jobs that have not ended.\n# TYPE tintype_jobs_live gauge\ntintype_jobs_live 17\n";
    let content = json!({"schema": {"type": "string"}, "example": example});
    let metrics = ResponseDoc::new(200, "The metrics.").content("text/plain", content);
    operation
        .text("In the Prometheus text format. Calls from another machine or through a proxy need the operator's token.")
        .response(metrics.not_stored())
        .refuses([Code::Unauthorized])
}

pub fn native(_: &mut DocumentBuilder<'_>) -> Operation {
    document(Operation::new("showDocument", "Service", "Get this document"))
        .text("OpenAPI 3.1 for this instance: ratios, sizes and limits are those of its configuration. The page `/docs` renders it.")
}

pub fn operator(_: &mut DocumentBuilder<'_>) -> Operation {
    document(Operation::new(
        "showOperatorDocument",
        "Service",
        "Get this document",
    ))
    .text("OpenAPI 3.1. The page `/docs` renders it after you enter the token.")
}

fn document(operation: Operation) -> Operation {
    let schema = json!({
        "type": "object",
        "properties": {"openapi": {"type": "string", "pattern": "^3\\.1\\."}},
        "required": ["openapi", "info", "paths"],
    });
    let example =
        json!({"openapi": "3.1.0", "info": {"title": "Tintype", "version": "0.1.0"}, "paths": {}});
    operation
        .header(
            "If-None-Match",
            "The `ETag` of a copy that you have.",
            json!({"type": "string"}),
        )
        .response(
            ResponseDoc::new(200, "The document.")
                .content(
                    "application/json",
                    json!({"schema": schema, "example": example}),
                )
                .header(Header::ETAG)
                .header(Header::REVALIDATE),
        )
        .response(
            ResponseDoc::new(304, "Your copy is current.")
                .header(Header::ETAG)
                .header(Header::REVALIDATE),
        )
}
