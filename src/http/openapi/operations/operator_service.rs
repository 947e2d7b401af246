//! Describes the operator's calls on the service itself: statistics, nodes, backends, pauses, audit log and export.

use super::examples::{ACCOUNT, KEY, page};
use crate::http::openapi::{DocumentBuilder, Operation, ResponseDoc, date_time, uuid};
use crate::web::problem::Code;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tintype_api::schema::words;
use tintype_api::{AuditEntry, BackendTest, Body as _, Nodes, Stats, Switches};
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::pause::PauseChange;

pub fn stats(builder: &mut DocumentBuilder<'_>) -> Operation {
    let example = json!({
        "queued": {"fast": 3, "quality": 0, "pro": 12},
        "running": 2,
        "live_jobs": 17,
        "throughput": {"window_seconds": 3600, "since": "2026-11-20T19:11:00.000Z", "done": 840, "failed": 2, "canceled": 0},
        "backends": [{"name": "builtin", "health": "up", "paused": false, "paused_reason": null, "faults": 0, "probe_in_seconds": null, "places": 2, "shared": false, "running": 2, "last_answer_at": "2026-11-20T20:10:58.145Z", "last_error": null, "last_hour": {"tries": 842, "failed": 2, "p50_ms": 310, "p95_ms": 900}}],
        "webhooks_pending": 1,
        "last_export_at": "2026-11-18T02:00:04.012Z",
    });
    Operation::new("showStats", "Service", "Get statistics")
        .text("Queue, running jobs, throughput of the last hour, backends and pending deliveries.")
        .response(builder.response::<Stats>(200, "The current statistics.", example))
}

pub fn nodes(builder: &mut DocumentBuilder<'_>) -> Operation {
    let node = |id: &str, host: &str, answers: bool, beat_age_ms: u64| {
        json!({
            "node_id": id,
            "answers": answers,
            "state": "up",
            "version": "0.1.0",
            "host": host,
            "pid": 1,
            "started_at": "2026-11-20T19:11:00.000Z",
            "running": 2,
            "beat_age_ms": beat_age_ms,
            "configuration": "4be1c29d07aa",
        })
    };
    let example = json!({
        "data": [
            node("5d0b9f6e-58c5-4a0e-9d5e-3f6b8a4c2d10", "a", true, 120),
            node("b7a1c2d4-0f31-4c55-8f0d-0c7f2a6d1e3b", "b", false, 340),
        ],
        "next_cursor": null,
        "shared": true,
        "warnings": [],
    });
    Operation::new("listNodes", "Service", "List nodes")
        .text("The processes that share the store, as the responding one sees them, with warnings.")
        .window()
        .response(builder.response::<Nodes>(200, "The nodes.", example))
}

pub fn test_backend(builder: &mut DocumentBuilder<'_>) -> Operation {
    let example = json!({
        "name": "gpu",
        "ok": false,
        "works": ["it responds; its models: flux-1"],
        "fails": ["model sd-xl: the server does not list it"],
    });
    Operation::new("testBackend", "Service", "Test a backend")
        .text("Checks with a call that generates no image that the backend responds and has the configured models. If a backend that was down passes, it gets the next job at once.")
        .path("name", "The name of the backend, as in `[backends.NAME]`.", json!({"type": "string"}))
        .response(builder.response::<BackendTest>(200, "The findings.", example))
        .refuses([Code::NotFound])
}

fn switches() -> Value {
    json!({
        "project": false,
        "tiers": {"fast": true, "quality": false, "pro": false},
        "reasons": {"project": null, "fast": "new weights until 14:00", "quality": null, "pro": null},
        "backends": ["builtin"],
        "backend_reasons": {"builtin": "new driver"},
    })
}

pub fn show_pause(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("showPause", "Service", "Get pauses").response(builder.response::<Switches>(
        200,
        "The switches.",
        switches(),
    ))
}

pub fn set_pause(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("setPause", "Service", "Set all pauses")
        .text("Sets all switches of models: omitted ones are resumed. With `backends`, it also sets the pauses of all backends; without the list, it keeps them. New calls to a paused model return `503` with the reason; queued jobs stay queued, running jobs continue. A paused backend gets no new attempt: its jobs go to the other backends of the model, or wait while all of them are paused. A switch that stays paused keeps its reason unless the call sets another.")
        .body(PauseChange::schema(&[]), &[
            ("Pause a model", json!({"tiers": {"fast": true}, "reason": "new weights until 14:00"})),
            ("Pause a backend", json!({"backends": ["builtin"], "reason": "new driver"})),
            ("Resume everything", json!({"backends": []})),
            ("Resume all models", json!({})),
        ])
        .response(builder.response::<Switches>(200, "The new switches.", switches()))
        .refuses([Code::Conflict])
}

pub fn change_pause(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("changePause", "Service", "Change single pauses")
        .text("Like `PUT`, but omitted switches keep their state and reason, so concurrent changes of different switches do not undo each other. `reason` applies to the switches in the call.")
        .body(PauseChange::schema(&[]), &[
            ("Pause another model", json!({"tiers": {"pro": true}, "reason": "new weights until 14:00"})),
            ("Resume a model", json!({"tiers": {"fast": false}})),
            ("Pause a backend", json!({"backends": ["builtin"], "reason": "new driver"})),
            ("Resume a backend", json!({"resume_backends": ["builtin"]})),
        ])
        .response(builder.response::<Switches>(200, "The new switches.", switches()))
        .refuses([Code::Conflict])
}

pub fn audit(builder: &mut DocumentBuilder<'_>) -> Operation {
    let kinds: BTreeSet<&str> = Action::names()
        .filter_map(|it| it.split('.').next())
        .collect();
    let actions = Action::names().chain(kinds);
    let entry = json!({
        "audit_id": "01a1fa95-4e8d-7f05-b1c7-2a9d6e3f8b44",
        "at": "2026-11-20T20:11:02.310Z",
        "actor": "operator",
        "person_id": null,
        "action": "key.change",
        "account_id": ACCOUNT,
        "subject_id": KEY,
        "before": {"active": true},
        "after": {"active": false},
        "request_id": "80a496c0-53a5-4b0e-8f9d-0c7f2a6d1e3b",
        "address": "198.51.100.7",
    });
    Operation::new("listAuditEntries", "Service", "List audit entries")
        .text("Newest first. Each entry was written in the same commit as its change.")
        .window()
        .query("account_id", "Only entries about this account.", uuid())
        .query(
            "person_id",
            "Only changes by this person, who may have been removed since.",
            uuid(),
        )
        .query(
            "action",
            "Only this action, or, with the part before the dot, all actions of that kind.",
            words(actions),
        )
        .query("from", "Only from this time on.", date_time())
        .query("to", "Only up to this time.", date_time())
        .response(builder.page::<AuditEntry>("A page of the log.", page(entry)))
}

pub fn export(_: &mut DocumentBuilder<'_>) -> Operation {
    let example = "{\"tintype_export\":1,\"written_by\":\"tintype 0.1.0\"}\n{\"records\":0,\"sha256\":\"920595e106461e504f1ff9931c3f81c6f57578612c7a9f2c9cec6c455f8c86fe\"}\n";
    let lines = ResponseDoc::new(200, "The records, one JSON line each.").content(
        "application/x-ndjson",
        json!({"schema": {"type": "string"}, "example": example}),
    );
    Operation::new("exportRecords", "Service", "Export all records")
        .text("For `tintype backup` and `tintype export`, while the service runs. The first line names the format; the last one has the number of records and their SHA-256, and is missing if the response was cut off. One export at a time: `409` while another is running.")
        .query("recorded", "`false` if the caller reports the backup itself, with `PUT /backups/{taken_at}`, once it is stored.", json!({"type": "boolean", "default": true}))
        .response(lines)
        .refuses([Code::Conflict, Code::ValidationFailed])
}

pub fn set_backup(_: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("setBackup", "Service", "Report a backup")
        .text("Reports a stored backup. `last_export_at` of the statistics becomes `taken_at`, if that is later than before.")
        .path("taken_at", "The time at which the backup read the records.", date_time())
        .response(ResponseDoc::new(204, "The time is recorded."))
        .refuses([Code::NotFound])
}
