//! Ingestion against servers and stores that misbehave in every way we could think of.

mod answers;
mod bounds;
mod failed_cleanup;
mod fetches_at_once;
#[path = "../../../crates/imaging/tests/imaging/sample_files.rs"]
mod pictures;
mod redirects;
mod server;
mod staged_uploads;
mod stores;
mod support;
