//! Derives trace and span ids from job ids, and decides which jobs are sampled.

use sha2::{Digest, Sha256};
use tintype_storage::domain::ids::JobId;

pub type TraceId = [u8; 16];
pub type SpanId = [u8; 8];

/// The trace id equals the job id.
pub fn trace_of(job: JobId) -> TraceId {
    *job.as_bytes()
}

/// The id of the job's root span: the lower half of the job id, which the UUID variant keeps from being zero.
pub fn span_of(job: JobId) -> SpanId {
    let mut id = [0; 8];
    id.copy_from_slice(&job.as_bytes()[8..]);
    id
}

/// A deterministic id for a child span that each job has once, so that every process derives the same id.
pub fn child_span_of(job: JobId, part: &str) -> SpanId {
    let mut hash = Sha256::new();
    hash.update(job.as_bytes());
    hash.update(part);
    let mut id = [0; 8];
    id.copy_from_slice(&hash.finalize()[..8]);
    id
}

pub fn random() -> SpanId {
    rand::random()
}

/// Is this job traced, if `ratio` (0 to 1) is the fraction of traced jobs? Every process decides alike, by the last four bytes of the
/// job id, which are random.
pub fn is_sampled(job: JobId, ratio: f64) -> bool {
    let [.., a, b, c, d] = *job.as_bytes();
    f64::from(u32::from_be_bytes([a, b, c, d])) < ratio * (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::domain::ids::IdSource;
    use tintype_storage::domain::time::Timestamp;

    fn jobs(count: usize) -> Vec<JobId> {
        let source = IdSource::new(Timestamp::from_millis(0));
        let moment = Timestamp::from_millis(1_795_000_000_000);
        (0..count).map(|_| JobId(source.next(moment))).collect()
    }

    #[test]
    fn ids_derive_from_the_job_and_differ_within_its_trace() {
        let jobs = jobs(2);
        let job: JobId = jobs[0].to_string().parse().unwrap();
        assert_eq!(trace_of(job), trace_of(jobs[0]));
        assert_eq!(span_of(job), span_of(jobs[0]));
        assert_eq!(child_span_of(job, "queue"), child_span_of(jobs[0], "queue"));
        assert_ne!(child_span_of(job, "queue"), span_of(job));
        assert_ne!(child_span_of(job, "queue"), child_span_of(jobs[1], "queue"));
        assert_ne!(trace_of(job), trace_of(jobs[1]));
        assert_ne!(span_of(job), [0; 8]);
    }

    #[test]
    fn about_the_given_fraction_is_traced() {
        let jobs = jobs(4_000);
        let traced = |ratio: f64| jobs.iter().filter(|it| is_sampled(**it, ratio)).count();
        assert_eq!((traced(0.0), traced(1.0)), (0, 4_000));
        let quarter = traced(0.25);
        assert!((800..1_200).contains(&quarter), "{quarter}");
    }
}
