//! The acceptance of jobs and batches.

pub(crate) mod admission;
pub(crate) mod batch_request;
pub(crate) mod call_objects;
pub(crate) mod earlier_images;
pub(crate) mod generation_request;
pub(crate) mod job_refusal;
pub(crate) mod load_shedding;
pub(crate) mod queue_estimate;
pub(crate) mod submit_batch;
pub(crate) mod submit_generation;
