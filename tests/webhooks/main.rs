//! Webhooks end to end: a real server with real receivers on loopback, and the actors alone on a simulated clock.
//!
//! `spec_*` has one test for each row of the specification's "Events", `admin_*` tests the operator's calls, and `hostile_*` the
//! hostile cases by their numbers. The directory also holds the golden deliveries and the programs in other languages that verify
//! them.

mod admin_audit;
mod admin_deliveries;
mod admin_webhooks;
mod batch_end;
mod certificates;
mod checks;
mod cluster_vault;
mod crash_matrix;
mod erasure;
mod helpers;
mod hostile_names;
mod hostile_responses;
mod inactive_webhooks;
mod isolation;
mod late_commits;
mod operator_events;
mod receiver;
mod restart;
mod retention;
mod schedule;
mod secrets;
mod sender_faults;
mod simulation;
mod spec_delivery;
mod spec_payload;
mod spec_retries;
mod spec_selection;
mod spec_signature;
#[allow(
    dead_code,
    unused_imports,
    reason = "shared with the tests of the HTTP edge, which use all of it"
)]
#[path = "../api/support/mod.rs"]
mod support;
