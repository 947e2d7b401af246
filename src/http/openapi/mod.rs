//! The OpenAPI 3.1 documents of what is served: one for clients, one for the operator.
//!
//! They are made from the table that the paths are registered with, from the types that the answers are written from, from
//! the lists of fields that bodies are read by, and from the configuration in effect: ratios, sizes and limits are this
//! instance's own. What is written by hand is the prose and the examples, which tests hold against the schemas.

pub mod bodies;
mod door;
mod headers;

mod operation;
pub mod prose;
pub mod refusals;
mod served;
mod sketch;

pub use door::Door;
pub use headers::Header;
pub use operation::{Answer, Operation, named};
pub use prose::span;
pub use served::{Documents, native, operator};
pub use sketch::Sketch;
