//! Bytes from outside, in any shape: each reader of them is run over its corpus and thousands of inputs made from it.
//!
//! A target is more than "no panic": it knows what must hold of whatever its reader makes of the bytes. The same targets are
//! run by libFuzzer, led by the coverage of our own code: `tests/fuzz/run`.

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
