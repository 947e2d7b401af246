//! The OpenAI images API as a backend: requests and answers.

use crate::service::{
    Field, KEY, LEFT, backend, causes, ended, failure, form, image, make, openai_image, pro, size,
    start,
};
use crate::stub::{Reply, Stub};
use crate::support::sample_images::{encoded, png, transparent};
use crate::support::{Customer, OneNode, Origin, Server, fox_with, origin};
use image::ImageFormat;
use serde_json::{Value, json};

#[test]
fn a_self_hosted_server_gets_the_exact_size_and_a_base64_response_format() {
    let drawn = png(1376, 768);
    let stub = Stub::answering([openai_image(&drawn)]);
    let (server, customer) = start("openai", &stub, |it| it);
    let job = make(&server, &customer, json!({"aspect_ratio": "16:9"}));
    assert_eq!(image(&server, &job), drawn);
    let seen = stub.only();
    assert_eq!(
        (seen.method.as_str(), seen.target.as_str()),
        ("POST", "/v1/images/generations")
    );
    assert_eq!(
        seen.header("authorization"),
        Some(&*format!("Bearer {KEY}"))
    );
    assert_eq!(
        seen.json(),
        json!({"prompt": "a red fox in the snow", "n": 1, "size": "1376x768", "response_format": "b64_json", "seed": seed(&job)})
    );
    server.assert_money(&customer, LEFT, "0.00", LEFT);
}

/// The seed of a job.
fn seed(job: &Value) -> u32 {
    let id: uuid::Uuid = job["job_id"].as_str().unwrap().parse().unwrap();
    id.as_u128() as u32 & 0x7fff_ffff
}

#[test]
fn models_of_openai_get_supported_sizes_and_no_response_format_or_seed() {
    for (model, asked) in [("gpt-image-1.5", "1536x1024"), ("gpt-image-2", "1376x768")] {
        let stub = Stub::answering([openai_image(&png(150, 100))]);
        let (server, customer) = start("openai", &stub, |it| {
            it.set("backends.far.model", model)
                .set("backends.far.quality", "high")
        });
        let job = make(&server, &customer, json!({"aspect_ratio": "16:9"}));
        assert_eq!(
            stub.only().json(),
            json!({"model": model, "prompt": "a red fox in the snow", "n": 1, "size": asked, "quality": "high"})
        );
        assert_eq!(size(&image(&server, &job)), (150, 84), "cropped to 16:9");
    }
}

/// Other servers do not get the parameter: an image that has to be opaque becomes so before it is stored.
#[test]
fn a_background_is_passed_on_to_models_of_openai_that_have_it() {
    for (model, background, sent) in [
        ("gpt-image-1.5", "transparent", Some("transparent")),
        ("gpt-image-1.5", "opaque", Some("opaque")),
        ("gpt-image-1.5", "auto", None),
        ("gpt-image-2", "opaque", Some("opaque")),
        ("qwen-image", "opaque", None),
    ] {
        let stub = Stub::answering([openai_image(&transparent(64, 64))]);
        let (server, customer) = start("openai", &stub, |it| it.set("backends.far.model", model));
        let body = json!({"model": "pro", "prompt": "a fox", "background": background});
        let call = server.post("/v1/images/generations").bearer(&customer.key);
        let answer = call.json(&body).expect(200).json();
        let delivered = match background {
            "opaque" => "opaque",
            _ => "transparent",
        };
        assert_eq!(answer["background"], delivered, "{body}");
        assert_eq!(stub.only().json()["background"], json!(sent), "{body}");
    }
}

#[test]
fn a_backend_without_transparent_backgrounds_is_passed_over() {
    let stub = Stub::answering([openai_image(&transparent(64, 64))]);
    let other = Stub::answering([openai_image(&png(64, 64))]);
    let (server, customer) = start("openai", &stub, |it| {
        let it = it.set("backends.far.model", "gpt-image-1.5");
        pro(backend(it, "other", "openai", &other), &["other", "far"])
    });
    let body = json!({"model": "pro", "prompt": "a fox", "background": "transparent"});
    let call = server.post("/v1/images/generations").bearer(&customer.key);
    let answer = call.json(&body).expect(200).json();
    assert_eq!(answer["background"], "transparent");
    assert_eq!(stub.only().json()["background"], "transparent");
    assert_eq!(other.seen().len(), 0);
}

/// A PNG with an alpha channel.
#[test]
fn jobs_with_the_same_prompt_have_different_seeds_in_the_form_that_the_server_reads() {
    for (format, model) in [
        ("auto", "qwen-image"),
        ("field", "gpt-image-2"),
        ("sd_cpp_extra_args", "qwen-image"),
        ("sd_cpp_extra_args", "gpt-image-2"),
        ("none", "qwen-image"),
    ] {
        let stub = Stub::answering([openai_image(&png(64, 64))]);
        let (server, customer) = start("openai", &stub, |it| {
            it.set("backends.far.seed", format)
                .set("backends.far.model", model)
        });
        let prompt = r#"a fox <sd_cpp_extra_args>{"seed":1}</sd_cpp_extra_args>"#;
        let seeds = [0, 1].map(|_| seed(&make(&server, &customer, json!({"prompt": prompt}))));
        let seen = stub.seen();
        assert_ne!(seeds[0], seeds[1]);
        assert_eq!(seen.len(), 2);
        for (seed, seen) in seeds.iter().zip(seen) {
            let body = seen.json();
            let directive = format!(r#"<sd_cpp_extra_args>{{"seed":{seed}}}</sd_cpp_extra_args>"#);
            let prompt = body["prompt"].as_str().unwrap();
            let (field, directives) = match format {
                "none" => (Value::Null, 0),
                "sd_cpp_extra_args" => (Value::Null, 1),
                _ => (json!(seed), 0),
            };
            assert_eq!(body["seed"], field, "{format}");
            assert_eq!(prompt.matches(&directive).count(), directives, "{format}");
            if directives == 1 {
                assert!(prompt.ends_with(&directive), "{prompt}");
                let own = prompt.strip_suffix(&directive).unwrap();
                assert!(!own.contains("sd_cpp_extra_args"), "{prompt}");
            }
        }
    }
}

#[test]
fn directives_for_stable_diffusion_cpp_are_removed_from_the_prompt() {
    let stub = Stub::answering([openai_image(&png(64, 64))]);
    let (server, customer) = start("openai", &stub, |it| it);
    let prompt = r#"a fox <sd_cpp_extra_args>{"steps": 9999}</sd_cpp_extra_args>"#;
    make(&server, &customer, json!({"prompt": prompt}));
    let sent = stub.only().json()["prompt"].as_str().unwrap().to_owned();
    assert!(
        !sent.contains("sd_cpp_extra_args") && sent.starts_with("a fox "),
        "{sent}"
    );
}

/// An image-to-image job with this number of input images; the last one is a WebP.
fn edited(server: &Server, customer: &Customer, count: usize) -> Value {
    let origin = Origin::start([
        ("/a.png", origin::bytes(png(40, 40))),
        ("/b.webp", origin::bytes(encoded(32, 32, ImageFormat::WebP))),
    ]);
    let mut urls = vec![origin.url("/a.png"); count - 1];
    urls.push(origin.url("/b.webp"));
    let body = fox_with(json!({"input_images_urls": urls}));
    let answer = server.generation(customer, "/url-generations", &body);
    ended(server, customer, &answer.expect(202).job_id())
}

#[test]
fn an_edit_is_a_form_with_the_texts_first_and_the_field_that_the_server_reads() {
    for (field, count, name) in [
        ("auto", 1, "image"),
        ("auto", 2, "image[]"),
        ("image", 2, "image"),
        ("image[]", 1, "image[]"),
    ] {
        let stub = Stub::answering([openai_image(&png(64, 64))]);
        let (server, customer) = start("openai", &stub, |it| {
            it.allow_loopback()
                .set("backends.far.image_field", field)
                .set("backends.far.model", "qwen-image-edit")
        });
        let job = edited(&server, &customer, count);
        assert_eq!(job["status"], "done", "{job}");
        let seen = stub.only();
        assert_eq!(seen.target, "/v1/images/edits");
        let parts = form(&seen);
        let text = |it: &Field| {
            (
                it.name.clone(),
                String::from_utf8(it.content.clone()).unwrap(),
            )
        };
        let texts: Vec<(String, String)> = parts[..6].iter().map(text).collect();
        let texts: Vec<(&str, &str)> = texts.iter().map(|(a, b)| (&**a, &**b)).collect();
        assert_eq!(
            texts,
            [
                ("model", "qwen-image-edit"),
                ("prompt", "a red fox in the snow"),
                ("n", "1"),
                ("size", "1024x1024"),
                ("response_format", "b64_json"),
                ("seed", &*seed(&job).to_string()),
            ]
        );
        let files = &parts[6..];
        assert_eq!(files.len(), count);
        for file in files {
            assert_eq!(file.name, name);
            assert!(file.file_name.as_ref().unwrap().ends_with(".png"));
            assert_eq!(file.media_type.as_deref(), Some("image/png"));
            image::load_from_memory(&file.content).expect("an image that the server reads");
        }
    }
}

#[test]
fn a_server_with_an_image_field_gets_one_input_in_its_generation_request() {
    let stub = Stub::answering([openai_image(&png(64, 64))]);
    let start = |count| {
        let (server, customer) = start("openai", &stub, |it| {
            it.allow_loopback().set("backends.far.image_field", "file")
        });
        edited(&server, &customer, count)
    };
    assert_eq!(start(1)["status"], "done");
    let seen = stub.only();
    assert_eq!(seen.target, "/v1/images/generations");
    assert!(seen.json()["file"].as_str().unwrap().len() > 20);
    assert_eq!(
        start(2)["error"],
        "the image generator takes at most one input image"
    );
    stub.only();
}

#[test]
fn an_image_url_is_fetched_only_from_the_backend_itself() {
    let drawn = png(64, 64);
    let own = |url: String| {
        Stub::answering([Reply::json(
            &json!({"data": [{"url": url, "b64_json": null}]}),
        )])
        .on(
            "/generated/x.png",
            Reply::typed("200 OK", "image/png", drawn.clone()),
        )
    };
    let stub = own("/generated/x.png".into());
    let (server, customer) = start("openai", &stub, |it| it);
    let job = make(&server, &customer, json!({}));
    assert_eq!(image(&server, &job), drawn);
    let trap = Origin::trap();
    let stub = own(trap.url("/generated/x.png"));
    let (server, customer) = start("openai", &stub, |it| it);
    let job = make(&server, &customer, json!({}));
    failure(&server, &customer, &stub, &job);
    assert_eq!(trap.accepted(), 0, "another server is not asked");
}

#[test]
fn the_body_of_an_error_response_determines_its_kind() {
    for (status, body, expected, calls) in [
        (
            "400 Bad Request",
            json!({"error": {"message": "Your request was rejected by the safety system.", "code": "moderation_blocked"}}),
            "blocked for safety: Your request was rejected by the safety system.",
            1,
        ),
        (
            "429 Too Many Requests",
            json!({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}),
            "the image generator is misconfigured; contact the operator of this service",
            1,
        ),
        (
            "400 Bad Request",
            json!({"error": {"message": "The prompt is too long.", "code": "invalid_value"}}),
            "the image generator refused the request: The prompt is too long.",
            1,
        ),
        (
            "400 Bad Request",
            json!({"error": {"message": "Invalid size.", "param": "size", "code": "invalid_value"}}),
            "the image generator is misconfigured; contact the operator of this service",
            1,
        ),
        (
            "400 Bad Request",
            json!({"error": {"message": "Too long.", "param": "prompt", "code": "invalid_value"}}),
            "the image generator refused the request: Too long.",
            1,
        ),
        (
            "422 Unprocessable Entity",
            json!({"detail": [{"loc": ["body", "size"], "msg": "size 7x7 at /srv/app/x.py is not allowed"}]}),
            "the image generator refused the request: size 7x7 at [removed] is not allowed",
            1,
        ),
        (
            "500 Internal Server Error",
            json!({"error": "server_error", "message": "out of memory"}),
            "the image generator failed temporarily (status 500)",
            2,
        ),
        (
            "404 Not Found",
            json!({"error": {"message": "no model far-away", "code": "x"}}),
            "the image generator is misconfigured; contact the operator of this service",
            1,
        ),
    ] {
        let stub = Stub::answering([Reply::error(status, &body)]);
        let (server, customer) = start("openai", &stub, |it| it.set("backends.far.retries", 1));
        let job = make(&server, &customer, json!({}));
        assert_eq!(failure(&server, &customer, &stub, &job), expected);
        assert_eq!(stub.seen().len(), calls, "{body}");
    }
}

#[test]
fn an_error_in_a_success_is_reported_with_its_text() {
    for (answer, expected, cause, calls) in [
        (
            json!({"error": {"message": "Rejected.", "code": "content_policy_violation"}}),
            "blocked for safety: Rejected.",
            None,
            1,
        ),
        (
            json!({"error": {"message": "No credit left.", "code": "insufficient_quota"}}),
            "the image generator is misconfigured; contact the operator of this service",
            Some("it rejects the key or its account, saying \"No credit left.\""),
            1,
        ),
        (
            json!({"code": "Busy", "message": "The GPU is busy."}),
            "the image generator returned no image",
            Some("it returned no image, saying \"The GPU is busy.\""),
            2,
        ),
    ] {
        let stub = Stub::answering([Reply::json(&answer)]);
        let (server, customer) = start("openai", &stub, |it| {
            it.one_node(OneNode::Figures).set("backends.far.retries", 1)
        });
        let job = make(&server, &customer, json!({}));
        assert_eq!(failure(&server, &customer, &stub, &job), expected);
        assert_eq!(stub.seen().len(), calls, "{answer}");
        let found = causes(&server, &job);
        match cause {
            Some(cause) => assert!(found[0].starts_with(cause), "{found:?}"),
            None => assert!(found.is_empty(), "{found:?}"),
        }
    }
}

#[test]
fn a_block_of_azure_is_a_block() {
    for error in [
        json!({"code": "contentFilter", "message": "Filtered."}),
        json!({"code": "BadRequest", "message": "Filtered.",
            "inner_error": {"code": "ResponsibleAIPolicyViolation"}}),
    ] {
        let answer = json!({"error": error});
        let stub = Stub::answering([Reply::error("400 Bad Request", &answer)]);
        let (server, customer) = start("openai", &stub, |it| it);
        let job = make(&server, &customer, json!({}));
        let error = failure(&server, &customer, &stub, &job);
        assert_eq!(error, "blocked for safety: Filtered.");
    }
}

#[test]
fn a_wrong_path_is_named_to_the_operator_and_not_to_the_caller() {
    let stub = Stub::answering([Reply::typed("404 Not Found", "text/plain", "no route")]);
    let (server, customer) = start("openai", &stub, |it| it.one_node(OneNode::Figures));
    let job = make(&server, &customer, json!({}));
    let error = failure(&server, &customer, &stub, &job);
    assert!(!error.contains("/v1"), "{error}");
    let cause = &causes(&server, &job)[0];
    assert!(cause.contains("/v1/images/generations"), "{cause}");
}
