//! The library as its callers see it.

mod headers;
mod sample_files;
