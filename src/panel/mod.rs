//! The web panel: pages from the binary, and the JSON that they are filled with. Most of it is the handlers of
//! [`crate::management`], for visitors who have signed in.

mod audit;
mod batch_pictures;
mod batches;
mod charts;
mod cookie;
mod csv_file;
mod events;
mod form;
mod guard;
mod home;
mod invitations;
mod jobs;
mod key;
mod ledger;
mod names;
mod overview;
mod pages;
mod payer;
mod pictures;
mod playground;
mod queue;
mod routes;
mod sent;
mod service;
mod service_usage;
mod sessions;
mod usage;
mod usage_sums;
mod webhook_console;
mod webhook_outcomes;
mod zip_archive;

pub use routes::configure;

use service::Figures;
use service_usage::Gathered;

/// What the panel keeps in memory.
#[derive(Default)]
pub struct Panel {
    /// Of the whole service.
    figures: Figures,
    /// Of all accounts.
    usage: Gathered,
}
