//! Calls that create jobs: bodies, headers and responses.

pub(crate) mod batch_call;
pub(crate) mod batch_lines;
pub(crate) mod cancel_after;
pub(crate) mod dry_run;
pub(crate) mod generation_call;
pub(crate) mod idempotency_key;
