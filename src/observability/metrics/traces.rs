//! What became of the traces. Told as nothing where none are sent, so that charts and alerts need not know.

use super::exposition::Exposition;
use crate::observability::traces::{Exporter, TraceFigures};
use std::sync::atomic::{AtomicU64, Ordering};

/// Tells it.
pub fn collect(told: &mut Exposition, exporter: Option<&Exporter>) {
    let read = |of: fn(&TraceFigures) -> &AtomicU64| {
        exporter.map_or(0, |it| of(it.figures()).load(Ordering::Relaxed))
    };
    told.counter(
        "tintype_trace_spans_sent_total",
        "Spans that the collector took.",
    )
    .value(&[], read(|it| &it.sent));
    told.counter(
        "tintype_trace_spans_dropped_total",
        "Spans that were lost, because too many waited or the collector did not take them.",
    )
    .value(&[], read(|it| &it.dropped));
    told.counter(
        "tintype_trace_exports_failed_total",
        "Exports of spans that failed, repeated ones included.",
    )
    .value(&[], read(|it| &it.failures));
    told.gauge("tintype_trace_spans_waiting", "Spans that wait to be sent.")
        .value(&[], exporter.map_or(0, Exporter::waiting));
}
