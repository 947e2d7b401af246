//! Servers other than OpenAI's with its API: the limits of their models, the operator's own fields, and what their refusals mean.

use crate::service::{
    Field, backend, causes, ended, failure, form, image, make, openai_image, pro, size, start,
};
use crate::stub::{Reply, Stub};
use crate::support::sample_images::png;
use crate::support::{Customer, OneNode, Options, Origin, Server, fox_with, origin};
use serde_json::{Value, json};
use toml::Value as Toml;

/// Starts a server whose tier `pro` uses `first`, then `second`.
fn two(first: &Stub, second: &Stub, change: impl FnOnce(Options) -> Options) -> (Server, Customer) {
    start("openai", first, |it| {
        let it = backend(it.allow_loopback(), "next", "openai", second);
        pro(change(it), &["far", "next"])
    })
}

/// Runs an image-to-image job with this number of input images to its end.
fn edited(server: &Server, customer: &Customer, count: usize) -> Value {
    let origin = Origin::start([("/a.png", origin::bytes(png(40, 40)))]);
    let body = fox_with(json!({"input_images_urls": vec![origin.url("/a.png"); count]}));
    let answer = server.generation(customer, "/url-generations", &body);
    ended(server, customer, &answer.expect(202).job_id())
}

#[test]
fn a_backend_is_not_asked_for_more_input_images_than_its_model_takes() {
    for (most, few, many) in [(0, 0, 1), (1, 1, 2)] {
        let first = Stub::answering([openai_image(&png(64, 64))]);
        let second = Stub::answering([openai_image(&png(64, 64))]);
        let limited = |it: Options| it.set("backends.far.max_inputs", most);
        let (server, customer) = two(&first, &second, limited);
        match few {
            0 => make(&server, &customer, json!({})),
            count => edited(&server, &customer, count),
        };
        assert_eq!((first.seen().len(), second.seen().len()), (1, 0));
        assert_eq!(edited(&server, &customer, many)["status"], "done");
        assert_eq!((first.seen().len(), second.seen().len()), (1, 1));
    }
    let stub = Stub::answering([openai_image(&png(64, 64))]);
    let (server, customer) = start("openai", &stub, |it| {
        it.allow_loopback().set("backends.far.max_inputs", 0)
    });
    let job = edited(&server, &customer, 1);
    assert_eq!(
        failure(&server, &customer, &stub, &job),
        "the image generator takes no input images"
    );
    assert_eq!(stub.seen().len(), 0);
}

#[test]
fn a_larger_image_than_the_model_draws_is_enlarged() {
    for (model, asked, stored) in [
        ("Qwen/Qwen-Image", "256x256", (1_024, 1_024)),
        ("gpt-image-2", "1024x1024", (256, 256)),
    ] {
        let stub = Stub::answering([openai_image(&crate::fixture::image(256, 256))]);
        let (server, customer) = start("openai", &stub, |it| {
            it.set("backends.far.model", model)
                .set("backends.far.max_pixels", 65_536)
        });
        let job = make(&server, &customer, json!({}));
        assert_eq!(stub.only().json()["size"], asked, "{model}");
        assert_eq!(size(&image(&server, &job)), stored, "{model}");
    }
}

#[test]
fn a_server_that_lacks_the_model_is_passed_over_and_named_to_the_operator() {
    let mismatch = "Model mismatch: request specifies 'Qwen/Qwen-Image' but server is running 'Qwen/Qwen-Image-2512'.";
    for (status, text) in [
        ("400 Bad Request", mismatch),
        (
            "422 Unprocessable Entity",
            "The model `Qwen/Qwen-Image` does not exist.",
        ),
    ] {
        let first = Stub::answering([Reply::error(status, &json!({"detail": text}))]);
        let second = Stub::answering([openai_image(&png(64, 64))]);
        let (server, customer) = two(&first, &second, |it| it);
        assert_eq!(make(&server, &customer, json!({}))["status"], "done");
        assert_eq!((first.seen().len(), second.seen().len()), (1, 1));

        let (server, customer) = start("openai", &first, |it| {
            it.one_node(OneNode::Figures).set("backends.far.retries", 1)
        });
        let job = make(&server, &customer, json!({}));
        assert_eq!(
            failure(&server, &customer, &first, &job),
            "the image generator is misconfigured; contact the operator of this service"
        );
        assert_eq!(first.seen().len(), 2, "no retry");
        let cause = &causes(&server, &job)[0];
        assert!(
            cause.contains(text) && cause.contains("check the model"),
            "{cause}"
        );
    }
}

/// Each server has limits of its own. OpenAI's refusals are about the request.
#[test]
fn a_refusal_fails_over_unless_it_comes_from_openai() {
    let refusal = json!({"detail": "Requested image size 1024x1024 is not supported."});
    for (model, status, fails_over) in [
        ("Qwen/Qwen-Image", "400 Bad Request", true),
        ("Qwen/Qwen-Image", "422 Unprocessable Entity", true),
        ("gpt-image-2", "400 Bad Request", false),
    ] {
        let first = Stub::answering([Reply::error(status, &refusal)]);
        let second = Stub::answering([openai_image(&png(64, 64))]);
        let (server, customer) = two(&first, &second, |it| it.set("backends.far.model", model));
        let job = make(&server, &customer, json!({}));
        let expected = if fails_over { "done" } else { "failed" };
        assert_eq!(job["status"], expected, "{model} {status}");
        assert_eq!(first.seen().len(), 1);
        assert_eq!(second.seen().len(), usize::from(fails_over));
    }
}

#[test]
fn the_operators_fields_are_part_of_each_request() {
    let stub = Stub::answering([openai_image(&png(64, 64))]);
    let fields = "true_cfg_scale = 4.0\nnegative_prompt = 'blurry'\nnum_inference_steps = 30\nlist = [1, 'a']\non = true";
    let fields: Toml = toml::from_str(fields).unwrap();
    let (server, customer) = start("openai", &stub, |it| {
        it.allow_loopback().set("backends.far.request", fields)
    });
    make(&server, &customer, json!({}));
    let sent = stub.only().json();
    let expected = [
        ("true_cfg_scale", json!(4.0)),
        ("negative_prompt", json!("blurry")),
        ("num_inference_steps", json!(30)),
        ("list", json!([1, "a"])),
        ("on", json!(true)),
    ];
    for (name, value) in expected {
        assert_eq!(sent[name], value, "{name}");
    }
    assert_eq!(edited(&server, &customer, 1)["status"], "done");
    let parts = form(&stub.seen()[1]);
    let text = |name: &str| {
        let found: &Field = parts.iter().find(|it| it.name == name).expect(name);
        String::from_utf8(found.content.clone()).unwrap()
    };
    for (name, value) in [
        ("true_cfg_scale", "4.0"),
        ("negative_prompt", "blurry"),
        ("num_inference_steps", "30"),
        ("list", "[1,\"a\"]"),
        ("on", "true"),
    ] {
        assert_eq!(text(name), value);
    }
    assert_eq!(
        parts.last().unwrap().name,
        "image",
        "texts come before files"
    );
}
