//! Fuzz tests of every reader of external bytes, over its corpus and thousands of mutations of it.
//!
//! A target asserts more than "no panic": it knows the invariants of its reader's result. `tests/fuzz/run` runs the same
//! targets under libFuzzer, guided by the coverage of our own code.

#![allow(
    unexpected_cfgs,
    reason = "`fuzzing` is what `tests/fuzz/run` builds with, as is usual for fuzz targets"
)]

#[cfg(fuzzing)]
mod coverage;
mod inputs;
mod mutation;
mod rounds;
#[allow(
    dead_code,
    unused_imports,
    reason = "shared with the tests of the HTTP edge, which use all of it"
)]
#[path = "../api/support/mod.rs"]
mod support;
mod targets;
