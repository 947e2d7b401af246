//! What makes pictures: one module for each kind of back end.

pub mod builtin;
pub mod procedural;
pub mod upstream;
