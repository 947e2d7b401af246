//! Tintype: a self-hosted server that turns prompts into pictures asynchronously.
//!
//! This package is the edge: configuration, HTTP, the command line, back ends and the object store. What is decided and in
//! which order lives in `tintype-actors`; what is kept, and the rules of it, in `tintype-storage`.

pub mod app;
mod assets;
pub mod backends;
pub mod backup;
pub mod catalog;
pub mod cli;
pub mod compat;
pub mod config;
pub mod data_dir;
pub mod decoding;
pub mod descriptors;
pub mod egress;
pub mod first_run;
#[doc(hidden)]
pub mod fuzzing;
pub mod gallery;
pub mod housekeeping;
pub mod http;
pub mod images;
pub mod inputs;
mod ledger_csv;
pub mod metrics;
pub mod panel;
mod reference;
pub mod secrets;
pub mod server;
pub mod stale_inputs;
pub mod telemetry;
pub mod traces;
pub mod webhooks;
mod words;
