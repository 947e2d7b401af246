//! Jobs: how many there are, how they came to be and to an end, and how long that took.

use super::Sources;
use super::exposition::Exposition;
use std::sync::atomic::{AtomicU64, Ordering};
use tintype_actors::ports::JobOutcome;
use tintype_storage::domain::ids;
use tintype_storage::domain::tier::{Mode, Tier};

pub fn collect(told: &mut Exposition, sources: &Sources<'_>) {
    queues(told, sources);
    switches(told, sources);
    life(told, sources);
}

fn queues(told: &mut Exposition, sources: &Sources<'_>) {
    let queues: Vec<_> = Tier::ALL
        .iter()
        .map(|tier| (tier.word(), sources.system.waiting_jobs().of_tier(*tier)))
        .collect();
    let mut family = told.gauge("tintype_jobs", "Jobs that have not ended.");
    for (tier, (queued, processing, _)) in &queues {
        family
            .value(&[("tier", tier), ("state", "queued")], queued)
            .value(&[("tier", tier), ("state", "processing")], processing);
    }
    let now = sources.now.millis();
    let mut family = told.gauge(
        "tintype_jobs_oldest_queued_age_seconds",
        "How long the job has waited that has waited longest for its first run; 0 where none waits.",
    );
    for (tier, (_, _, oldest)) in &queues {
        let since = oldest.and_then(|job| ids::moment_of(&job.0));
        let age = since.map_or(0, |since| now.saturating_sub(since.millis()).max(0));
        family.value(&[("tier", tier)], age as f64 / 1_000.0);
    }
    told.gauge(
        "tintype_jobs_live",
        "Jobs that have not ended, as they count towards the limit.",
    )
    .value(&[], sources.system.live_jobs());
    told.gauge(
        "tintype_jobs_live_limit",
        "The number of live jobs from which on calls are answered 503.",
    )
    .value(&[], sources.max_live_jobs);
    told.gauge(
        "tintype_waiting_callers",
        "Callers whose answer or stream waits for news of a job.",
    )
    .value(&[], sources.system.waiting_callers());
}

fn switches(told: &mut Exposition, sources: &Sources<'_>) {
    let pause = &sources.pause;
    let mut family = told.gauge(
        "tintype_paused",
        "1 where the operator has paused the whole service, or a model.",
    );
    family.flag(&[("what", "project")], pause.project);
    for tier in Tier::ALL {
        family.flag(&[("what", tier.word())], pause.tiers[tier.index()]);
    }
}

fn life(told: &mut Exposition, sources: &Sources<'_>) {
    let figures = &sources.system.stats().jobs;
    let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let mut family = told.counter("tintype_jobs_accepted_total", "Jobs that were accepted.");
    for tier in Tier::ALL {
        for mode in Mode::ALL {
            let count = read(&figures.accepted[tier.index()][*mode as usize]);
            family.value(&[("tier", tier.word()), ("mode", mode.word())], count);
        }
    }
    told.counter(
        "tintype_jobs_replayed_total",
        "Calls that were answered with the job of their idempotency key's first use.",
    )
    .value(&[], read(&figures.replayed));
    let mut family = told.counter(
        "tintype_jobs_ended_total",
        "Jobs that ended: done, or why they failed.",
    );
    for tier in Tier::ALL {
        for ending in JobOutcome::ALL {
            let labels = [("tier", tier.word()), ("outcome", ending.word())];
            family.value(&labels, read(&figures.ended[tier.index()][ending.index()]));
        }
    }
    let mut family = told.counter(
        "tintype_jobs_begun_again_total",
        "Runs that began anew because a restart had cut off the one before.",
    );
    for tier in Tier::ALL {
        let count = read(&figures.begun_again[tier.index()]);
        family.value(&[("tier", tier.word())], count);
    }
    let mut family = told.histogram(
        "tintype_job_queue_wait_seconds",
        "Time from the acceptance of a job to its first run.",
    );
    for tier in Tier::ALL {
        let waits = figures.waits[tier.index()].read();
        family.seconds(&[("tier", tier.word())], &waits);
    }
    let mut family = told.histogram(
        "tintype_job_duration_seconds",
        "Time from the acceptance of a job to its end.",
    );
    for tier in Tier::ALL {
        let lives = figures.lives[tier.index()].read();
        family.seconds(&[("tier", tier.word())], &lives);
    }
    told.histogram(
        "tintype_jobs_per_commit",
        "Jobs that one commit of an account accepted together.",
    )
    .numbers(&[], &figures.per_commit.read());
}
