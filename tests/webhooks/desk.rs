//! What the tests ask of the operator interface, and how they let time pass.

use crate::support::poll::until_some;
use crate::support::{Customer, Options, Server, fox_with};
use serde_json::{Value, json};
use std::time::Duration;
use tintype_actors::delivery::DeliveryCommand;

/// A registered webhook.
#[derive(Clone, Debug)]
pub struct Webhook {
    /// Its id.
    pub id: String,
    /// Its secret as it was shown.
    pub secret: String,
}

/// A server whose deliveries may go to loopback.
pub fn options() -> Options {
    Options::new().allow_loopback()
}

/// The same, started.
pub fn server() -> Server {
    Server::with(options())
}

/// A day of 24 hours.
pub const DAY: Duration = Duration::from_secs(86_400);

impl Server {
    /// Registers a webhook.
    pub fn webhook(&self, customer: &Customer, url: &str) -> Webhook {
        self.webhook_with(customer, json!({ "url": url }))
    }

    /// Registers a webhook of this shape.
    pub fn webhook_with(&self, customer: &Customer, body: Value) -> Webhook {
        let path = format!("/accounts/{}/webhooks", customer.account);
        let made = self.admin("POST", &path).json(&body).expect(201).json();
        Webhook {
            id: made["webhook_id"].as_str().unwrap().to_owned(),
            secret: made["secret"].as_str().unwrap().to_owned(),
        }
    }

    /// Removes a webhook.
    pub fn remove_webhook(&self, webhook: &Webhook) {
        self.admin("DELETE", &format!("/webhooks/{}", webhook.id))
            .expect(204);
    }

    /// A job with these members beside the usual ones, accepted.
    pub fn create_with(&self, customer: &Customer, extra: Value) -> String {
        self.generation(customer, "/text-generations", &fox_with(extra))
            .expect(202)
            .job_id()
    }

    /// The deliveries that a query finds.
    pub fn deliveries(&self, query: &str) -> Vec<Value> {
        let listed = self.admin("GET", &format!("/deliveries?{query}"));
        listed.expect(200).json()["data"]
            .as_array()
            .unwrap()
            .clone()
    }

    /// The delivery of a job.
    pub fn delivery_of(&self, job: &str) -> Option<Value> {
        let found = self.deliveries(&format!("job_id={job}"));
        assert!(found.len() < 2, "{found:?}");
        found.into_iter().next()
    }

    /// The delivery of a job, once it is as wished.
    #[track_caller]
    pub fn delivery_once(&self, job: &str, wished: impl Fn(&Value) -> bool) -> Value {
        let mut last = None;
        let look = || {
            last = self.delivery_of(job);
            last.clone().filter(&wished)
        };
        until_some("the delivery is as wished", look)
    }

    /// The delivery of a job, once it has this status.
    #[track_caller]
    pub fn delivery_in(&self, job: &str, status: &str) -> Value {
        self.delivery_once(job, |it| it["status"] == status)
    }

    /// The delivery of a job, once so many attempts are on record.
    #[track_caller]
    pub fn delivery_after(&self, job: &str, attempts: usize) -> Value {
        self.delivery_once(job, |it| {
            it["attempts"].as_array().unwrap().len() == attempts
        })
    }

    /// Sends a delivery again.
    pub fn redeliver(&self, delivery: &Value) -> Value {
        let id = delivery["delivery_id"].as_str().unwrap();
        self.admin("POST", &format!("/deliveries/{id}/redeliver"))
            .expect(202)
            .json()
    }

    /// Moves the clock on and has the delivery actor look at it.
    pub fn pass(&self, span: Duration) {
        self.clock.advance(span);
        self.nudge();
    }

    /// Has the delivery actor look at the clock, as it does by itself from time to time.
    pub fn nudge(&self) {
        let deliveries = self.inside().system.deliveries();
        deliveries.do_send(DeliveryCommand::Queued(Vec::new()));
    }
}

/// A moment of the wire in milliseconds since the Unix epoch.
pub fn millis(moment: &Value) -> i64 {
    chrono::DateTime::parse_from_rfc3339(moment.as_str().unwrap())
        .unwrap()
        .timestamp_millis()
}

/// The moment at which an attempt ended.
pub fn ended(attempt: &Value) -> i64 {
    millis(&attempt["at"]) + attempt["duration_ms"].as_i64().unwrap()
}
