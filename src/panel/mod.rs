//! The web panel: static pages from the binary, and their JSON API. Most handlers are those of [`crate::management`], with
//! session authentication.

mod account_list;
mod audit;
mod batch_images;
mod batches;
mod chart_view;
mod charts;
mod cookie;
mod csv_file;
mod events;
mod form;
mod guard;
mod job_images;
mod jobs;
mod key;
mod ledger;
mod names;
mod overview;
mod owners;
mod pages;
mod payer;
mod playground;
mod queue;
mod routes;
mod service_usage;
mod sessions;
mod settings;
mod stats;
mod usage;
mod usage_view;
mod webhook_views;
mod zip_archive;

pub use routes::configure;

use crate::application::usage::hourly::HourlyReader;
use crate::cost_cache::CostCache;
use serde_json::Value;
use std::sync::Arc;

/// The caches of the panel.
#[derive(Default)]
pub struct Panel {
    /// The statistics of the whole service.
    stats: CostCache<(), Value>,
    /// The usage of all accounts, by its first and its last day.
    usage: CostCache<(i64, i64), Value>,
    hourly: Arc<HourlyReader>,
}
