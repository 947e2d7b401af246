//! Which trace and which span a job is, and whether it is one of those that are traced.

use sha2::{Digest, Sha256};
use tintype_storage::domain::ids::JobId;

/// The id of a trace.
pub type TraceId = [u8; 16];
/// The id of a span within its trace.
pub type SpanId = [u8; 8];

/// The trace of a job: its id, bit by bit.
pub fn trace_of(job: JobId) -> TraceId {
    *job.as_bytes()
}

/// The span of the job itself: the lower half of its id, in which the variant of a UUID keeps it from being zero.
pub fn span_of(job: JobId) -> SpanId {
    let mut id = [0; 8];
    id.copy_from_slice(&job.as_bytes()[8..]);
    id
}

/// A span below that of the job which there is once, so that it is the same whoever tells of it.
pub fn part_of(job: JobId, part: &str) -> SpanId {
    let mut hash = Sha256::new();
    hash.update(job.as_bytes());
    hash.update(part);
    let mut id = [0; 8];
    id.copy_from_slice(&hash.finalize()[..8]);
    id
}

/// A span like none before.
pub fn fresh() -> SpanId {
    rand::random()
}

/// Is this job among the part `ratio` (0 to 1) of all that are traced? The same for each process: the last four bytes of a job's
/// id are random.
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
    fn ids_follow_from_the_job_and_differ_within_its_trace() {
        let jobs = jobs(2);
        let job: JobId = jobs[0].to_string().parse().unwrap();
        assert_eq!(trace_of(job), trace_of(jobs[0]));
        assert_eq!(span_of(job), span_of(jobs[0]));
        assert_eq!(part_of(job, "queue"), part_of(jobs[0], "queue"));
        assert_ne!(part_of(job, "queue"), span_of(job));
        assert_ne!(part_of(job, "queue"), part_of(jobs[1], "queue"));
        assert_ne!(trace_of(job), trace_of(jobs[1]));
        assert_ne!(span_of(job), [0; 8]);
    }

    #[test]
    fn about_the_part_asked_for_is_traced() {
        let jobs = jobs(4_000);
        let traced = |ratio: f64| jobs.iter().filter(|it| is_sampled(**it, ratio)).count();
        assert_eq!((traced(0.0), traced(1.0)), (0, 4_000));
        let quarter = traced(0.25);
        assert!((800..1_200).contains(&quarter), "{quarter}");
    }
}
