//! Jobs: queues, outcomes and durations.

use super::Sources;
use super::exposition::Exposition;
use std::sync::atomic::{AtomicU64, Ordering};
use tintype_actors::ports::JobOutcome;
use tintype_storage::domain::tier::{Mode, Tier};

pub fn collect(out: &mut Exposition, sources: &Sources<'_>) {
    queues(out, sources);
    switches(out, sources);
    life(out, sources);
}

fn queues(out: &mut Exposition, sources: &Sources<'_>) {
    let jobs = sources.system.queue();
    let mut family = out.gauge("tintype_jobs", "Jobs that have not ended.");
    for tier in Tier::ALL {
        let states = [
            ("queued", jobs.queued(tier)),
            ("processing", jobs.begun(tier)),
        ];
        for (state, count) in states {
            family.value(&[("tier", tier.as_str()), ("state", state)], count);
        }
    }
    let now = sources.now.millis();
    if let Some(stored) = &sources.stored {
        let mut family = out.gauge(
            "tintype_jobs_oldest_queued_age_seconds",
            "Age of the oldest job that waits for its first run; 0 if none waits.",
        );
        for (tier, oldest) in Tier::ALL.iter().zip(stored.oldest_queued) {
            let age = oldest.map_or(0, |since| now.saturating_sub(since.millis()).max(0));
            family.value(&[("tier", tier.as_str())], age as f64 / 1_000.0);
        }
    }
    out.gauge(
        "tintype_jobs_live",
        "Jobs that have not ended and count towards the limit.",
    )
    .value(&[], sources.system.queue().live());
    out.gauge(
        "tintype_jobs_live_limit",
        "The number of live jobs at which calls are rejected with 503.",
    )
    .value(&[], sources.max_live_jobs);
    out.gauge("tintype_waiting_callers", "Callers that wait for a job.")
        .value(&[], sources.system.waiting_callers());
}

fn switches(out: &mut Exposition, sources: &Sources<'_>) {
    let pause = &sources.pause;
    let mut family = out.gauge(
        "tintype_paused",
        "1 while the operator pauses the whole service or the model.",
    );
    family.flag(&[("what", "project")], pause.project);
    for tier in Tier::ALL {
        family.flag(&[("what", tier.as_str())], pause.tiers[tier.index()]);
    }
    let mut family = out.gauge(
        "tintype_all_backends_paused",
        "1 while the operator pauses all backends of the model.",
    );
    for tier in Tier::ALL {
        let is_paused = sources.system.has_only_paused_backends(tier);
        family.flag(&[("tier", tier.as_str())], is_paused);
    }
}

fn life(out: &mut Exposition, sources: &Sources<'_>) {
    let stats = &sources.system.stats().jobs;
    let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let mut family = out.counter("tintype_jobs_accepted_total", "Accepted jobs.");
    for tier in Tier::ALL {
        for mode in Mode::ALL {
            let count = read(&stats.accepted[tier.index()][mode as usize]);
            family.value(&[("tier", tier.as_str()), ("mode", mode.as_str())], count);
        }
    }
    out.counter(
        "tintype_jobs_replayed_total",
        "Calls answered with the existing job of their idempotency key.",
    )
    .value(&[], read(&stats.replayed));
    let mut family = out.counter(
        "tintype_jobs_ended_total",
        "Ended jobs by outcome: done, or the cause of the failure.",
    );
    for tier in Tier::ALL {
        for ending in JobOutcome::all() {
            let labels = [("tier", tier.as_str()), ("outcome", ending.as_str())];
            family.value(&labels, read(&stats.ended[tier.index()][ending.index()]));
        }
    }
    let mut family = out.counter(
        "tintype_jobs_begun_again_total",
        "Runs repeated because a restart interrupted the previous one.",
    );
    for tier in Tier::ALL {
        let count = read(&stats.begun_again[tier.index()]);
        family.value(&[("tier", tier.as_str())], count);
    }
    let mut family = out.histogram(
        "tintype_job_queue_wait_seconds",
        "Time from the acceptance of a job to its first run.",
    );
    for tier in Tier::ALL {
        let waits = stats.waits[tier.index()].read();
        family.seconds(&[("tier", tier.as_str())], &waits);
    }
    let mut family = out.histogram(
        "tintype_job_duration_seconds",
        "Time from the acceptance of a job to its end.",
    );
    for tier in Tier::ALL {
        let lives = stats.lives[tier.index()].read();
        family.seconds(&[("tier", tier.as_str())], &lives);
    }
    out.histogram(
        "tintype_jobs_per_commit",
        "Jobs that one commit of an account accepted together.",
    )
    .numbers(&[], &stats.per_commit.read());
}
