//! The synchronous APIs of a real server on loopback, called with requests recorded from the SDKs. The programs in Python and
//! JavaScript in this directory call the SDKs themselves.
//!
//! `spec_*` has one test for each row of the specification's tables.

mod auth;
mod check_order;
mod deadlines;
mod disconnects;
mod failed_batches;
mod file_batches;
mod fixture;
mod hostile_bodies;
mod idempotency;
mod inputs;
mod interactions;
mod jobs;
mod models;
mod object_store;
mod openai_background_responses;
mod openai_backgrounds;
mod openai_batch_refusals;
mod openai_batch_retries;
mod openai_batches;
mod openai_edit_batches;
mod openai_edit_calls;
mod openai_edits;
mod openai_errors;
mod openai_files;
mod openai_generations;
mod openai_json_edits;
mod openai_masks;
mod openai_responses;
mod openai_streams;
mod outages;
mod output_formats;
mod preflight;
mod rates;
mod recorded;
mod responses;
mod sdk_retries;
mod spec_errors;
mod streams;
#[allow(
    dead_code,
    unused_imports,
    reason = "shared with the tests of the HTTP edge, which use all of it"
)]
#[path = "../api/support/mod.rs"]
mod support;
mod upload_limits;
mod wrong_base_urls;
