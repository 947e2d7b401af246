//! The command line: the real binary against a real server on loopback.

mod backends;
mod batches;
#[path = "../recovery/bucket.rs"]
mod bucket;
mod callers;
mod canceling;
mod cluster;
mod erasing;
mod installed;
mod ledger;
mod lost_deliveries;
mod lost_responses;
mod naming;
mod operating;
mod operator_events;
#[allow(
    dead_code,
    reason = "shared with the tests of the HTTP edge, which use all of it"
)]
#[path = "../api/support/poll.rs"]
mod poll;
mod receiving;
mod refusals;
#[allow(
    dead_code,
    reason = "shared with the tests of the HTTP edge, which use all of it"
)]
#[path = "../api/support/running.rs"]
mod running;
mod support;
