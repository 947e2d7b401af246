//! The OpenAPI 3.1 documents of this instance: one for clients, one for the operator.
//!
//! They are generated from the router, the response types, the field lists of the body parsers and the configuration, so ratios, sizes and
//! limits are those of this instance. Only prose and examples are written by hand; tests check the examples against the schemas.

pub mod bodies;
mod document_builder;
pub mod error_responses;
mod handlers;
mod headers;
mod operation;
pub mod operations;
pub mod prose;
mod required_auth;

pub use document_builder::DocumentBuilder;
pub use handlers::{Document, Documents, native, operator};
pub use headers::Header;
pub use operation::{Operation, ResponseDoc, date_time, named_examples, uuid};
pub use prose::span;
pub use required_auth::RequiredAuth;
