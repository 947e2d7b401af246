//! Traces of jobs at the collector.

use crate::collector::Collector;
use crate::support::poll::until;
use crate::support::{Behaviour, Options, Server, fox_with};
use serde_json::{Value, json};

fn options(collector: &Collector) -> Options {
    Options::new()
        .set("otlp.endpoint", collector.url(""))
        .set("otlp.service_name", "pictures")
}

/// The trace id of a job.
fn hex_of(job: &str) -> String {
    job.replace('-', "")
}

fn attribute<'a>(span: &'a Value, key: &str) -> &'a Value {
    let attributes = span["attributes"].as_array().unwrap();
    let found = attributes.iter().find(|it| it["key"] == key);
    let found = found.unwrap_or_else(|| panic!("no {key} in {span}"));
    let value = found["value"].as_object().unwrap();
    value.values().next().unwrap()
}

fn nanos(span: &Value, key: &str) -> u64 {
    span[key].as_str().unwrap().parse().unwrap()
}

#[test]
fn a_job_is_a_trace_with_its_wait_its_run_and_its_tries() {
    let collector = Collector::start();
    let server = Server::with(options(&collector).set(
        "otlp.headers",
        toml::Table::from_iter([("X-Scope".to_owned(), toml::Value::from("pictures"))]),
    ));
    let ada = server.customer("10");
    let body = fox_with(json!({"prompt": "a secret zeppelin", "metadata": {"order": "hidden"}}));
    let job = server.generation(&ada, "/text-generations", &body);
    let job = job.expect(202).job_id();
    let shown = server.job_once(&ada, &job, "done");
    server.stop();
    let [root, queue, run, attempt] =
        ["job", "queue", "run", "attempt"].map(|it| collector.span(it));
    for span in [&root, &queue, &run, &attempt] {
        assert_eq!(span["traceId"], hex_of(&job), "{span}");
        assert!(nanos(span, "startTimeUnixNano") <= nanos(span, "endTimeUnixNano"));
        assert!(span.get("status").is_none(), "{span}");
    }
    assert_eq!(root["spanId"], hex_of(&job)[16..]);
    assert_eq!(root.get("parentSpanId"), None);
    assert_eq!(queue["parentSpanId"], root["spanId"]);
    assert_eq!(run["parentSpanId"], root["spanId"]);
    assert_eq!(attempt["parentSpanId"], run["spanId"]);
    assert_eq!(attribute(&root, "tintype.account_id"), &ada.account);
    assert_eq!(attribute(&root, "tintype.tier"), "pro");
    assert_eq!(attribute(&root, "tintype.outcome"), "done");
    assert_eq!(attribute(&run, "tintype.run"), "1");
    assert_eq!(attribute(&attempt, "tintype.backend"), "builtin");
    let millis = nanos(&root, "endTimeUnixNano") / 1_000_000;
    assert_eq!(
        millis as i64,
        crate::support::clock::START_MILLIS,
        "{shown}"
    );
    let received = &collector.received()[0];
    assert_eq!(received.target, "/v1/traces");
    assert_eq!(received.header("content-type"), Some("application/json"));
    assert_eq!(received.header("x-scope"), Some("pictures"));
    let resource = &received.json()["resourceSpans"][0]["resource"];
    assert_eq!(attribute(resource, "service.name"), "pictures");
    let all = format!("{:?}", collector.received());
    assert!(
        !all.contains("zeppelin") && !all.contains("hidden"),
        "{all}"
    );
}

#[test]
fn a_job_interrupted_by_a_restart_continues_its_trace() {
    let collector = Collector::start();
    let server = Server::with(options(&collector).on_disk());
    let ada = server.customer("10");
    server.generator.hold();
    let job = server.create(&ada);
    server.job_once(&ada, &job, "processing");
    let server = server.restart();
    let cut_off = collector.span("run");
    assert_eq!(attribute(&cut_off, "tintype.outcome"), "cut_off");
    assert!(!collector.spans().iter().any(|span| span["name"] == "job"));
    server.generator.release_all();
    server.job_once(&ada, &job, "done");
    server.stop();
    let root = collector.span("job");
    let spans = collector.spans();
    let runs: Vec<_> = spans.iter().filter(|it| it["name"] == "run").collect();
    assert_eq!(runs.len(), 2, "{spans:?}");
    assert_ne!(runs[0]["spanId"], runs[1]["spanId"]);
    for run in runs {
        assert_eq!(run["traceId"], root["traceId"]);
        assert_eq!(run["parentSpanId"], root["spanId"]);
    }
    let instance = |at: usize| {
        let resource = &collector.received()[at].json()["resourceSpans"][0]["resource"];
        attribute(resource, "service.instance.id").clone()
    };
    let last = collector.received().len() - 1;
    assert_ne!(instance(0), instance(last), "another process sent the rest");
}

#[test]
fn the_span_of_a_failed_job_has_its_outcome_and_no_prompt() {
    let collector = Collector::start();
    let server = Server::with(options(&collector));
    let ada = server.customer("10");
    // Like a backend whose message repeats the prompt.
    server
        .generator
        .behave(Behaviour::Refuse("prompt 'Jane Doe' is not allowed"));
    let job = server.create(&ada);
    let failed = server.job_once(&ada, &job, "failed");
    assert!(failed["error"].as_str().unwrap().contains("Jane Doe"));
    server.stop();
    let root = collector.span("job");
    assert_eq!(root["status"], json!({"code": 2, "message": "refused"}));
    assert_eq!(collector.span("run")["status"]["message"], "refused");
    assert!(!format!("{:?}", collector.received()).contains("Jane"));
    assert_eq!(attribute(&root, "tintype.outcome"), "refused");
    let attempt = collector.span("attempt");
    assert_eq!(attempt["status"]["code"], 2);
    assert_eq!(attribute(&attempt, "tintype.outcome"), "refused");
}

#[test]
fn the_attempts_of_a_webhook_are_part_of_the_trace() {
    let collector = Collector::start();
    let receiver = Collector::start();
    let server = Server::with(options(&collector).allow_loopback());
    let ada = server.customer("10");
    let webhook = json!({"url": receiver.url("/hook?token=hidden")});
    let path = format!("/accounts/{}/webhooks", ada.account);
    server.admin("POST", &path).json(&webhook).expect(201);
    receiver.answer_next(503, &[]);
    let job = server.create(&ada);
    let attempt = collector.span("webhook attempt");
    assert_eq!(attempt["traceId"], hex_of(&job));
    assert_eq!(attempt["parentSpanId"], hex_of(&job)[16..]);
    assert_eq!(attribute(&attempt, "http.response.status_code"), "503");
    assert_eq!(attribute(&attempt, "tintype.attempt"), "1");
    assert_eq!(attempt["status"]["message"], "status 503");
    assert!(!format!("{:?}", collector.received()).contains("hidden"));
}

#[test]
fn spans_that_the_collector_rejects_temporarily_are_sent_again() {
    let collector = Collector::start();
    for status in [503, 429] {
        collector.answer_next(status, &["Retry-After: 0"]);
    }
    let server = Server::with(options(&collector));
    let ada = server.customer("10");
    let job = server.create(&ada);
    server.job_once(&ada, &job, "done");
    collector.span("job");
    let of = |name| server.figures().of(name, &[]);
    until("the spans are counted", || {
        of("tintype_trace_spans_sent_total") == 4.0
    });
    assert_eq!(of("tintype_trace_exports_failed_total"), 2.0);
    assert_eq!(of("tintype_trace_spans_dropped_total"), 0.0);
    assert_eq!(of("tintype_trace_spans_waiting"), 0.0);
}

#[test]
fn spans_that_the_collector_rejects_are_dropped_and_counted_and_jobs_continue() {
    let collector = Collector::start();
    collector.answer_next(400, &[]);
    let server = Server::with(options(&collector));
    let ada = server.customer("10");
    let job = server.create(&ada);
    server.job_once(&ada, &job, "done");
    let of = |name| server.figures().of(name, &[]);
    until("the spans are counted", || {
        of("tintype_trace_spans_dropped_total") == 4.0
    });
    assert_eq!(of("tintype_trace_spans_sent_total"), 0.0);
    let job = server.create(&ada);
    server.job_once(&ada, &job, "done");
    let root = collector.span("job");
    assert_eq!(root["traceId"], hex_of(&job), "the next batch is accepted");
}

#[test]
fn jobs_outside_the_sample_leave_no_trace() {
    let collector = Collector::start();
    let server = Server::with(options(&collector).set("otlp.sample_ratio", 0.0));
    let ada = server.customer("10");
    let job = server.create(&ada);
    server.job_once(&ada, &job, "done");
    server.stop();
    assert!(collector.received().is_empty());
}
