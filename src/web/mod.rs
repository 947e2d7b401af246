//! What the HTTP interfaces share: problems, bodies, lists, authentication and headers.

pub(crate) mod access;
pub(crate) mod api_key_auth;
pub(crate) mod assets;
pub(crate) mod audit_context;
pub(crate) mod auth;
pub(crate) mod batch_call;
pub(crate) mod batch_lines;
pub(crate) mod bearer;
pub(crate) mod body;
pub(crate) mod cancel_after;
pub(crate) mod catch_panic;
pub(crate) mod client_address;
pub(crate) mod delivery_list;
pub(crate) mod dry_run;
pub(crate) mod error_conversion;
pub(crate) mod generation_call;
pub(crate) mod idempotency_key;
pub(crate) mod job_query;
pub(crate) mod ledger_query;
pub(crate) mod paging;
pub(crate) mod picture_view;
pub mod problem;
pub(crate) mod query;
pub(crate) mod rate_headers;
pub(crate) mod request_id;
pub(crate) mod unread_body;
