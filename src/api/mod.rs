//! Requests and responses of `tintype_api` that need the state of the service, such as the catalog.

pub(crate) mod batch;
pub(crate) mod batch_form;
pub(crate) mod batch_table;
pub(crate) mod file_names;
pub(crate) mod generation;
pub(crate) mod job_views;
pub(crate) mod requests;
pub(crate) mod responses;
pub(crate) mod stats;
