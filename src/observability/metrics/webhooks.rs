//! Webhook deliveries: backlog, attempts and delays.

use super::exposition::Exposition;
use std::sync::atomic::{AtomicU64, Ordering};
use tintype_actors::delivery::DeliveryDepths;
use tintype_actors::stats::RESPONSE_CLASSES;
use tintype_actors::system::System;

pub fn collect(out: &mut Exposition, system: &System, depths: Option<&DeliveryDepths>) {
    let stats = &system.stats().deliveries;
    let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
    if let Some(depths) = depths {
        out.gauge(
            "tintype_webhook_deliveries_pending",
            "Deliveries that wait for their due time or a slot.",
        )
        .value(&[], depths.waiting);
        out.gauge("tintype_webhook_attempts_in_flight", "Attempts in flight.")
            .value(&[], depths.in_flight);
    }
    let mut family = out.counter(
        "tintype_webhook_attempts_total",
        "Attempts by the class of the response; none means no response.",
    );
    for (answer, count) in RESPONSE_CLASSES.iter().zip(&stats.attempts) {
        family.value(&[("answer", answer)], read(count));
    }
    out.counter(
        "tintype_webhook_attempts_not_sent_total",
        "Attempts postponed because of a fault in the service itself.",
    )
    .value(&[], read(&stats.not_sent));
    out.counter(
        "tintype_webhook_deliveries_ended_total",
        "Deliveries that succeeded or finally failed.",
    )
    .value(&[("outcome", "delivered")], read(&stats.delivered))
    .value(&[("outcome", "failed")], read(&stats.failed));
    out.histogram(
        "tintype_webhook_attempt_duration_seconds",
        "Duration of one attempt.",
    )
    .seconds(&[], &stats.attempt_times.read());
    out.histogram(
        "tintype_webhook_attempt_delay_seconds",
        "Delay of an attempt after its due time.",
    )
    .seconds(&[], &stats.delays.read());
    out.histogram(
        "tintype_webhook_delivery_duration_seconds",
        "Time from the event to its first success, without manual resends.",
    )
    .seconds(&[], &stats.travels.read());
}
