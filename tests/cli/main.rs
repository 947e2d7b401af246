//! The command line from outside: the real binary against a real server, on loopback.

mod batches;
mod installed;
mod operating;
mod receiving;
mod refusals;
mod support;
