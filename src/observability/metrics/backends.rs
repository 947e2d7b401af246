//! Back ends: their tries, their health, and how busy they are.

use super::exposition::Exposition;
use std::sync::atomic::{AtomicU64, Ordering};
use tintype_actors::backends::Health;
use tintype_actors::system::System;
use tintype_actors::{ports::TryOutcome, stats::BackendStats};

/// A name, its help, and where the count is.
type Counter = (&'static str, &'static str, fn(&BackendStats) -> &AtomicU64);

pub fn collect(told: &mut Exposition, system: &System) {
    let health = system.backends();
    let figures = &system.stats().backends;
    let all = || health.iter().zip(figures);
    let mut family = told.histogram(
        "tintype_backend_try_duration_seconds",
        "Time of one try on a back end, by what it came to.",
    );
    for (backend, figures) in all() {
        for outcome in TryOutcome::ALL {
            let read = figures.tries[outcome as usize].read();
            // The tries that gave a picture are told from the start, the others once there is one.
            if outcome == TryOutcome::Picture || read.count() > 0 {
                let labels = [
                    ("backend", backend.name.as_str()),
                    ("outcome", outcome.word()),
                ];
                family.seconds(&labels, &read);
            }
        }
    }
    let counters: [Counter; 3] = [
        (
            "tintype_backend_retries_total",
            "Tries that repeated one that had failed.",
            |it| &it.retries,
        ),
        (
            "tintype_backend_unusable_pictures_total",
            "Pictures of the back end that were no sound pictures, or could not be kept.",
            |it| &it.unusable,
        ),
        (
            "tintype_backend_given_up_total",
            "Runs that gave up on the back end, and went on to the next one of their tier if there was one.",
            |it| &it.given_up,
        ),
    ];
    for (name, help, of) in counters {
        let mut family = told.counter(name, help);
        for (backend, figures) in all() {
            let count = of(figures).load(Ordering::Relaxed);
            family.value(&[("backend", &backend.name)], count);
        }
    }
    let mut family = told.counter(
        "tintype_backend_breaker_opened_total",
        "How often the back end began to be passed over, after failed probes too.",
    );
    for backend in &health {
        family.value(&[("backend", &backend.name)], backend.opened);
    }
    let mut family = told.gauge(
        "tintype_backend_breaker_state",
        "1 at the state in which the breaker is: closed (used), open (passed over), half_open (being tried out).",
    );
    for backend in &health {
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
    let mut family = told.gauge(
        "tintype_backend_places",
        "Runs that the back end takes at a time.",
    );
    for backend in &health {
        family.value(&[("backend", &backend.name)], backend.slots);
    }
    let mut family = told.gauge("tintype_backend_runs", "Runs that the back end has.");
    for backend in &health {
        family.value(&[("backend", &backend.name)], backend.running);
    }
}
