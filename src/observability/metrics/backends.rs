//! Backends: attempts, health, pauses and load.

use super::exposition::Exposition;
use std::sync::atomic::Ordering;
use tintype_actors::backends::{BackendHealth, Health};
use tintype_actors::system::System;
use tintype_actors::{ports::BackendAttemptOutcome, stats::BackendStats};

type Counter = (
    &'static str,
    &'static str,
    fn(&BackendHealth, &BackendStats) -> u64,
);

pub fn collect(out: &mut Exposition, system: &System) {
    let health = system.backends();
    let stats = &system.stats().backends;
    collect_attempts(out, &health, stats);
    collect_counters(out, &health, stats);
    collect_breakers(out, &health);
    collect_pauses(out, &health);
    collect_load(out, &health);
}

fn collect_attempts(out: &mut Exposition, health: &[BackendHealth], stats: &[BackendStats]) {
    let mut family = out.histogram(
        "tintype_backend_try_duration_seconds",
        "Duration of one attempt on a backend, by outcome.",
    );
    for (backend, stats) in health.iter().zip(stats) {
        for outcome in BackendAttemptOutcome::ALL {
            let read = stats.attempts[outcome as usize].read();
            // Successful attempts are exported from the start, other outcomes from their first attempt on.
            if outcome == BackendAttemptOutcome::Image || read.count() > 0 {
                let labels = [
                    ("backend", backend.name.as_str()),
                    ("outcome", outcome.as_str()),
                ];
                family.seconds(&labels, &read);
            }
        }
    }
}

fn collect_counters(out: &mut Exposition, health: &[BackendHealth], stats: &[BackendStats]) {
    let counters: [Counter; 4] = [
        (
            "tintype_backend_retries_total",
            "Attempts that repeated a failed one.",
            |_, it| it.retries.load(Ordering::Relaxed),
        ),
        (
            "tintype_backend_unusable_pictures_total",
            "Invalid images of the backend.",
            |_, it| it.invalid_images.load(Ordering::Relaxed),
        ),
        (
            "tintype_backend_given_up_total",
            "Runs that failed on the backend and failed over to the next one of the tier, if any.",
            |_, it| it.given_up.load(Ordering::Relaxed),
        ),
        (
            "tintype_backend_breaker_opened_total",
            "Times that the circuit breaker opened, including after failed probes.",
            |it, _| it.opened,
        ),
    ];
    for (name, help, of) in counters {
        let mut family = out.counter(name, help);
        for (backend, stats) in health.iter().zip(stats) {
            family.value(&[("backend", &backend.name)], of(backend, stats));
        }
    }
}

fn collect_breakers(out: &mut Exposition, health: &[BackendHealth]) {
    let mut family = out.gauge(
        "tintype_backend_breaker_state",
        "1 for the current state of the circuit breaker: closed (in use), open (skipped), half_open (probing).",
    );
    for backend in health {
        let now = match backend.health {
            Health::Unknown | Health::Up | Health::Degraded => "closed",
            Health::Down => "open",
            Health::Probing => "half_open",
        };
        for state in ["closed", "open", "half_open"] {
            let labels = [("backend", backend.name.as_str()), ("state", state)];
            family.flag(&labels, state == now);
        }
    }
}

fn collect_pauses(out: &mut Exposition, health: &[BackendHealth]) {
    let mut family = out.gauge(
        "tintype_backend_paused",
        "1 while the operator pauses the backend.",
    );
    for backend in health {
        family.flag(&[("backend", &backend.name)], backend.pause.is_some());
    }
}

fn collect_load(out: &mut Exposition, health: &[BackendHealth]) {
    let mut family = out.gauge(
        "tintype_backend_places",
        "Concurrent runs that the backend accepts.",
    );
    for backend in health {
        family.value(&[("backend", &backend.name)], backend.slots);
    }
    let mut family = out.gauge(
        "tintype_backend_shared",
        "1 if all nodes share the places of the backend; 0 if each node has as many.",
    );
    for backend in health {
        family.flag(&[("backend", &backend.name)], backend.is_shared);
    }
    let mut family = out.gauge("tintype_backend_runs", "Runs on the backend.");
    for backend in health {
        family.value(&[("backend", &backend.name)], backend.running);
    }
}
