//! Engines and records for tests, and the conformance suite. Compiled for tests and benchmarks only.

pub mod conformance;
pub mod failing;
pub mod layer;
pub mod memory;
pub mod rounds;
pub mod samples;
pub mod stalled;
mod store_read_set;
