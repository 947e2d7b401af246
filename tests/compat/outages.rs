//! Calls while no backend of the model is in service.

use crate::fixture::{ResponseAssertions, fox};
use crate::support::{
    Answer, Behaviour, Customer, OneNode, Options, Server, fox as native_fox, until,
};
use serde_json::{Value, json};

const NATIVE: &str = "/nb/text-generations";
const MESSAGE: &str =
    "canceled because no backend of its model was in service; send the request again later";

/// A node knows only the health that it has observed itself.
fn server() -> Server {
    let options = Options::new().one_node(OneNode::Figures);
    // Without the outage's own end, a call would end with 504.
    Server::with(options.slots(8).set("compat.timeout_seconds", 30))
}

/// Opens the circuit breaker of the only backend with native jobs. The last of them waits for the next probe.
fn bring_down(server: &Server, customer: &Customer) -> String {
    server.generator.behave(Behaviour::Unreachable);
    let create = || {
        let call = server.generation(customer, NATIVE, &native_fox());
        call.expect(202).job_id()
    };
    for _ in 0..4 {
        server.job_once(customer, &create(), "failed");
    }
    let waiting = create();
    until("the breaker is open", || is_down(server));
    waiting
}

fn is_down(server: &Server) -> bool {
    let stats = server.admin("GET", "/stats").expect(200).json();
    ["down", "probing"].contains(&stats["backends"][0]["health"].as_str().unwrap())
}

/// The newest job of the customer.
fn newest(server: &Server, customer: &Customer) -> Value {
    let listed = server.native(customer, "GET", "/jobs?limit=1").expect(200);
    listed.json()["data"][0].clone()
}

/// The wait that the response asks for, in seconds.
fn retry_after(answer: &Answer) -> u32 {
    answer.header("retry-after").expect("it").parse().unwrap()
}

#[test]
fn a_queued_call_gets_503_and_its_job_is_canceled() {
    let server = server();
    let customer = server.customer("1.00");
    let waiting = bring_down(&server, &customer);
    let runs = server.generator.runs();
    let answer = server.gemini(&customer, "fast", &fox()).send();
    assert_eq!(answer.assert_google_error(503, "UNAVAILABLE"), MESSAGE);
    assert!((1..=120).contains(&retry_after(&answer)));
    let job = newest(&server, &customer);
    assert_eq!(
        (&job["status"], &job["error"]),
        (&json!("failed"), &json!(MESSAGE))
    );
    assert_eq!(job["started_at"], Value::Null);
    let body = json!({"model": "fast", "prompt": "a fox", "n": 2});
    let answer = server.openai(&customer, &body).send();
    let said = answer.assert_openai_error(503, "server_error", Some("unavailable"));
    assert_eq!(said, MESSAGE);
    assert!((1..=120).contains(&retry_after(&answer)));
    // Only the job on the native interface is left, and only it may have asked the backend again.
    server.until_live(1);
    assert_eq!(server.job(&customer, &waiting)["status"], "processing");
    let orders = server.generator.orders().split_off(runs);
    assert!(orders.iter().all(|it| it.job.to_string() == waiting));
    server.assert_money(&customer, "1.00", "0.039", "0.961");
    server.generator.behave(Behaviour::Succeed);
    server.admin("POST", "/backends/builtin/test").expect(200);
    server.job_once(&customer, &waiting, "done");
    server.gemini(&customer, "fast", &fox()).send().image();
    server.assert_money(&customer, "0.922", "0.00", "0.922");
    server.assert_settled();
}

/// Nothing was sent for it, so a repeat of the call costs nothing twice.
#[test]
fn a_call_that_cannot_connect_does_not_wait_for_the_next_probe() {
    let server = server();
    let customer = server.customer("1.00");
    server.generator.behave(Behaviour::Unreachable);
    // The fifth failure opens the circuit breaker.
    for _ in 0..5 {
        let answer = server.gemini(&customer, "fast", &fox()).send();
        assert_eq!(answer.assert_google_error(503, "UNAVAILABLE"), "it is off");
        retry_after(&answer);
    }
    assert!(is_down(&server));
    server.until_live(0);
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    server.assert_settled();
}

#[test]
fn a_call_whose_job_has_begun_continues() {
    let server = server();
    let customer = server.customer("1.00");
    server.generator.hold();
    let running = server.in_background(server.gemini(&customer, "fast", &fox()));
    server.until_running(1);
    let pause = json!({"backends": ["builtin"]});
    server.admin("PATCH", "/pause").json(&pause).expect(200);
    let queued = server.gemini(&customer, "fast", &fox()).send();
    assert_eq!(queued.assert_google_error(503, "UNAVAILABLE"), MESSAGE);
    retry_after(&queued);
    server.until_live(1);
    server.generator.release_all();
    running.join().unwrap().image();
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    server.assert_settled();
}
