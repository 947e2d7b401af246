//! Tintype: a self-hosted server that generates images from prompts asynchronously.
//!
//! This package contains the configuration, HTTP, the command line, backends and the object store. `tintype-actors` orders the
//! work, and `tintype-storage` contains the records and their rules.

mod admin_token;
pub(crate) mod api;
pub mod application;
pub mod backends;
pub mod backup;
mod batch_input_fetcher;
pub mod catalog;
pub mod cli;
mod cluster_secret;
pub mod compat;
pub mod config;
mod cost_cache;
mod csv_text;
pub mod data_dir;
pub mod decode_permits;
#[doc(hidden)]
pub mod fuzzing;
pub mod http;
pub mod inputs;
pub mod job_objects;
mod management;
pub mod objects;
pub mod observability;
mod outgoing_http;
pub mod panel;
mod private_file;
mod reference;
mod request_text;
pub mod server;
pub mod web;
pub mod webhooks;
