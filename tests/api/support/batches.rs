//! Submits and follows batches as a customer does.

use super::customer::Customer;
use super::http::Request;
use super::poll::until_some;
use super::server::Server;
use serde_json::{Value, json};

pub fn entry() -> Value {
    json!({"model": "fast", "prompt": "a red fox in the snow", "aspect_ratio": "1:1"})
}

/// A valid request with some members replaced or added.
pub fn entry_with(extra: Value) -> Value {
    let mut entry = entry();
    super::merge(&mut entry, extra);
    entry
}

pub fn batch_of(requests: &[Value]) -> Value {
    json!({"requests": requests})
}

impl Server {
    /// Builds the call that submits a batch.
    pub fn batch_call(&self, customer: &Customer, body: &Value) -> Request {
        self.native(customer, "POST", "/batches").json(body)
    }

    /// Submits a batch and returns the accepted batch.
    #[track_caller]
    pub fn submit(&self, customer: &Customer, requests: &[Value]) -> Value {
        let call = self.batch_call(customer, &batch_of(requests));
        call.expect(202).json()
    }

    #[track_caller]
    pub fn batch(&self, customer: &Customer, batch: &Value) -> Value {
        let id = batch["batch_id"].as_str().unwrap();
        let path = format!("/batches/{id}");
        self.native(customer, "GET", &path).expect(200).json()
    }

    /// Waits until the batch has ended, and returns it.
    #[track_caller]
    pub fn batch_ended(&self, customer: &Customer, batch: &Value) -> Value {
        let mut now = self.batch(customer, batch);
        while now["status"] != "ended" {
            // A large batch may take longer than one wait, if the machine is busy.
            now = until_some("the batch makes progress", || {
                let later = self.batch(customer, batch);
                (later != now).then_some(later)
            });
        }
        now
    }

    /// Returns the results of a batch, one value per line.
    #[track_caller]
    pub fn results(&self, customer: &Customer, batch: &Value) -> Vec<Value> {
        let answer = self
            .native(customer, "GET", &results_path(batch))
            .expect(200);
        assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
        let text = answer.text();
        assert!(text.is_empty() || text.ends_with('\n'), "{text:?}");
        let line = |line: &str| serde_json::from_str(line).unwrap();
        text.lines().map(line).collect()
    }
}

/// Path of the results, relative to `/api/v1`.
pub fn results_path(batch: &Value) -> String {
    let path = batch["results_url"].as_str().unwrap();
    path.strip_prefix("/api/v1").unwrap().to_owned()
}
