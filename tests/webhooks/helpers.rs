//! Helpers for the operator interface and the clock.

use crate::support::poll::until_some;
use crate::support::{Customer, Options, Server, fox_with};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::time::Duration;
use tintype_actors::delivery::DeliveryCommand;

/// A registered webhook.
#[derive(Clone, Debug)]
pub struct Webhook {
    pub id: String,
    pub secret: String,
}

/// Options of a server that may deliver to loopback.
pub fn options() -> Options {
    Options::new().allow_loopback()
}

/// Starts a server that may deliver to loopback.
pub fn server() -> Server {
    Server::with(options())
}

pub const DAY: Duration = Duration::from_secs(86_400);

impl Server {
    pub fn webhook(&self, customer: &Customer, url: &str) -> Webhook {
        self.webhook_with(customer, json!({ "url": url }))
    }

    /// Registers a webhook with this body.
    pub fn webhook_with(&self, customer: &Customer, body: Value) -> Webhook {
        let path = format!("/accounts/{}/webhooks", customer.account);
        let made = self.admin("POST", &path).json(&body).expect(201).json();
        Webhook {
            id: made["webhook_id"].as_str().unwrap().to_owned(),
            secret: made["secret"].as_str().unwrap().to_owned(),
        }
    }

    pub fn remove_webhook(&self, webhook: &Webhook) {
        self.admin("DELETE", &format!("/webhooks/{}", webhook.id))
            .expect(204);
    }

    /// Creates a job with these extra members.
    pub fn create_with(&self, customer: &Customer, extra: Value) -> String {
        self.generation(customer, "/text-generations", &fox_with(extra))
            .expect(202)
            .job_id()
    }

    pub fn deliveries(&self, query: &str) -> Vec<Value> {
        let listed = self.admin("GET", &format!("/deliveries?{query}"));
        listed.expect(200).json()["data"]
            .as_array()
            .unwrap()
            .clone()
    }

    pub fn delivery_of(&self, job: &str) -> Option<Value> {
        let found = self.deliveries(&format!("job_id={job}"));
        assert!(found.len() < 2, "{found:?}");
        found.into_iter().next()
    }

    /// Waits until the delivery of a job satisfies the condition.
    #[track_caller]
    pub fn delivery_once(&self, job: &str, condition: impl Fn(&Value) -> bool) -> Value {
        let mut last = None;
        let look = || {
            last = self.delivery_of(job);
            last.clone().filter(&condition)
        };
        until_some("the delivery satisfies the condition", look)
    }

    /// Waits until the delivery of a job has this status.
    #[track_caller]
    pub fn delivery_in(&self, job: &str, status: &str) -> Value {
        self.delivery_once(job, |it| it["status"] == status)
    }

    /// Waits until the delivery of a job has this number of recorded attempts.
    #[track_caller]
    pub fn delivery_after(&self, job: &str, attempts: usize) -> Value {
        self.delivery_once(job, |it| {
            it["attempts"].as_array().unwrap().len() == attempts
        })
    }

    pub fn redeliver(&self, delivery: &Value) -> Value {
        let id = delivery["delivery_id"].as_str().unwrap();
        self.admin("POST", &format!("/deliveries/{id}/redeliver"))
            .expect(202)
            .json()
    }

    /// The number of attempts that a fault of the service has prevented.
    pub fn unsent_attempts(&self) -> u64 {
        let stats = self.inside().system.stats();
        stats.deliveries.not_sent.load(Ordering::Relaxed)
    }

    /// Advances the clock and wakes the delivery actor.
    pub fn pass(&self, span: Duration) {
        self.clock.advance(span);
        self.nudge();
    }

    /// Wakes the delivery actor, which otherwise checks the clock periodically.
    pub fn nudge(&self) {
        let deliveries = self.inside().system.deliveries();
        deliveries.do_send(DeliveryCommand::Queued(Vec::new()));
    }
}

/// Converts a timestamp of the API into milliseconds since the Unix epoch.
pub fn millis(moment: &Value) -> i64 {
    chrono::DateTime::parse_from_rfc3339(moment.as_str().unwrap())
        .unwrap()
        .timestamp_millis()
}

/// The end of an attempt, in milliseconds since the Unix epoch.
pub fn ended(attempt: &Value) -> i64 {
    millis(&attempt["at"]) + attempt["duration_ms"].as_i64().unwrap()
}
