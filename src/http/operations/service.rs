//! Health, readiness, and the documents themselves.

use crate::http::openapi::Header;
use crate::http::openapi::{Answer, Operation, Sketch};
use crate::web::problem::Code;
use serde_json::json;
use tintype_api::{ProcessStatus, ServiceStatus};

/// `GET /healthz`
pub fn healthz(sketch: &mut Sketch<'_>) -> Operation {
    let well = Answer::json(
        200,
        "The process answers.",
        sketch.schema::<ProcessStatus>(),
        json!({"status": "ok"}),
    );
    Operation::new("health", "Service", "Check that the process is alive")
        .text("`503` once its storage has failed: it is about to end, and to be restarted.")
        .answer(well)
}

/// `GET /readyz`
pub fn readyz(sketch: &mut Sketch<'_>) -> Operation {
    let ready = Answer::json(
        200,
        "Jobs can be taken.",
        sketch.schema::<ProcessStatus>(),
        json!({"status": "ready"}),
    );
    Operation::new(
        "readiness",
        "Service",
        "Check that the service accepts jobs",
    )
    .text("Its records can be read, and its object store answers. As one of several nodes it has joined the others, is not late with its beat, and is not stopping.")
    .answer(ready)
}

/// `GET /status`
pub fn status(sketch: &mut Sketch<'_>) -> Operation {
    let example = json!({
        "status": "limited",
        "at": "2026-11-20T20:10:58.145Z",
        "models": [
            {"id": "fast", "paused": false, "reason": null, "wait_seconds": 0},
            {"id": "quality", "paused": false, "reason": null, "wait_seconds": 40},
            {"id": "pro", "paused": true, "reason": "new hardware until noon", "wait_seconds": null},
        ],
    });
    let schema = sketch.schema::<ServiceStatus>();
    let status = Answer::json(200, "The status.", schema, example);
    Operation::new("status", "Service", "Get the status of the service")
        .text("Which models accept jobs, why the others do not, and how long jobs wait now. Browsers get a page.")
        .answer(status.not_stored())
}

/// `GET /metrics`
pub fn metrics(sketch: &mut Sketch<'_>) -> Operation {
    let operation = Operation::new("metrics", "Service", "Get metrics");
    if sketch.config.server.metrics_listen.is_some() {
        return operation
            .text("The operator has given the figures an address of their own, so there is nothing here.")
            .refuses([Code::NotFound]);
    }
    let example = "# HELP tintype_jobs_live Jobs that have not ended.\n# TYPE tintype_jobs_live gauge\ntintype_jobs_live 17\n";
    let content = json!({"schema": {"type": "string"}, "example": example});
    let figures = Answer::new(200, "The figures.").content("text/plain", content);
    operation
        .text("In the text form of Prometheus. Calls from outside of the machine, and those through a proxy, need the operator's token.")
        .answer(figures.not_stored())
        .refuses([Code::Unauthorized])
}

/// `GET /api/v1/openapi.json`
pub fn native(_: &mut Sketch<'_>) -> Operation {
    document(Operation::new("showDocument", "Service", "Get this document"))
        .text("In OpenAPI 3.1, of exactly what this instance serves: ratios, sizes and limits are those of its configuration. A page that renders it is at `/docs`.")
}

/// `GET /admin/v1/openapi.json`
pub fn operator(_: &mut Sketch<'_>) -> Operation {
    document(Operation::new(
        "showOperatorDocument",
        "Service",
        "This document",
    ))
    .text("In OpenAPI 3.1. The page at `/docs` renders it for whoever types the token in.")
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
        .answer(
            Answer::json(200, "The document.", schema, example)
                .header(Header::ETAG)
                .header(Header::REVALIDATE),
        )
        .answer(
            Answer::new(304, "The copy that you have is the document.")
                .header(Header::ETAG)
                .header(Header::REVALIDATE),
        )
}
