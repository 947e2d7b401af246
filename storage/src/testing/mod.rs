//! Engines and records for tests, and the suite that every engine passes. Compiled for tests and benchmarks alone.

pub mod conformance;
pub mod failing;
pub mod layer;
pub mod memory;
mod reads_through;
pub mod samples;
pub mod stalled;
