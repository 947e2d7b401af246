//! The command line from outside: the real binary against a real server, on loopback.

mod receiving;
mod refusals;
mod support;
