//! One function for each reader of bytes from outside. It panics where something does not hold that must.

mod canonical_json;
mod download_url;
mod form;
mod inline_pictures;
mod journal;
mod outside_url;
mod picture_outline;
mod record;
mod request_body;
mod signature;

/// A reader under test.
pub struct Target {
    /// The name of its corpus.
    pub name: &'static str,
    /// Reads an input.
    pub run: fn(&[u8]),
    /// Inputs that are made for it in an ordinary run of the tests.
    pub rounds: usize,
}

/// All of them.
pub const ALL: &[Target] = &[
    target("request_body", request_body::run, 4_000),
    target("canonical_json", canonical_json::run, 4_000),
    target("download_url", download_url::run, 3_000),
    target("record", record::run, 6_000),
    // Through files, and through a service: fewer.
    target("journal", journal::run, 600),
    target("form", form::run, 300),
    target("picture_outline", picture_outline::run, 6_000),
    target("outside_url", outside_url::run, 6_000),
    target("signature", signature::run, 3_000),
    target("inline_pictures", inline_pictures::run, 3_000),
];

const fn target(name: &'static str, run: fn(&[u8]), rounds: usize) -> Target {
    Target { name, run, rounds }
}
