//! A customer: an account with a key, created over the operator interface, and its calls.

use super::http::{Answer, Request};
use super::poll::until_some;
use super::server::Server;
use serde_json::{Value, json};

#[derive(Clone, Debug)]
pub struct Customer {
    pub account: String,
    pub key_id: String,
    pub key: String,
}

impl Server {
    /// Creates an account with this balance and a key with all permissions.
    pub fn customer(&self, balance: &str) -> Customer {
        let body = json!({"name": "a customer", "balance": balance});
        let account = self.admin("POST", "/accounts").json(&body).expect(201);
        let account = account.json()["account_id"].as_str().unwrap().to_owned();
        self.another_key(&account, json!({}))
    }

    /// Creates another key of an account; `shape` restricts it.
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

    /// Creates an account with a key of this shape.
    pub fn customer_with(&self, balance: &str, shape: Value) -> Customer {
        let first = self.customer(balance);
        self.another_key(&first.account, shape)
    }

    /// Builds a customer's call on a path relative to `/api/v1`.
    pub fn native(&self, customer: &Customer, method: &str, path: &str) -> Request {
        self.call(method, &format!("/api/v1{path}"))
            .bearer(&customer.key)
    }

    /// Builds a generation call.
    pub fn generation(&self, customer: &Customer, path: &str, body: &Value) -> Request {
        self.native(customer, "POST", path).json(body)
    }

    pub fn generate(&self, customer: &Customer, path: &str, body: &Value) -> Answer {
        self.generation(customer, path, body).send()
    }

    /// Creates a job on the model `pro` and returns its id.
    pub fn create(&self, customer: &Customer) -> String {
        let answer = self.generation(customer, "/text-generations", &super::fox());
        answer.expect(202).job_id()
    }

    pub fn job(&self, customer: &Customer, job: &str) -> Value {
        let path = format!("/jobs/{job}");
        self.native(customer, "GET", &path).expect(200).json()
    }

    /// Waits until the job has this status, and returns it.
    pub fn job_once(&self, customer: &Customer, job: &str, status: &str) -> Value {
        until_some(&format!("the job is {status}"), || {
            let job = self.job(customer, job);
            let found = job["status"].as_str().unwrap();
            let over = ["done", "failed"].contains(&found) && found != status;
            assert!(!over, "the job has become {job}, not {status}");
            (found == status).then_some(job)
        })
    }

    /// Completes a job of 0.134.
    pub fn spend(&self, customer: &Customer) {
        let job = self.create(customer);
        self.job_once(customer, &job, "done");
    }

    /// Asserts that a spend limit rejects calls with this code, and returns the detail.
    pub fn limit_detail(&self, customer: &Customer, code: &str) -> String {
        let path = "/text-generations";
        let detail = |request: Request| request.refused(402, code).json()["detail"].clone();
        let found = detail(self.generation(customer, path, &super::fox()));
        // The server also rejects calls that would store a long prompt first, and dry runs.
        let large = super::fox_with(json!({"prompt": "x".repeat(30_000)}));
        let dry = format!("{path}?dry_run=true");
        assert_eq!(detail(self.generation(customer, path, &large)), found);
        assert_eq!(
            detail(self.generation(customer, &dry, &super::fox())),
            found
        );
        found.as_str().unwrap().to_owned()
    }

    /// Returns balance, reserved and available.
    pub fn money(&self, customer: &Customer) -> (String, String, String) {
        let answer = self.native(customer, "GET", "/balance").expect(200).json();
        let text = |name: &str| answer[name].as_str().unwrap().to_owned();
        (text("balance"), text("reserved"), text("available"))
    }

    /// Asserts balance, reserved and available.
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

    /// Pauses exactly these: `project` or tiers.
    pub fn pause(&self, what: &[&str]) {
        let tiers: serde_json::Map<String, Value> = ["fast", "quality", "pro"]
            .iter()
            .map(|tier| (tier.to_string(), what.contains(tier).into()))
            .collect();
        let body = json!({"project": what.contains(&"project"), "tiers": tiers});
        self.admin("PUT", "/pause").json(&body).expect(200);
    }

    /// Asserts that the service still works: it is healthy, completes a new customer's job, and its ledger is exact.
    pub fn assert_well(&self) {
        assert!(!self.has_failed(), "the service has stopped itself");
        self.get("/healthz").expect(200);
        let customer = self.customer("1.00");
        let job = self.create(&customer);
        self.job_once(&customer, &job, "done");
        super::audited(self);
    }
}
