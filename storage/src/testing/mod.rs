//! Engines and records for tests, and the conformance suite. Compiled for tests and benchmarks only.

pub mod conformance;
pub mod failing;
pub mod layer;
pub mod memory;
mod reads_through;
pub mod samples;
pub mod stalled;
