//! Ingestion against misbehaving servers and stores.

mod body_uploads;
mod bounds;
mod failed_cleanup;
mod fetches_at_once;
mod redirects;
mod responses;
#[path = "../../../crates/imaging/tests/imaging/sample_files.rs"]
mod sample_images;
mod server;
mod stores;
mod support;
