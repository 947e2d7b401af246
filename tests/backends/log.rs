//! The log of faults: a line names the job, the backend, the outcome and the cause.

use crate::service::{KEY, gemini_image, noise, openai_image};
use crate::stub::{Reply, Stub};
use crate::support::fox;
use crate::support::process::{Process, ProcessExit};
use crate::support::sample_images::png;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

/// Runs a job per reply on a backend of this kind, and returns the lines about each job.
fn lines(kind: &str, replies: Vec<Reply>) -> Vec<Vec<Value>> {
    // Short only for the reply that never comes, so that a slow machine does not time out elsewhere.
    let timeout = match replies[..] {
        [Reply::Silence] => "1",
        _ => "60",
    };
    let stub = Stub::answering(replies.clone());
    let address = stub.url(if kind == "openai" { "/v1" } else { "" });
    let dir = tempfile::tempdir().unwrap();
    let process = Process::start(
        dir.path(),
        &[
            ("LOG__FORMAT", "json"),
            ("BACKENDS__FAR__KIND", kind),
            ("BACKENDS__FAR__BASE_URL", &address),
            ("BACKENDS__FAR__API_KEY", KEY),
            ("BACKENDS__FAR__RETRIES", "0"),
            ("BACKENDS__FAR__TIMEOUT_SECONDS", timeout),
            (
                "TIERS__FAST__BACKENDS",
                "[{ name = \"far\", model = \"m\" }]",
            ),
        ],
    );
    let key = process.first_key.clone().unwrap();
    let call = |method: &str, target: &str| process.call(method, target).bearer(&key);
    let jobs: Vec<String> = replies
        .iter()
        .map(|_| {
            let call_for = call("POST", "/api/v1/nb/text-generations");
            let id = call_for.json(&fox()).expect(202).job_id();
            call("GET", &format!("/api/v1/jobs/{id}?wait=60")).expect(200);
            id
        })
        .collect();
    let ProcessExit { status, log } = process.terminate();
    assert_eq!(status, Some(0), "{log}");
    for secret in [KEY, "red fox", "Which fox"] {
        assert!(!log.contains(secret), "{log}");
    }
    let parsed: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |id: &String| {
        parsed
            .iter()
            .filter(|it| it["job"] == **id)
            .cloned()
            .collect()
    };
    jobs.iter().map(of).collect()
}

#[test]
fn each_failed_try_is_logged_with_its_job_its_backend_and_its_cause() {
    let text = json!({"candidates": [{"finishReason": "STOP", "content": {"parts": [{"text": "Which fox?"}]}}]});
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
    let image = png(1024, 1024);
    let damaged = &image[..image.len() / 2];
    let small = png(64, 64);
    let mut found = lines(
        "gemini",
        vec![
            Reply::typed("404 Not Found", "text/plain", "no such model"),
            gemini_image(damaged),
            Reply::json(&text),
            Reply::json(&blocked),
            Reply::typed("400 Bad Request", "text/html", "<h1>nginx</h1>"),
            Reply::typed(
                "404 Not Found",
                "text/plain",
                "bad input 'a red fox in the snow'",
            ),
            gemini_image(&small),
        ],
    );
    let small = found.pop().unwrap();
    found.extend(lines("gemini", vec![Reply::Silence]));
    let truncated = format!(
        "the image generator returned a damaged image: PNG of {} bytes, truncated",
        damaged.len()
    );
    let expected = [
        (
            "broken",
            "it returned 404 Not Found, saying \"no such model\"",
            "broken",
        ),
        ("broken", truncated.as_str(), "broken"),
        (
            "no_picture",
            "it returned text instead of an image",
            "broken",
        ),
        ("", "", "blocked"),
        (
            "broken",
            "it returned 400 Bad Request with a web page; does a proxy respond instead of the backend",
            "broken",
        ),
        (
            "broken",
            "it returned 404 Not Found, saying \"bad input '[removed]'\"",
            "broken",
        ),
        ("timed_out", "no response within 1 s", "timed_out"),
    ];
    for (lines, (outcome, cause, end)) in found.iter().zip(expected) {
        let [failed, ended] = &lines[..] else {
            panic!("{lines:#?}");
        };
        assert_eq!(failed["backend"], "far");
        if outcome.is_empty() {
            assert_eq!(failed["message"], "the backend blocked the content");
        } else {
            assert_eq!(
                (&failed["level"], &failed["message"]),
                (&json!("WARN"), &json!("an attempt failed"))
            );
            assert_eq!(failed["outcome"], outcome, "{failed}");
            let shown = failed["cause"].as_str().unwrap();
            assert!(shown.starts_with(cause), "{shown}");
        }
        assert_eq!(
            (&ended["message"], &ended["outcome"]),
            (&json!("the job failed"), &json!(end))
        );
    }
    let [small] = &small[..] else {
        panic!("{small:#?}");
    };
    assert_eq!(small["message"], "the image is much smaller than requested");
    assert_eq!(
        (&small["stored"], &small["wanted"]),
        (&json!("64x64"), &json!("1024x1024"))
    );
}

#[test]
fn a_successful_job_is_not_logged() {
    let found = lines("openai", vec![openai_image(&png(1024, 1024))]);
    assert_eq!(found, [Vec::<Value>::new()]);
}

#[test]
fn a_checkpoint_that_a_web_ui_replaced_is_logged() {
    let info = json!({"sd_model_name": "other"}).to_string();
    let image = BASE64_STANDARD.encode(noise(1024));
    let found = lines(
        "sdapi",
        vec![Reply::json(&json!({"images": [image], "info": info}))],
    );
    let [line] = &found[0][..] else {
        panic!("{found:#?}");
    };
    assert_eq!(line["message"], "the attempt succeeded despite a fault");
    assert_eq!(
        line["cause"],
        "it generated with the checkpoint other instead of m; does it have m?"
    );
}
