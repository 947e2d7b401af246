//! Callers of the synchronous interfaces, with several nodes behind the load balancer.

use crate::support::{Service, until_some};
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};

/// Sends a synchronous call and does not read the response.
fn waiting_caller(service: &Service, prompt: &str) -> TcpStream {
    let body = format!(r#"{{"model":"fast","prompt":"{prompt}"}}"#);
    let (key, length) = (&service.key, body.len());
    let head = format!(
        "POST /v1/images/generations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    let mut caller = TcpStream::connect(service.url.trim_start_matches("http://")).unwrap();
    caller.write_all((head + &body).as_bytes()).unwrap();
    caller
}

fn wait_for_job(service: &Service, prompt: &str, field: &str, value: &str) {
    until_some(&format!("{field} of {prompt} is {value}"), || {
        let list = service.json(&["job", "list"]);
        let jobs = list["data"].as_array().unwrap();
        let mut matching = jobs.iter().filter(|it| it["prompt"] == prompt);
        matching.any(|it| it[field] == value).then_some(())
    });
}

#[test]
fn a_queued_job_is_canceled_when_its_caller_disconnects() {
    // Connections to it are established, and no request is answered.
    let backend = TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}/v1", backend.local_addr().unwrap());
    let service = Service::start_with(&[
        ("TINTYPE__BACKENDS__SILENT__KIND", "openai"),
        ("TINTYPE__BACKENDS__SILENT__BASE_URL", &base_url),
        ("TINTYPE__BACKENDS__SILENT__CONCURRENCY", "1"),
        ("TINTYPE__BACKENDS__SILENT__SHARED", "true"),
        ("TINTYPE__TIERS__FAST__BACKENDS", r#"[{ name = "silent" }]"#),
    ]);
    let running = waiting_caller(&service, "a fox");
    wait_for_job(&service, "a fox", "status", "processing");
    let queued = waiting_caller(&service, "a hare");
    wait_for_job(&service, "a hare", "status", "queued");
    drop(queued);
    let error = "canceled because its caller disconnected";
    wait_for_job(&service, "a hare", "error", error);
    wait_for_job(&service, "a fox", "status", "processing");
    drop(running);
}
