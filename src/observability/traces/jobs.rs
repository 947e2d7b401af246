//! The spans of a job: the job itself, its wait in the queue, its runs with their attempts, and its webhook attempts.
//!
//! No span holds a prompt, metadata or a URL. A backend's message could repeat the prompt, so a span only has the outcome's code; the
//! job's record has the full message.

use super::exporter::Exporter;
use super::ids::{self, SpanId};
use super::span::{Kind, Span, since_epoch};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::clock::Clock;
use tintype_actors::ports::{BackendAttemptOutcome, JobOutcome};
use tintype_actors::ports::{Observer, RunEnd, RunReport};
use tintype_storage::domain::delivery::{Attempt, Delivery, DeliveryKind};
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::{Job, JobState, Origin};

/// Builds the spans of jobs and queues them in the exporter.
pub struct JobTraces {
    exporter: Arc<Exporter>,
    clock: Clock,
    ratio: f64,
}

impl JobTraces {
    /// `ratio` (0 to 1) is the fraction of jobs to trace.
    pub fn new(exporter: Arc<Exporter>, clock: Clock, ratio: f64) -> Self {
        Self {
            exporter,
            clock,
            ratio,
        }
    }

    fn is_traced(&self, job: JobId) -> bool {
        ids::is_sampled(job, self.ratio)
    }
}

fn child_span(
    job: JobId,
    parent: SpanId,
    name: &'static str,
    began: Duration,
    ended: Duration,
) -> Span {
    Span {
        trace: ids::trace_of(job),
        id: ids::random(),
        parent: Some(parent),
        name,
        kind: Kind::Internal,
        began,
        // The clock may have been set back: a span must not end before it begins.
        ended: ended.max(began),
        attributes: Vec::new(),
        failure: None,
    }
}

impl Observer for JobTraces {
    fn run_ended(&self, run: &RunReport<'_>) {
        let job = run.job.id;
        if !self.is_traced(job) {
            return;
        }
        let ended = since_epoch((self.clock)());
        let began = ended.saturating_sub(run.took);
        let mut span = child_span(job, ids::span_of(job), "run", began, ended);
        span.attributes.push(("tintype.job_id", text(job)));
        if let JobState::Processing { runs, .. } = run.job.state {
            span.attributes.push(("tintype.run", runs.into()));
        }
        let (word, failure) = match run.end {
            RunEnd::Image => ("picture", None),
            RunEnd::Failed(ending) => ("failed", Some(ending.as_str().to_owned())),
            RunEnd::CutOff => ("cut_off", None),
        };
        span.attributes.push(("tintype.outcome", word.into()));
        span.failure = failure;
        for report in &run.attempts {
            let from = began + report.after;
            let mut attempt = child_span(job, span.id, "attempt", from, from + report.took);
            attempt.kind = Kind::Client;
            let backend = report.backend.as_str();
            attempt.attributes.push(("tintype.backend", backend.into()));
            let word = report.outcome.as_str();
            attempt.attributes.push(("tintype.outcome", word.into()));
            let is_failure = report.outcome != BackendAttemptOutcome::Image;
            attempt.failure = is_failure.then(|| word.to_owned());
            self.exporter.offer(attempt);
        }
        self.exporter.offer(span);
    }

    fn job_ended(&self, job: &Job) {
        if !self.is_traced(job.id) {
            return;
        }
        let (started, finished, failure) = match &job.state {
            JobState::Queued | JobState::Processing { .. } => return,
            JobState::Done {
                started_at,
                finished_at,
                ..
            } => (Some(*started_at), *finished_at, None),
            JobState::Failed {
                started_at,
                finished_at,
                ..
            } => (
                *started_at,
                *finished_at,
                JobOutcome::of(job).map(|it| it.as_str().to_owned()),
            ),
        };
        let (began, ended) = (since_epoch(job.created_at), since_epoch(finished));
        let root = ids::span_of(job.id);
        let until = started.map_or(ended, since_epoch);
        self.exporter.offer(Span {
            id: ids::child_span_of(job.id, "queue"),
            ..child_span(job.id, root, "queue", began, until)
        });
        let origin = match job.origin {
            Origin::Native => "native",
            Origin::Synchronous => "synchronous",
            Origin::Batch(_) => "batch",
            Origin::Background => "background",
        };
        let outcome = JobOutcome::of(job).map_or("", JobOutcome::as_str);
        self.exporter.offer(Span {
            id: root,
            parent: None,
            kind: Kind::Server,
            attributes: vec![
                ("tintype.job_id", text(job.id)),
                ("tintype.account_id", text(job.account)),
                ("tintype.key_id", text(job.key)),
                ("tintype.tier", job.tier.as_str().into()),
                ("tintype.mode", job.mode.as_str().into()),
                ("tintype.resolution", job.resolution.as_str().into()),
                ("tintype.aspect_ratio", text(job.ratio)),
                ("tintype.origin", origin.into()),
                ("tintype.outcome", outcome.into()),
            ],
            failure,
            ..child_span(job.id, root, "job", began, ended)
        });
    }

    fn attempt_ended(&self, delivery: &Delivery, attempt: &Attempt) {
        // Test deliveries have no job, and batch deliveries have many.
        let Some(job) = delivery
            .job()
            .filter(|it| delivery.kind == DeliveryKind::Event && self.is_traced(*it))
        else {
            return;
        };
        let root = ids::span_of(job);
        let (began, ended) = (since_epoch(attempt.at), since_epoch(attempt.ended_at()));
        let mut span = child_span(job, root, "webhook attempt", began, ended);
        span.kind = Kind::Client;
        let attributes = &mut span.attributes;
        attributes.push(("tintype.job_id", text(job)));
        attributes.push(("tintype.delivery_id", text(delivery.id)));
        attributes.push(("tintype.webhook_id", text(delivery.webhook)));
        attributes.push(("tintype.attempt", (delivery.attempts + 1).into()));
        if let Some(status) = attempt.status_code {
            attributes.push(("http.response.status_code", status.into()));
        }
        if !attempt.succeeded() {
            let status = || format!("status {}", attempt.status_code.unwrap_or_default());
            span.failure = Some(attempt.error.clone().unwrap_or_else(status));
        }
        self.exporter.offer(span);
    }
}

fn text(value: impl ToString) -> Value {
    value.to_string().into()
}
