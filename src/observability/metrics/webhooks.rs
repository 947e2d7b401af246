//! Deliveries of webhooks: how many wait, how their attempts went, and how late they were.

use super::exposition::Exposition;
use std::sync::atomic::{AtomicU64, Ordering};
use tintype_actors::delivery::DeliveryDepths;
use tintype_actors::stats::ANSWERS;
use tintype_actors::system::System;

pub fn collect(told: &mut Exposition, system: &System, depths: &DeliveryDepths) {
    let figures = &system.stats().deliveries;
    let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
    told.gauge(
        "tintype_webhook_deliveries_pending",
        "Deliveries that wait for their moment or their turn.",
    )
    .value(&[], depths.waiting);
    told.gauge(
        "tintype_webhook_attempts_in_flight",
        "Attempts that are under way.",
    )
    .value(&[], depths.in_flight);
    let mut family = told.counter(
        "tintype_webhook_attempts_total",
        "Attempts by what was answered; none is no answer.",
    );
    for (answer, count) in ANSWERS.iter().zip(&figures.attempts) {
        family.value(&[("answer", answer)], read(count));
    }
    told.counter(
        "tintype_webhook_attempts_not_sent_total",
        "Attempts that could not be made for a fault of the service itself, and are made later.",
    )
    .value(&[], read(&figures.not_sent));
    told.counter(
        "tintype_webhook_deliveries_ended_total",
        "Deliveries that arrived, and those that were given up.",
    )
    .value(&[("outcome", "delivered")], read(&figures.delivered))
    .value(&[("outcome", "failed")], read(&figures.failed));
    told.histogram(
        "tintype_webhook_attempt_duration_seconds",
        "Time of one attempt.",
    )
    .seconds(&[], &figures.attempt_times.read());
    told.histogram(
        "tintype_webhook_attempt_delay_seconds",
        "How late an attempt began after it was due.",
    )
    .seconds(&[], &figures.delays.read());
    told.histogram(
        "tintype_webhook_delivery_duration_seconds",
        "Time from the event to its first success, where nobody sent it again by hand.",
    )
    .seconds(&[], &figures.travels.read());
}
