//! A job's life cycle, event by event.

use super::*;
use crate::testing::samples;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn job(state: JobState) -> Job {
    Job {
        created_at: at(1_000),
        ..samples::job(state)
    }
}

fn image() -> ResultImage {
    ResultImage {
        key: "results/x.png".into(),
        bytes: 9,
        width: 1,
        height: 1,
        backend: None,
    }
}

#[test]
fn every_state_handles_every_event() {
    let states = [
        JobState::Queued,
        JobState::Processing {
            started_at: at(2_000),
            runs: 1,
        },
        JobState::Processing {
            started_at: at(2_000),
            runs: 3,
        },
        JobState::Done {
            started_at: at(2_000),
            finished_at: at(3_000),
            image: image(),
        },
        JobState::Failed {
            started_at: None,
            finished_at: at(3_000),
            error: CANCELED.into(),
            kind: FailureKind::Canceled,
        },
    ];
    let events = [
        JobEvent::Begin { max_runs: 3 },
        JobEvent::InputsFetched {
            inputs: vec![InputImage {
                key: "inputs/x".into(),
                bytes: 9,
                width: 1,
                height: 1,
            }],
            ratio: AspectRatio::SQUARE,
        },
        JobEvent::CutOff,
        JobEvent::Finish { image: image() },
        JobEvent::Fail {
            error: "no".into(),
            kind: FailureKind::Refused,
        },
        JobEvent::Cancel,
        JobEvent::Abandon,
        JobEvent::Unserved,
        JobEvent::Expire { due: at(9_000) },
    ];
    let mut grid = String::new();
    for state in &states {
        grid.push_str(&format!("{state:?}\n"));
        for event in &events {
            let step = transition(&job(state.clone()), event.clone(), at(9_000));
            let line = step.map_or_else(
                |error| format!("refused: {error}"),
                |step| format!("{:?}, {:?}", step.job.state, step.money),
            );
            grid.push_str(&format!("    {event:?}\n        {line}\n"));
        }
    }
    insta::assert_snapshot!(grid);
}

#[test]
fn an_error_is_plain_and_short() {
    let step = transition(
        &job(JobState::Processing {
            started_at: at(0),
            runs: 1,
        }),
        JobEvent::Fail {
            error: format!("caf\u{e9}\n{}", "x".repeat(9_000)),
            kind: FailureKind::Broken,
        },
        at(1),
    );
    let JobState::Failed { error, .. } = step.unwrap().job.state else {
        panic!("not failed")
    };
    assert!(error.starts_with("caf??xx") && error.chars().count() == MAX_ERROR_CHARS);
}

#[test]
fn hostile_109_a_clock_set_back_never_ends_a_job_before_it_began() {
    let step = transition(
        &job(JobState::Processing {
            started_at: at(5_000),
            runs: 1,
        }),
        JobEvent::Finish { image: image() },
        at(10),
    );
    assert!(
        matches!(step.unwrap().job.state, JobState::Done { finished_at, .. } if finished_at == at(5_000))
    );
}
