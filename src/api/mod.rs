//! Requests and answers of `tintype_api` where they need the service: what it knows beyond the record, and what is on sale.

pub(crate) mod answers;
pub(crate) mod batch;
pub(crate) mod batch_table;
pub(crate) mod file_names;
pub(crate) mod generation;
pub(crate) mod requests;
pub(crate) mod stats;
