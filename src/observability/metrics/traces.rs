//! Counters of the trace exporter. Without an exporter they are 0, so that charts and alerts work unchanged.

use super::exposition::Exposition;
use crate::observability::traces::{Exporter, TraceStats};
use std::sync::atomic::{AtomicU64, Ordering};

pub fn collect(out: &mut Exposition, exporter: Option<&Exporter>) {
    let read = |of: fn(&TraceStats) -> &AtomicU64| {
        exporter.map_or(0, |it| of(it.stats()).load(Ordering::Relaxed))
    };
    out.counter(
        "tintype_trace_spans_sent_total",
        "Spans that the collector accepted.",
    )
    .value(&[], read(|it| &it.sent));
    out.counter(
        "tintype_trace_spans_dropped_total",
        "Spans lost because the queue was full or the collector did not accept them.",
    )
    .value(&[], read(|it| &it.dropped));
    out.counter(
        "tintype_trace_exports_failed_total",
        "Failed exports of spans, including retries.",
    )
    .value(&[], read(|it| &it.failures));
    out.gauge("tintype_trace_spans_waiting", "Spans in the export queue.")
        .value(&[], exporter.map_or(0, Exporter::waiting));
}
