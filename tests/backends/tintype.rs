//! Another Tintype as the backend, through its Gemini and OpenAI interfaces: client and server were written independently.

use crate::service::{ended, image, make, pro};
use crate::support::origin::{self, Origin};
use crate::support::{Behaviour, Customer, Options, Server, sample_images};
use serde_json::{Value, json};

/// Two Tintypes: the first is the backend of the second's tier `pro`.
struct Chain {
    far: Server,
    far_customer: Customer,
    near: Server,
    customer: Customer,
}

fn chain(kind: &str, balance: &str) -> Chain {
    let far = Server::start();
    far.generator
        .behave(Behaviour::Show(sample_images::png(1_024, 1_024)));
    let far_customer = far.customer(balance);
    let path = if kind == "openai" { "/v1" } else { "" };
    let near = Options::new()
        .allow_loopback()
        .set("backends.far.kind", kind)
        .set(
            "backends.far.base_url",
            format!("http://{}{path}", far.address),
        )
        .set("backends.far.api_key", far_customer.key.clone())
        .set("backends.far.model", "quality")
        .set("backends.far.retries", 0);
    let near = Server::with(pro(near, &["far"]));
    Chain {
        customer: near.customer("10.00"),
        near,
        far,
        far_customer,
    }
}

impl Chain {
    fn assert_charged_once_each(&self) {
        self.near
            .assert_money(&self.customer, "9.866", "0.00", "9.866");
        self.far
            .assert_money(&self.far_customer, "9.933", "0.00", "9.933");
        self.near.assert_settled();
        self.far.assert_settled();
    }

    fn image(&self, job: &Value) -> (u32, u32) {
        crate::service::size(&image(&self.near, job))
    }
}

#[test]
fn a_prompt_becomes_an_image_through_either_interface() {
    for kind in ["gemini", "openai"] {
        let chain = chain(kind, "10.00");
        let job = make(&chain.near, &chain.customer, json!({"prompt": "two foxes"}));
        assert_eq!(job["status"], "done", "{kind}: {job}");
        let orders = chain.far.generator.orders();
        assert_eq!(orders.len(), 1, "{kind}");
        assert_eq!(orders[0].prompt, "two foxes", "{kind}");
        assert_eq!(chain.image(&job), (1_024, 1_024));
        chain.assert_charged_once_each();
    }
}

#[test]
fn input_images_arrive_through_either_interface() {
    let origin = Origin::start([
        ("/a", origin::bytes(sample_images::png(30, 20))),
        ("/b", origin::bytes(sample_images::png(8, 16))),
    ]);
    for kind in ["gemini", "openai"] {
        let chain = chain(kind, "10.00");
        let body = json!({
            "prompt": "the same at night",
            "aspect_ratio": "1:1",
            "input_images_urls": [origin.url("/a"), origin.url("/b")],
        });
        let answer = chain
            .near
            .generation(&chain.customer, "/url-generations", &body);
        let job = ended(&chain.near, &chain.customer, &answer.expect(202).job_id());
        assert_eq!(job["status"], "done", "{kind}: {job}");
        let orders = chain.far.generator.orders();
        let sizes: Vec<_> = orders[0]
            .inputs
            .iter()
            .map(|input| (input.width, input.height))
            .collect();
        assert_eq!(sizes, [(30, 20), (8, 16)], "{kind}");
        chain.assert_charged_once_each();
    }
}

#[test]
fn a_safety_block_is_reported_by_both_servers_and_not_charged() {
    for kind in ["gemini", "openai"] {
        let chain = chain(kind, "10.00");
        chain.far.generator.behave(Behaviour::Block("violence"));
        let job = make(&chain.near, &chain.customer, json!({}));
        assert_eq!(job["status"], "failed", "{kind}: {job}");
        let error = job["error"].as_str().unwrap();
        assert!(error.starts_with("blocked for safety: "), "{kind}: {error}");
        for (server, customer) in [
            (&chain.near, &chain.customer),
            (&chain.far, &chain.far_customer),
        ] {
            server.assert_money(customer, "10.00", "0.00", "10.00");
        }
    }
}

#[test]
fn a_job_is_not_charged_if_the_account_at_the_backend_has_no_funds() {
    for kind in ["gemini", "openai"] {
        let chain = chain(kind, "0.01");
        let job = make(&chain.near, &chain.customer, json!({}));
        assert_eq!(job["status"], "failed", "{kind}: {job}");
        chain
            .near
            .assert_money(&chain.customer, "10.00", "0.00", "10.00");
        assert_eq!(chain.far.generator.runs(), 0, "{kind}");
    }
}
