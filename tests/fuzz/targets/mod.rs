//! One function for each reader of external bytes. It panics if an invariant does not hold.

mod canonical_json;
mod download_url;
mod form;
mod image_header;
mod inline_images;
mod journal;
mod outside_url;
mod record;
mod request_body;
mod signature;

pub struct Target {
    /// Also the name of its corpus directory.
    pub name: &'static str,
    pub run: fn(&[u8]),
    /// Number of mutations in an ordinary test run.
    pub rounds: usize,
}

pub const ALL: &[Target] = &[
    target("request_body", request_body::run, 4_000),
    target("canonical_json", canonical_json::run, 4_000),
    target("download_url", download_url::run, 3_000),
    target("record", record::run, 6_000),
    // Fewer: these work on files or call a service.
    target("journal", journal::run, 600),
    target("form", form::run, 300),
    target("image_header", image_header::run, 6_000),
    target("outside_url", outside_url::run, 6_000),
    target("signature", signature::run, 3_000),
    target("inline_images", inline_images::run, 3_000),
];

const fn target(name: &'static str, run: fn(&[u8]), rounds: usize) -> Target {
    Target { name, run, rounds }
}
