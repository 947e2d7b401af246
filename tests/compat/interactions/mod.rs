//! Google's Interactions API.

mod background;
mod streams;

use crate::fixture::{ResponseAssertions, image};
use crate::support::http::Request;
use crate::support::sample_images::{self, tiny_png};
use crate::support::{Behaviour, Customer, Options, Origin, Server, merge, origin, until};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

const VERSIONS: [&str; 3] = ["v1", "v1beta", "v1alpha"];

fn fox() -> Value {
    json!({"model": "fast", "input": "a red fox"})
}

fn with(extra: Value) -> Value {
    let mut body = fox();
    merge(&mut body, extra);
    body
}

fn in_background() -> Value {
    with(json!({"background": true}))
}

fn after(previous: &str) -> Value {
    json!({"model": "fast", "input": "with a hat", "previous_interaction_id": previous})
}

fn create(server: &Server, customer: &Customer, body: &Value) -> Request {
    server
        .post("/v1beta/interactions")
        .header("x-goog-api-key", &customer.key)
        .json(body)
}

fn call(server: &Server, customer: &Customer, method: &str, path: &str) -> Request {
    server
        .call(method, &format!("/v1beta/interactions/{path}"))
        .header("x-goog-api-key", &customer.key)
}

fn created(server: &Server, customer: &Customer, body: &Value) -> Value {
    create(server, customer, body).expect(200).json()
}

fn get(server: &Server, customer: &Customer, id: &str) -> Value {
    call(server, customer, "GET", id).expect(200).json()
}

fn id_of(interaction: &Value) -> String {
    interaction["id"].as_str().expect("an id").to_owned()
}

fn until_status(server: &Server, customer: &Customer, id: &str, status: &str) -> Value {
    let mut last = Value::Null;
    until("the interaction has the status", || {
        last = get(server, customer, id);
        last["status"] == status
    });
    last
}

/// The image of a completed interaction.
#[track_caller]
fn output_image(interaction: &Value) -> Vec<u8> {
    assert_eq!(interaction["status"], "completed", "{interaction}");
    let steps = interaction["steps"].as_array().expect("steps");
    assert_eq!(steps.len(), 1, "{interaction}");
    assert_eq!(steps[0]["type"], "model_output");
    let contents = steps[0]["content"].as_array().expect("contents");
    let content = contents.last().expect("a content");
    assert_eq!(content["type"], "image");
    assert!(
        interaction.get("outputs").is_none(),
        "the image is sent once"
    );
    STANDARD.decode(content["data"].as_str().unwrap()).unwrap()
}

#[test]
fn an_image_is_returned_in_the_format_that_the_sdks_read() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for version in VERSIONS {
        let call = server.post(&format!("/{version}/interactions"));
        let answer = call.bearer(&customer.key).json(&fox()).expect(200);
        let interaction = answer.json();
        assert_eq!(output_image(&interaction), tiny_png());
        assert_eq!(interaction["object"], "interaction");
        assert_eq!(interaction["model"], "fast");
        assert_eq!(interaction["usage"]["total_tokens"], 1_293);
        let job = server.job(&customer, &id_of(&interaction));
        assert_eq!(job["status"], "done");
        assert_eq!(interaction["created"], job["created_at"]);
        assert_eq!(interaction["updated"], job["finished_at"]);
        let looked_up = get(&server, &customer, &id_of(&interaction));
        assert_eq!(looked_up, interaction);
    }
    server.assert_money(&customer, "0.883", "0.00", "0.883");
    server.assert_settled();
}

#[test]
fn the_first_sdks_read_the_image_from_the_outputs() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let of_first = |call: Request| {
        call.header(
            "x-goog-api-client",
            "google-genai-sdk/1.75.0 gl-python/3.11",
        )
    };
    let answer = of_first(create(&server, &customer, &fox()))
        .expect(200)
        .json();
    let lookup = call(&server, &customer, "GET", &id_of(&answer));
    for interaction in [&answer, &of_first(lookup).expect(200).json()] {
        let data = interaction["outputs"][0]["data"].as_str().unwrap();
        assert_eq!(STANDARD.decode(data).unwrap(), tiny_png());
        assert!(interaction.get("steps").is_none(), "the image is sent once");
    }
    let stream = with(json!({"stream": true, "response_modalities": ["text", "image"]}));
    let answer = of_first(create(&server, &customer, &stream)).expect(200);
    let names: Vec<String> = streams::events_of(&answer)
        .into_iter()
        .map(|it| it.0)
        .collect();
    let content = ["content.start", "content.delta", "content.stop"];
    let begin = ["interaction.start", "interaction.status_update"];
    let end = ["interaction.complete", "done"];
    assert_eq!(names, [&begin[..], &content, &content, &end].concat());
}

#[test]
fn every_form_of_input_becomes_the_prompt_and_the_input_images() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let text = |text: &str| json!({"type": "text", "text": text});
    let picture =
        |width| json!({"type": "image", "mime_type": "image/png", "data": image(width, 9)});
    let turn = |role: &str, content: Value| json!({"role": role, "content": content});
    let step = |kind: &str, content: Value| json!({"type": kind, "content": content});
    let old_text = text("a wolf");
    for (input, prompt, widths) in [
        (json!("a fox"), "a fox", vec![]),
        (text("a fox"), "a fox", vec![]),
        (json!(["a fox", "in ink"]), "a fox\nin ink", vec![]),
        (
            json!([text("a fox"), picture(3), picture(4)]),
            "a fox",
            vec![3, 4],
        ),
        (
            json!([
                step("user_input", json!([old_text, picture(3)])),
                {"type": "thought", "signature": "A".repeat(2_000_000)},
                step("model_output", json!([picture(4)])),
                step("user_input", json!([text("a hat"), picture(5)])),
            ]),
            "a hat",
            vec![4, 5],
        ),
        (
            json!([
                turn("user", json!("a wolf")),
                turn("model", json!([picture(6)])),
                turn("user", json!([text("a hat")])),
            ]),
            "a hat",
            vec![6],
        ),
    ] {
        created(
            &server,
            &customer,
            &json!({"model": "models/fast", "input": input}),
        );
        let orders = server.generator.orders();
        let order = orders.last().unwrap();
        assert_eq!(order.prompt, prompt);
        let found: Vec<u32> = order.inputs.iter().map(|it| it.width).collect();
        assert_eq!(found, widths, "{prompt}");
    }
    created(
        &server,
        &customer,
        &with(json!({"system_instruction": "in ink"})),
    );
    let orders = server.generator.orders();
    assert_eq!(orders.last().unwrap().prompt, "in ink\n\na red fox");
    server.assert_settled();
}

#[test]
fn images_are_read_in_both_alphabets_and_from_urls() {
    let origin = Origin::start([("/a.png", origin::bytes(sample_images::png(160, 90)))]);
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("1.00");
    let data = URL_SAFE_NO_PAD.encode(sample_images::png(37, 23));
    let input = json!([
        {"data": data, "type": "image"}, {"type": "image", "uri": origin.url("/a.png")}, {"type": "text", "text": "both"},
    ]);
    created(
        &server,
        &customer,
        &json!({"model": "fast", "input": input}),
    );
    let order = &server.generator.orders()[0];
    let widths: Vec<u32> = order.inputs.iter().map(|it| it.width).collect();
    assert_eq!(widths, [37, 160]);
    server.assert_settled();
}

#[test]
fn the_options_reach_the_backend() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let size = json!({"aspect_ratio": "16:9", "image_size": "2K"});
    let mut format = size.clone();
    merge(
        &mut format,
        json!({"type": "image", "mime_type": "image/jpeg"}),
    );
    for (options, has_text, media_type) in [
        (json!({"response_format": format}), false, "image/jpeg"),
        (
            json!({"response_format": [{"type": "text"}, format]}),
            true,
            "image/jpeg",
        ),
        (
            json!({"generation_config": {"image_config": size}, "response_modalities": ["TEXT", "IMAGE"]}),
            true,
            "image/png",
        ),
    ] {
        let mut body = json!({"model": "pro", "input": "a fox", "store": false, "tools": [], "labels": {"a": "b"}});
        merge(&mut body, options);
        let interaction = created(&server, &customer, &body);
        let content = interaction["steps"][0]["content"].as_array().unwrap();
        assert_eq!(content.len(), if has_text { 2 } else { 1 });
        assert_eq!(content.last().unwrap()["mime_type"], media_type);
        let orders = server.generator.orders();
        let order = orders.last().unwrap();
        assert_eq!(order.ratio.to_string(), "16:9");
        assert_eq!(order.resolution.as_str(), "2K");
    }
    server.assert_settled();
}

#[test]
fn what_is_not_supported_is_refused_by_name_and_costs_nothing() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let format = |extra: Value| {
        let mut format = json!({"type": "image"});
        merge(&mut format, extra);
        json!({ "response_format": format })
    };
    for (extra, named) in [
        (json!({"agent": "deep-research"}), "agent"),
        (
            json!({"cached_content": "cachedContents/a"}),
            "cached_content",
        ),
        (json!({"webhook_config": {}}), "webhook_config"),
        (json!({"background": true, "stream": true}), "stream"),
        (
            json!({"response_modalities": ["text"]}),
            "response_modalities",
        ),
        (
            json!({"response_format": [{"type": "text"}]}),
            "response_format",
        ),
        (
            format(json!({"delivery": "uri"})),
            "response_format.delivery",
        ),
        (
            format(json!({"mime_type": "image/bmp"})),
            "response_format.mime_type",
        ),
        (
            format(json!({"image_size": "4K"})),
            "response_format.image_size",
        ),
        (
            format(json!({"aspect_ratio": "1:9"})),
            "response_format.aspect_ratio",
        ),
        (json!({"input": null}), "input"),
        (json!({"input": ""}), "input"),
        (json!({"input": [{"text": "a fox"}]}), "input[0].type"),
        (
            json!({"input": [{"type": "document", "data": "AAAA"}]}),
            "input[0].type",
        ),
        (json!({"input": [{"type": "image"}]}), "input[0].data"),
        (
            json!({"input": [{"type": "image", "uri": "files/a"}]}),
            "input[0].uri",
        ),
        (
            json!({"input": [{"type": "image", "data": "AAAA"}, "a fox"]}),
            "input[0].data",
        ),
        (json!({"model": null}), "model"),
    ] {
        let answer = create(&server, &customer, &with(extra)).send();
        let said = answer.assert_google_error(400, "INVALID_ARGUMENT");
        assert!(said.starts_with(&format!("{named} ")), "{named}: {said}");
    }
    let unknown = create(
        &server,
        &customer,
        &with(json!({"model": "gemini-1.0-pro"})),
    );
    unknown.send().assert_google_error(404, "NOT_FOUND");
    let scoped = server.another_key(&customer.account, json!({"models": ["pro"]}));
    let out_of_scope = create(&server, &scoped, &fox()).send();
    out_of_scope.assert_google_error(403, "PERMISSION_DENIED");
    let stream = call(&server, &customer, "GET", "0?stream=true");
    stream.send().assert_google_error(404, "NOT_FOUND");
    server.pause(&["fast"]);
    let paused = create(&server, &customer, &in_background()).send();
    paused.assert_google_error(503, "UNAVAILABLE");
    assert_eq!(server.generator.runs(), 0);
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    until("nothing is left", || server.objects_left().is_empty());
}

#[test]
fn the_image_of_the_previous_interaction_is_the_first_input_image() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server
        .generator
        .behave(Behaviour::Show(sample_images::png(160, 90)));
    let first = id_of(&created(&server, &customer, &fox()));
    let input = json!([{"type": "image", "data": image(9, 9)}, {"type": "text", "text": "both"}]);
    let mut body = after(&first);
    body["input"] = input;
    let second = created(&server, &customer, &body);
    assert_eq!(second["previous_interaction_id"], first);
    let widths = |at: usize| {
        let inputs = &server.generator.orders()[at].inputs;
        inputs.iter().map(|it| it.width).collect::<Vec<_>>()
    };
    assert_eq!(widths(1), [160, 9]);
    assert_eq!(server.generator.orders()[1].prompt, "both");
    // With 14 images in the last turn, it is the oldest one, as in a conversation.
    let images = (1..=14).map(|width| json!({"type": "image", "data": image(width, 9)}));
    body["input"] = images.chain([json!("all")]).collect();
    created(&server, &customer, &body);
    assert_eq!(widths(2), (1..=14).collect::<Vec<u32>>());
    server.assert_settled();
    let inputs_left = || {
        server
            .objects_left()
            .iter()
            .any(|it| it.starts_with("inputs"))
    };
    until("the copies are gone", || !inputs_left());
}

#[test]
fn only_an_image_of_the_account_that_still_exists_can_be_the_previous_one() {
    let server = Server::start();
    let (customer, stranger) = (server.customer("1.00"), server.customer("1.00"));
    let first = id_of(&created(&server, &customer, &fox()));
    let unknown = "0198c5f0-0000-7000-8000-000000000000";
    for (caller, id) in [
        (&stranger, first.as_str()),
        (&customer, unknown),
        (&customer, "v1_a"),
    ] {
        let answer = create(&server, caller, &after(id)).send();
        answer.assert_google_error(404, "NOT_FOUND");
        for (method, path) in [("GET", ""), ("DELETE", ""), ("POST", "/cancel")] {
            let answer = call(&server, caller, method, &format!("{id}{path}")).send();
            answer.assert_google_error(404, "NOT_FOUND");
        }
    }
    server.generator.behave(Behaviour::Block("violence"));
    let blocked = id_of(&created(&server, &customer, &fox()));
    let answer = create(&server, &customer, &after(&blocked)).send();
    let said = answer.assert_google_error(400, "INVALID_ARGUMENT");
    assert!(
        said.starts_with("previous_interaction_id has no image"),
        "{said}"
    );
    let deleted = call(&server, &customer, "DELETE", &first).expect(200);
    assert_eq!(deleted.json(), json!({}));
    let answer = create(&server, &customer, &after(&first)).send();
    answer.assert_google_error(404, "NOT_FOUND");
    let answer = call(&server, &customer, "GET", &first).send();
    answer.assert_google_error(404, "NOT_FOUND");
    assert_eq!(server.job(&customer, &first)["status"], "done");
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    server.assert_settled();
}
