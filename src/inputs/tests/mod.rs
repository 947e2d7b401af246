//! Ingestion against misbehaving servers and stores.

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
