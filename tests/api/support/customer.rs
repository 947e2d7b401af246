//! An account with a key, made through the operator interface as an operator would, and what it does.

use super::http::{Answer, Request};
use super::poll::until_some;
use super::server::Server;
use serde_json::{Value, json};

/// An account's id with one of its keys.
#[derive(Clone, Debug)]
pub struct Customer {
    /// Whose.
    pub account: String,
    /// The key's id.
    pub key_id: String,
    /// The key's text.
    pub key: String,
}

impl Server {
    /// Opens an account with this balance and makes a key with all rights.
    pub fn customer(&self, balance: &str) -> Customer {
        let body = json!({"name": "a customer", "balance": balance});
        let account = self.admin("POST", "/accounts").json(&body).expect(201);
        let account = account.json()["account_id"].as_str().unwrap().to_owned();
        self.another_key(&account, json!({}))
    }

    /// Makes a key of an account; `shape` narrows it.
    pub fn another_key(&self, account: &str, shape: Value) -> Customer {
        let mut body = json!({"name": "a key"});
        super::merge(&mut body, shape);
        let path = format!("/accounts/{account}/keys");
        let made = self.admin("POST", &path).json(&body).expect(201).json();
        Customer {
            account: account.to_owned(),
            key_id: made["key_id"].as_str().unwrap().to_owned(),
            key: made["api_key"].as_str().unwrap().to_owned(),
        }
    }

    /// An account with a key of this shape.
    pub fn customer_with(&self, balance: &str, shape: Value) -> Customer {
        let first = self.customer(balance);
        self.another_key(&first.account, shape)
    }

    /// A call of a customer on a path below `/api/v1`.
    pub fn native(&self, customer: &Customer, method: &str, path: &str) -> Request {
        self.call(method, &format!("/api/v1{path}"))
            .bearer(&customer.key)
    }

    /// A generation call, ready to be sent.
    pub fn generation(&self, customer: &Customer, path: &str, body: &Value) -> Request {
        self.native(customer, "POST", path).json(body)
    }

    /// Sends a generation call.
    pub fn generate(&self, customer: &Customer, path: &str, body: &Value) -> Answer {
        self.generation(customer, path, body).send()
    }

    /// A job on the model `pro`, accepted.
    pub fn create(&self, customer: &Customer) -> String {
        let answer = self.generation(customer, "/text-generations", &super::fox());
        answer.expect(202).job_id()
    }

    /// A job as the lookup tells it.
    pub fn job(&self, customer: &Customer, job: &str) -> Value {
        let path = format!("/jobs/{job}");
        self.native(customer, "GET", &path).expect(200).json()
    }

    /// A job, once its status is this one.
    pub fn job_once(&self, customer: &Customer, job: &str, status: &str) -> Value {
        until_some(&format!("the job is {status}"), || {
            let job = self.job(customer, job);
            let found = job["status"].as_str().unwrap();
            let over = ["done", "failed"].contains(&found) && found != status;
            assert!(!over, "the job has become {job}, not {status}");
            (found == status).then_some(job)
        })
    }

    /// The customer's money: balance, reserved, available.
    pub fn money(&self, customer: &Customer) -> (String, String, String) {
        let answer = self.native(customer, "GET", "/balance").expect(200).json();
        let text = |name: &str| answer[name].as_str().unwrap().to_owned();
        (text("balance"), text("reserved"), text("available"))
    }

    /// Demands this money: balance, reserved, available.
    pub fn assert_money(
        &self,
        customer: &Customer,
        balance: &str,
        reserved: &str,
        available: &str,
    ) {
        let (is_balance, is_reserved, is_available) = self.money(customer);
        assert_eq!(
            [&*is_balance, &*is_reserved, &*is_available],
            [balance, reserved, available],
            "balance, reserved, available"
        );
    }

    /// Pauses what is named (`project` or a tier), and nothing else.
    pub fn pause(&self, what: &[&str]) {
        let tiers: serde_json::Map<String, Value> = ["fast", "quality", "pro"]
            .iter()
            .map(|tier| (tier.to_string(), what.contains(tier).into()))
            .collect();
        let body = json!({"project": what.contains(&"project"), "tiers": tiers});
        self.admin("PUT", "/pause").json(&body).expect(200);
    }

    /// After whatever a test has done: the service is up, a new customer's job gets done, and the books are exact.
    pub fn assert_well(&self) {
        assert!(!self.has_failed(), "the service has stopped itself");
        self.get("/healthz").expect(200);
        let customer = self.customer("1.00");
        let job = self.create(&customer);
        self.job_once(&customer, &job, "done");
        super::audited(self);
    }
}
