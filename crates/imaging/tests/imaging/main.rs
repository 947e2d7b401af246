//! Tests of the public API.

mod headers;
mod sample_files;
