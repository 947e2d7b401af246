//! Calls that the operator interface and the panel have in common.

pub(crate) mod jobs;
