//! The command line: the real binary against a real server on loopback.

mod batches;
mod installed;
mod operating;
mod receiving;
mod refusals;
mod support;
