//! What the HTTP interfaces share: problems, bodies, lists, authentication and headers.

pub(crate) mod assets;
pub(crate) mod auth;
pub(crate) mod body;
pub(crate) mod framing;
pub(crate) mod headers;
pub mod images;
pub(crate) mod no_store;
pub(crate) mod problem;
pub(crate) mod queries;
pub(crate) mod read_only;
pub(crate) mod request_id;
pub(crate) mod streaming;
pub(crate) mod submissions;
pub(crate) mod unread_body;
