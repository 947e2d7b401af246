//! Test support: a real server, well-behaved and malformed clients, and a scripted generator.

pub mod batches;
pub mod clock;
pub mod contract;
pub mod customer;
pub mod database;
pub mod generator;
pub mod http;
pub mod late_commits;
pub mod nodes;
pub mod options;
pub mod origin;
pub mod panel;
pub mod poll;
pub mod process;
pub mod raw;
pub mod record_checks;
pub mod running;
pub mod sample_images;
pub mod server;

pub use customer::Customer;
pub use generator::Behaviour;
pub use http::Answer;
pub use options::{OneNode, Options};
pub use origin::Origin;
pub use panel::Browser;
pub use poll::until;
pub use raw::Wire;
pub use record_checks::audited;
pub use server::Server;

use serde_json::{Value, json};

/// The six generation calls: path relative to `/api/v1`, tier, and whether they take input images.
pub const ENDPOINTS: [(&str, &str, bool); 6] = [
    ("/text-generations", "pro", false),
    ("/url-generations", "pro", true),
    ("/nb2/text-generations", "quality", false),
    ("/nb2/url-generations", "quality", true),
    ("/nb/text-generations", "fast", false),
    ("/nb/url-generations", "fast", true),
];

/// A valid body of a text-to-image call.
pub fn fox() -> Value {
    json!({"prompt": "a red fox in the snow", "aspect_ratio": "1:1"})
}

/// A valid body of a text-to-image call with some members replaced or added.
pub fn fox_with(extra: Value) -> Value {
    let mut body = fox();
    merge(&mut body, extra);
    body
}

pub fn merge(onto: &mut Value, extra: Value) {
    let (Value::Object(onto), Value::Object(extra)) = (onto, extra) else {
        panic!("both must be objects");
    };
    onto.extend(extra);
}
