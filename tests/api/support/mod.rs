//! What the tests stand on: a real server, clients that behave and clients that do not, and a generator that does as told.

pub mod batches;
pub mod books;
pub mod clock;
pub mod contract;
pub mod customer;
pub mod database;
pub mod generator;
pub mod http;
pub mod nodes;
pub mod options;
pub mod origin;
pub mod panel;
pub mod pictures;
pub mod poll;
pub mod process;
pub mod raw;
pub mod server;

pub use books::audited;
pub use customer::Customer;
pub use generator::Behaviour;
pub use http::Answer;
pub use options::{OneNode, Options};
pub use origin::Origin;
pub use panel::Browser;
pub use poll::until;
pub use raw::Wire;
pub use server::Server;

use serde_json::{Value, json};

/// The six generation calls: path below `/api/v1`, tier, and whether they take input images.
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

/// Lays the members of one object over another.
pub fn merge(onto: &mut Value, extra: Value) {
    let (Value::Object(onto), Value::Object(extra)) = (onto, extra) else {
        panic!("both must be objects");
    };
    onto.extend(extra);
}
