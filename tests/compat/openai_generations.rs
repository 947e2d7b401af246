//! `POST /v1/images/generations`

use crate::fixture::ResponseAssertions;
use crate::support::sample_images::tiny_png;
use crate::support::{Answer, Behaviour, Options, Server, merge, until};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

fn fox_with(extra: Value) -> Value {
    let mut body = json!({"model": "pro", "prompt": "a red fox"});
    merge(&mut body, extra);
    body
}

#[test]
fn an_image_is_returned_as_base64_unless_a_url_is_requested() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let answer = server
        .openai(&customer, &fox_with(json!({})))
        .expect(200)
        .json();
    let data = answer["data"].as_array().expect("data");
    assert_eq!(data.len(), 1);
    let image = STANDARD.decode(data[0]["b64_json"].as_str().unwrap());
    assert_eq!(image.unwrap(), tiny_png());
    assert_eq!(answer["output_format"], "png");
    assert_eq!(answer["size"], "1x1");
    assert!(answer["created"].is_u64());
    assert_eq!(answer["usage"]["output_tokens"], 1_120);
    let body = fox_with(json!({"response_format": "url"}));
    let answer = server.openai(&customer, &body).expect(200).json();
    let url = answer["data"][0]["url"].as_str().unwrap();
    assert!(answer["data"][0].get("b64_json").is_none());
    let target = url.split_once("/files/").expect("a download URL").1;
    let file = server.get(&format!("/files/{target}")).expect(200);
    assert_eq!(file.body, tiny_png());
    server.assert_money(&customer, "0.732", "0.00", "0.732");
    server.assert_settled();
}

#[test]
fn a_model_named_like_dall_e_returns_a_url_by_default() {
    let options = Options::new().set("tiers.fast.compat_models", vec!["dall-e-3", "gpt-image-1"]);
    let server = Server::with(options);
    let customer = server.customer("1.00");
    let entry = |model: &str, extra| {
        let mut body = json!({"model": model, "prompt": "a fox"});
        merge(&mut body, extra);
        let answer = server.openai(&customer, &body).expect(200);
        answer.json()["data"][0].clone()
    };
    assert!(entry("dall-e-3", json!({}))["url"].is_string());
    let asked = json!({"response_format": "b64_json"});
    assert!(entry("dall-e-3", asked)["b64_json"].is_string());
    assert!(entry("gpt-image-1", json!({}))["b64_json"].is_string());
    let body = json!({"model": "dall-e-3", "prompt": "a fox", "stream": true});
    server.openai(&customer, &body).expect(200);
}

#[test]
fn the_default_model_is_fast() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server
        .openai(&customer, &json!({"prompt": "a fox"}))
        .expect(200);
    assert_eq!(server.generator.orders()[0].tier.as_str(), "fast");
}

#[test]
fn a_size_becomes_the_nearest_ratio_and_resolution() {
    let server = Server::start();
    let customer = server.customer("10.00");
    for (size, ratio, resolution) in [
        ("auto", "1:1", "1K"),
        ("1024x1024", "1:1", "1K"),
        ("1536x1024", "3:2", "1K"),
        ("1024x1536", "2:3", "1K"),
        ("2048x2048", "1:1", "2K"),
        ("3840x2160", "16:9", "2K"),
        ("256x256", "1:1", "1K"),
    ] {
        let before = server.generator.runs();
        server
            .openai(&customer, &fox_with(json!({"size": size})))
            .expect(200);
        let order = &server.generator.orders()[before];
        let asked = (order.ratio.to_string(), order.resolution.as_str());
        assert_eq!((asked.0.as_str(), asked.1), (ratio, resolution), "{size}");
    }
}

#[test]
fn several_images_are_several_jobs_and_only_done_jobs_are_charged() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let body = fox_with(json!({"model": "fast", "n": 5}));
    let answer = server.openai(&customer, &body).expect(200).json();
    assert_eq!(answer["data"].as_array().map(Vec::len), Some(5));
    server.assert_money(&customer, "0.805", "0.00", "0.805");
    // Four of five fail: the response contains the other image, and only that one is charged.
    server.generator.hold();
    let call = server.in_background(server.openai(&customer, &body));
    server.until_running(10);
    server.generator.release_one();
    server.until_live(4);
    server.generator.behave(Behaviour::Refuse("no more"));
    server.generator.release_all();
    let answer = call.join().unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["data"].as_array().map(Vec::len), Some(1));
    server.assert_money(&customer, "0.766", "0.00", "0.766");
    server.assert_settled();
}

#[test]
fn several_images_that_exceed_the_balance_are_rejected_together() {
    let server = Server::start();
    let customer = server.customer("0.10");
    let body = fox_with(json!({"model": "fast", "n": 3}));
    let answer = server.openai(&customer, &body).send();
    answer.assert_openai_error(429, "insufficient_quota", Some("insufficient_quota"));
    assert_eq!(server.generator.runs(), 0);
    server.assert_money(&customer, "0.10", "0.00", "0.10");
}

/// All or nothing, with an idempotency key too.
#[test]
fn several_images_with_an_idempotency_key_that_exceed_the_balance_are_rejected_together() {
    let server = Server::start();
    let customer = server.customer("0.10");
    let body = fox_with(json!({"model": "fast", "n": 3}));
    let answer = server.openai(&customer, &body).idempotent("k").send();
    answer.assert_openai_error(429, "insufficient_quota", Some("insufficient_quota"));
    assert_eq!(server.generator.runs(), 0);
    server.assert_money(&customer, "0.10", "0.00", "0.10");
}

#[test]
fn the_number_of_images_is_part_of_the_idempotent_request() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let call = |n: u32| {
        let body = fox_with(json!({"model": "fast", "n": n}));
        server.openai(&customer, &body).idempotent("k")
    };
    call(2).expect(200);
    for other in [1, 3] {
        let said = call(other).send();
        let said =
            said.assert_openai_error(400, "invalid_request_error", Some("idempotency_key_reused"));
        assert!(said.contains("Idempotency-Key"), "{said}");
    }
    let again = call(2).expect(200);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(server.generator.runs(), 2);
}

/// Otherwise a repeated call would submit and charge the rest.
#[test]
fn several_images_that_exceed_the_concurrency_of_the_key_are_none() {
    let server = Server::start();
    let customer = server.customer_with("1.00", json!({"max_concurrent": 2}));
    let body = fox_with(json!({"model": "fast", "n": 3}));
    for call in [
        server.openai(&customer, &body),
        server.openai(&customer, &body).idempotent("k"),
    ] {
        let refused = call.expect(429);
        let message = refused.json()["error"]["message"].to_string();
        assert!(message.contains("the request has 3; split it"), "{message}");
    }
    assert_eq!(server.generator.runs(), 0);
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn concurrent_calls_with_one_key_share_their_images_and_one_of_them_is_the_first() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let body = fox_with(json!({"model": "fast", "n": 3}));
    let call = server.openai(&customer, &body).idempotent("k");
    let calls: Vec<_> = (0..8).map(|_| server.in_background(call.clone())).collect();
    let answers: Vec<_> = calls.into_iter().map(|it| it.join().unwrap()).collect();
    let is_first = |it: &&Answer| it.header("idempotent-replayed").is_none();
    assert_eq!(answers.iter().filter(is_first).count(), 1);
    for answer in &answers {
        assert_eq!(answer.json()["data"], answers[0].json()["data"]);
        assert_eq!(answer.json()["data"].as_array().map(Vec::len), Some(3));
    }
    assert_eq!(server.generator.runs(), 3);
    server.assert_money(&customer, "0.883", "0.00", "0.883");
}

#[test]
fn a_pause_is_reported_before_missing_funds() {
    let server = Server::start();
    let poor = server.customer("0.01");
    server.pause(&["fast"]);
    for n in [1, 2] {
        let body = fox_with(json!({"model": "fast", "n": n}));
        let answer = server.openai(&poor, &body).send();
        answer.assert_openai_error(503, "server_error", Some("unavailable"));
        let message = "the fast model is paused; try again later with the same Idempotency-Key";
        assert_eq!(answer.json()["error"]["message"], message);
    }
}

#[test]
fn pending_jobs_are_listed_and_an_identical_request_gets_their_images() {
    let server = Server::with(Options::new().set("compat.timeout_seconds", 2));
    let customer = server.customer("0.117");
    server.generator.hold();
    let call = server.openai(&customer, &fox_with(json!({"model": "fast", "n": 3})));
    let first = server.in_background(call.clone());
    server.until_running(3);
    server.generator.release_one();
    let answer = first.join().unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = answer.json();
    assert_eq!(answer["data"].as_array().map(Vec::len), Some(1));
    let pending = answer["pending_jobs"].as_array().expect("the late ones");
    assert_eq!(pending.len(), 2);
    server.generator.release_all();
    for job in pending {
        server.job_once(&customer, job.as_str().unwrap(), "done");
    }
    server.assert_money(&customer, "0.00", "0.00", "0.00");
    // The two images that were not delivered; the balance does not cover a third.
    let answer = call.expect(200);
    assert_eq!(answer.header("idempotent-replayed"), Some("true"));
    let answer = answer.json();
    assert_eq!(answer["data"].as_array().map(Vec::len), Some(2));
    assert!(answer.get("pending_jobs").is_none());
    assert_eq!(server.generator.runs(), 3);
    server.assert_settled();
}

#[test]
fn a_failed_image_does_not_hide_the_jobs_that_continue() {
    let server = Server::with(Options::new().set("compat.timeout_seconds", 2));
    let customer = server.customer("1.00");
    server.generator.hold();
    for (blocked, balance) in [(0, "0.922"), (1, "0.883")] {
        let runs = server.generator.runs();
        let body = json!({"model": "fast", "prompt": blocked.to_string(), "n": 2});
        let call = server.in_background(server.openai(&customer, &body));
        server.until_running(runs + 2);
        server.generator.behave(Behaviour::Block("unsafe"));
        (0..blocked).for_each(|_| server.generator.release_one());
        let answer = call.join().unwrap();
        let said = answer.assert_openai_error(504, "server_error", Some("timeout"));
        let orders = &server.generator.orders()[runs..];
        let jobs = orders.iter().map(|order| order.job.to_string());
        let (continuing, ended): (Vec<String>, Vec<String>) =
            jobs.partition(|job| server.job(&customer, job)["status"] == "processing");
        assert_eq!(ended.len(), blocked);
        for job in &continuing {
            assert!(said.contains(&format!("/api/v1/jobs/{job}")), "{said}");
        }
        for job in ended {
            assert!(!said.contains(&job), "{said}");
        }
        server.generator.behave(Behaviour::Succeed);
        for job in continuing {
            server.generator.release_one();
            server.job_once(&customer, &job, "done");
        }
        server.assert_money(&customer, balance, "0.00", balance);
    }
    server.assert_settled();
}

#[test]
fn one_unreadable_image_does_not_withhold_the_others() {
    let server = Server::start();
    let customer = server.customer("0.117");
    let call = server.openai(&customer, &fox_with(json!({"model": "fast", "n": 3})));
    let call = call.idempotent("k");
    call.expect(200);
    let job = server.generator.orders()[1].job.to_string();
    let path = server.objects().join(server.result_key(&job));
    let aside = path.with_extension("aside");
    std::fs::rename(&path, &aside).unwrap();
    std::os::unix::fs::symlink(&path, &path).unwrap();
    let answer = call.expect(200).json();
    assert_eq!(answer["data"].as_array().map(Vec::len), Some(2));
    assert_eq!(answer["pending_jobs"], json!([job]));
    std::fs::rename(&aside, &path).unwrap();
    let answer = call.expect(200).json();
    assert_eq!(answer["data"].as_array().map(Vec::len), Some(3));
    assert_eq!(server.generator.runs(), 3);
}

#[test]
fn a_disconnect_cancels_queued_jobs() {
    let server = Server::with(Options::new().slots(1));
    let customer = server.customer("1.00");
    server.generator.hold();
    let call = server.openai(&customer, &fox_with(json!({"model": "fast", "n": 4})));
    let mut wire = crate::support::raw::Wire::open(server.address);
    wire.send(&call.wire());
    server.until_live(4);
    server.until_running(1);
    drop(wire);
    server.until_live(1);
    server.generator.release_all();
    server.until_live(0);
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    until("the run has ended", || server.generator.runs() == 1);
    server.assert_settled();
}

/// A generation without them would be charged.
#[test]
fn input_images_are_refused() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for name in ["image", "images", "mask", "file"] {
        for value in [json!("data:image/png;base64,AA=="), json!(["a"]), json!({})] {
            let body = fox_with(json!({name: value}));
            let said = server.openai(&customer, &body).send();
            let said = said.assert_openai_field(name);
            assert!(said.contains("/v1/images/edits"), "{said}");
        }
        server
            .openai(&customer, &fox_with(json!({name: null})))
            .expect(200);
    }
    assert_eq!(server.generator.runs(), 4);
}

#[test]
fn tuning_options_are_ignored() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let body = fox_with(json!({
        "model": "fast", "quality": "high", "moderation": "low", "user": "u", "background": "auto",
        "output_compression": 100, "seed": 7, "negative_prompt": "blur", "nobody_knows": {"a": [1]},
        "stream": false, "partial_images": 0, "n": null, "style": "vivid",
    }));
    server.openai(&customer, &body).expect(200);
}
