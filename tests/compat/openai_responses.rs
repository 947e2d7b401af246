//! OpenAI's Responses API with its tool `image_generation`: synchronous calls.

use crate::fixture::ResponseAssertions;
use crate::support::http::Request;
use crate::support::sample_images::{self, tiny_png, transparent};
use crate::support::{
    Answer, Behaviour, Customer, OneNode, Options, Origin, Server, merge, origin, until,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const INVALID: &str = "invalid_request_error";

pub fn respond(server: &Server, customer: &Customer, body: &Value) -> Request {
    let call = server.post("/v1/responses").bearer(&customer.key);
    call.json(body)
}

/// A request with these members.
pub fn fox(extra: Value) -> Value {
    let tools = json!([{"type": "image_generation"}]);
    let mut body = json!({"model": "fast", "input": "a red fox", "tools": tools});
    merge(&mut body, extra);
    body
}

fn with_tool(tool: Value) -> Value {
    let mut all = json!({"type": "image_generation"});
    merge(&mut all, tool);
    fox(json!({"tools": [{"type": "web_search"}, all]}))
}

pub fn image_of(response: &Value) -> Vec<u8> {
    let item = &response["output"][0];
    assert_eq!(item["type"], "image_generation_call", "{response}");
    assert_eq!(item["status"], "completed");
    let image = STANDARD.decode(item["result"].as_str().expect("an image"));
    image.unwrap()
}

fn data_url(bytes: &[u8]) -> String {
    format!("data:image/png;base64,{}", STANDARD.encode(bytes))
}

fn input_image(url: impl Into<String>) -> Value {
    json!({"type": "input_image", "detail": "auto", "image_url": url.into()})
}

fn input_text(text: &str) -> Value {
    json!({"type": "input_text", "text": text})
}

fn user(content: Value) -> Value {
    json!({"role": "user", "content": content})
}

/// The widths of the input images of the newest run, and its prompt.
fn last_order(server: &Server) -> (Vec<u32>, String) {
    let orders = server.generator.orders();
    let order = orders.last().expect("a run");
    let widths = order.inputs.iter().map(|it| it.width).collect();
    (widths, order.prompt.clone())
}

fn assert_no_inputs_left(server: &Server) {
    until("no input is left", || {
        let left = server.objects_left();
        !left.iter().any(|key| key.starts_with("inputs"))
    });
}

#[test]
fn a_prompt_gets_a_response_with_the_image() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let body = fox(json!({
        "metadata": {"order": "7", "result": "AAAA", "image_url": "data:,"},
        "temperature": 0.5,
        "reasoning": {"effort": "low"},
        "tool_choice": {"type": "image_generation"},
        "previous_response_id": null,
    }));
    let answer = respond(&server, &customer, &body).expect(200);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let response = answer.json();
    assert_eq!(image_of(&response), tiny_png());
    let id = response["id"].as_str().unwrap();
    let job = id.strip_prefix("resp_").expect("the id of a response");
    assert_eq!(response["output"][0]["id"], format!("ig_{job}"));
    for (name, value) in [
        ("object", json!("response")),
        ("status", json!("completed")),
        ("created_at", json!(server.clock.seconds())),
        ("completed_at", json!(server.clock.seconds())),
        ("background", json!(false)),
        ("error", Value::Null),
        ("incomplete_details", Value::Null),
        ("metadata", body["metadata"].clone()),
        ("model", json!("fast")),
        ("previous_response_id", Value::Null),
        ("parallel_tool_calls", json!(false)),
    ] {
        assert_eq!(response[name], value, "{name}");
    }
    assert_eq!(response["tools"][0]["type"], "image_generation");
    let item = &response["output"][0];
    let shown = ["output_format", "size", "quality", "background", "action"].map(|it| &item[it]);
    assert_eq!(shown, ["png", "1x1", "auto", "opaque", "generate"]);
    let of = |name: &str| response["usage"][name].as_u64().expect(name);
    assert_eq!(of("input_tokens") + of("output_tokens"), of("total_tokens"));
    let jobs = server.native(&customer, "GET", "/jobs?metadata%5Border%5D=7");
    assert_eq!(jobs.expect(200).json()["data"][0]["job_id"], job);
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    server.assert_settled();
}

#[test]
fn the_options_of_the_tool_are_those_of_the_images_api() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let body = with_tool(json!({
        "size": "1536x1024", "quality": "high", "output_format": "jpeg", "output_compression": 80, "moderation": "low",
        "partial_images": 2, "background": "opaque", "action": "generate", "input_fidelity": "high",
    }));
    let response = respond(&server, &customer, &body).expect(200).json();
    let item = &response["output"][0];
    assert_eq!(item["output_format"], "jpeg");
    assert_eq!(item["quality"], "high");
    assert!(image_of(&response).starts_with(&[0xff, 0xd8]));
    let tool = &response["tools"][0];
    assert_eq!(tool["output_compression"], 80);
    assert_eq!(tool["background"], "opaque");
    let ratio = server.generator.orders()[0].ratio;
    assert_eq!(ratio.to_string(), "3:2");
    for (tool, field) in [
        (json!({"size": "large"}), "size"),
        (json!({"n": 2}), "n"),
        (json!({"output_format": "gif"}), "output_format"),
        (json!({"partial_images": 4}), "partial_images"),
        (json!({"quality": {}}), "quality"),
        (json!({"action": "draw"}), "action"),
        (json!({"action": "edit"}), "action"),
        (json!({"mask": "x"}), "mask"),
        (
            json!({"input_image_mask": {"image_url": data_url(&tiny_png())}}),
            "input_image_mask",
        ),
    ] {
        let answer = respond(&server, &customer, &with_tool(tool)).send();
        answer.assert_openai_field(&format!("tools[1].{field}"));
    }
    let transparent = with_tool(json!({"background": "transparent"}));
    let answer = respond(&server, &customer, &transparent).send();
    answer.assert_openai_field("tools[1].background");
    assert_eq!(server.generator.runs(), 1);
}

/// Programs name a chat model in the request.
#[test]
fn the_model_is_that_of_the_tool_if_it_exists_and_else_that_of_the_request() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (request, tool, expected) in [
        (json!("gpt-5"), json!("fast"), Some("fast")),
        (json!("fast"), json!("gpt-image-2"), Some("fast")),
        (json!("pro"), json!("fast"), Some("fast")),
        (Value::Null, Value::Null, Some("fast")),
        (json!("gpt-5"), json!("gpt-image-2"), None),
        (json!("gpt-5"), Value::Null, None),
    ] {
        let mut body = with_tool(json!({"model": tool}));
        body["model"] = request;
        let answer = respond(&server, &customer, &body).send();
        match expected {
            Some(model) => assert_eq!(answer.json()["model"], model),
            None => {
                let said = answer.assert_openai_error(404, INVALID, Some("model_not_found"));
                assert!(said.contains("if its tool names a model"), "{said}");
                assert_eq!(answer.json()["error"]["param"], "model");
            }
        }
    }
    let scoped = server.another_key(&customer.account, json!({"models": ["fast"]}));
    let answer = respond(&server, &scoped, &fox(json!({"model": "pro"}))).send();
    answer.assert_openai_error(403, INVALID, Some("model_not_allowed"));
}

#[test]
fn a_request_for_a_text_is_refused_and_costs_nothing() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (extra, field) in [
        (json!({"tools": null}), "tools"),
        (json!({"tools": []}), "tools"),
        (json!({"tools": [{"type": "web_search"}]}), "tools"),
        (json!({"tools": {"type": "image_generation"}}), "tools"),
        (json!({"tool_choice": "none"}), "tool_choice"),
        (
            json!({"tool_choice": {"type": "web_search"}}),
            "tool_choice",
        ),
        (json!({"input": null}), "input"),
        (json!({"input": ""}), "input"),
        (json!({"input": []}), "input"),
        (json!({"input": 7}), "input"),
        (json!({"input": ["a fox"]}), "input[0]"),
        (json!({"input": [{"content": "a fox"}]}), "input[0].role"),
        (json!({"input": [{"role": "user"}]}), "input[0].content"),
        (
            json!({"input": [user(json!([{"type": "input_file"}]))]}),
            "input[0].content[0].type",
        ),
        (
            json!({"input": [user(json!([input_text("x"), {"type": "input_image", "file_id": "file-x"}]))]}),
            "input[0].content[1].file_id",
        ),
        (
            json!({"input": [user(json!([input_text("x"), input_image("ftp://a/")]))]}),
            "input[0].content[1].image_url",
        ),
        (
            json!({"input": [user(json!([input_text("x"), input_image("data:image/png;base64,AAAA")]))]}),
            "input[0].content[1].image_url",
        ),
        (
            json!({"input": [{"role": "assistant", "content": "a fox"}]}),
            "input",
        ),
        (json!({"instructions": 7}), "instructions"),
        (json!({"prompt": {"id": "pmpt_1"}}), "prompt"),
        (json!({"conversation": "conv_1"}), "conversation"),
        (json!({"background": "yes"}), "background"),
        (json!({"background": true, "stream": true}), "background"),
        (json!({"stream": "yes"}), "stream"),
        (json!({"metadata": {"a": 1}}), "metadata"),
        (json!({"model": 7}), "model"),
    ] {
        let answer = respond(&server, &customer, &fox(extra)).send();
        let said = answer.assert_openai_field(field);
        if field == "tools" && !said.contains("array") {
            assert!(said.contains("image_generation"), "{said}");
        }
    }
    assert_eq!(server.generator.runs(), 0);
    assert_no_inputs_left(&server);
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn the_prompt_is_the_last_user_turn_after_the_instructions() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let body = fox(json!({
        "instructions": "in ink",
        "input": [
            {"type": "message", "role": "developer", "content": [input_text("no text")]},
            user(json!("a cat")),
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"role": "assistant", "content": [{"type": "output_text", "text": "Here it is."}]},
            user(json!([input_text("a red fox")])),
            user(json!([input_text(""), input_text("in the snow\u{0}")])),
        ],
    }));
    respond(&server, &customer, &body).expect(200);
    let expected = "in ink\n\nno text\n\na red fox\nin the snow";
    assert_eq!(last_order(&server), (Vec::new(), expected.to_owned()));
}

#[test]
fn images_of_the_last_turn_follow_those_that_the_model_generated() {
    let origin = Origin::start([("/a.png", origin::bytes(sample_images::png(160, 90)))]);
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("1.00");
    let image = |width| STANDARD.encode(sample_images::png(width, 9));
    let result = |width| json!({"type": "image_generation_call", "id": "ig_x", "status": "completed", "result": image(width)});
    let body = fox(json!({"input": [
        user(json!([input_text("a cat"), input_image(data_url(&sample_images::png(11, 9)))])),
        result(12),
        user(json!([
            input_image(origin.url("/a.png")),
            input_text("make it blue"),
            input_image(data_url(&sample_images::png(13, 9))),
        ])),
        result(14),
        {"type": "image_generation_call", "id": "ig_y", "status": "failed", "result": null},
    ]}));
    let response = respond(&server, &customer, &body).expect(200).json();
    assert_eq!(response["output"][0]["action"], "edit");
    let expected = (vec![12, 14, 160, 13], "make it blue".to_owned());
    assert_eq!(last_order(&server), expected);
    // Beyond 14, the oldest are left out.
    let mut items: Vec<Value> = (20..35).map(result).collect();
    items.push(user(json!([
        input_text("a hat"),
        input_image(data_url(&sample_images::png(9, 9)))
    ])));
    respond(&server, &customer, &fox(json!({"input": items}))).expect(200);
    let mut widths: Vec<u32> = (22..35).collect();
    widths.push(9);
    assert_eq!(last_order(&server).0, widths);
    let many = vec![input_image(data_url(&sample_images::png(9, 9))); 15];
    let mut content = json!(many);
    content.as_array_mut().unwrap().push(input_text("a hat"));
    let answer = respond(&server, &customer, &fox(json!({"input": [user(content)]}))).send();
    answer.assert_openai_field("input");
    assert_no_inputs_left(&server);
    server.assert_settled();
}

/// Callers send whole conversations again.
#[test]
fn an_image_that_is_not_used_is_not_checked() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let generated = |result: String| json!({"type": "image_generation_call", "result": result});
    let image = |width| generated(STANDARD.encode(sample_images::png(width, 9)));
    let foreign = json!({"type": "image_generation_call", "id": "ig_of_another_service"});
    let no_url = input_image("ftp://images.example/a.png");
    let mut items = vec![
        user(json!([input_text("a cat"), no_url])),
        foreign.clone(),
        generated("a file".to_owned()),
    ];
    items.extend((20..34).map(image));
    items.push(user(json!("a hat")));
    respond(&server, &customer, &fox(json!({"input": items}))).expect(200);
    let expected = ((20..34).collect(), "a hat".to_owned());
    assert_eq!(last_order(&server), expected);
    let last = user(json!([input_text("a hat"), no_url]));
    for (used, field) in [
        (vec![foreign, user(json!("a hat"))], "input[0].id"),
        (
            vec![generated("a file".to_owned()), user(json!("a hat"))],
            "input[0].result",
        ),
        (vec![last], "input[0].content[1].image_url"),
    ] {
        let answer = respond(&server, &customer, &fox(json!({"input": used}))).send();
        assert_eq!(answer.json()["error"]["param"], field, "{}", answer.text());
    }
    assert_no_inputs_left(&server);
}

#[test]
fn a_mask_of_the_tool_is_for_the_first_image() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let mask = |width| json!({"input_image_mask": {"image_url": data_url(&transparent(width, 9))}});
    let mut body = with_tool(mask(16));
    let image = input_image(data_url(&sample_images::png(16, 9)));
    body["input"] = json!([user(json!([input_text("a hat"), image]))]);
    let response = respond(&server, &customer, &body).expect(200).json();
    let order = &server.generator.orders()[0];
    assert!(order.has_mask);
    assert_eq!(order.inputs.len(), 2);
    assert!(!response["tools"].to_string().contains("data:"));
    let mut other = with_tool(mask(9));
    other["input"] = body["input"].clone();
    let answer = respond(&server, &customer, &other).send();
    answer.assert_openai_field("tools[1].input_image_mask");
    assert_no_inputs_left(&server);
}

#[test]
fn a_previous_response_is_the_first_image() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let first = respond(&server, &customer, &fox(json!({})))
        .expect(200)
        .json();
    let image = input_image(data_url(&sample_images::png(16, 9)));
    let body = fox(json!({
        "previous_response_id": first["id"],
        "input": [user(json!([input_text("make it blue"), image]))],
    }));
    let second = respond(&server, &customer, &body).expect(200).json();
    assert_eq!(second["previous_response_id"], first["id"]);
    let expected = (vec![1, 16], "make it blue".to_owned());
    assert_eq!(last_order(&server), expected);
    // The same image by the id of its output item, as OpenAI's guide sends it.
    let item = json!({"type": "image_generation_call", "id": first["output"][0]["id"]});
    let body = fox(json!({"input": [user(json!("make it blue")), item]}));
    respond(&server, &customer, &body).expect(200);
    assert_eq!(last_order(&server).0, [1]);
    // An earlier image stays, and what the new jobs copied goes.
    respond(&server, &customer, &body).expect(200);
    assert_no_inputs_left(&server);
    server.assert_settled();
}

#[test]
fn a_previous_response_must_be_an_image_of_the_account() {
    let server = Server::start();
    let (customer, other) = (server.customer("1.00"), server.customer("1.00"));
    let of_other = respond(&server, &other, &fox(json!({}))).expect(200).json();
    server.generator.behave(Behaviour::Block("violence"));
    respond(&server, &customer, &fox(json!({}))).expect(400);
    let jobs = server.native(&customer, "GET", "/jobs").expect(200).json();
    let failed = format!("resp_{}", jobs["data"][0]["job_id"].as_str().unwrap());
    let unknown = "resp_01890000-0000-7000-8000-000000000000".to_owned();
    let of_other = of_other["id"].as_str().unwrap().to_owned();
    let call = |extra| respond(&server, &customer, &fox(extra)).send();
    for id in [of_other.clone(), unknown, "resp_x".into(), "x".into()] {
        let answer = call(json!({"previous_response_id": id}));
        let code = Some("previous_response_not_found");
        let said = answer.assert_openai_error(400, INVALID, code);
        assert!(said.contains(&id), "{said}");
        let item = json!({"type": "item_reference", "id": id.replace("resp_", "ig_")});
        let answer = call(json!({"input": [item, user(json!("a hat"))]}));
        answer.assert_openai_error(404, INVALID, None);
        assert_eq!(answer.json()["error"]["param"], "input[0].id");
    }
    let answer = call(json!({"previous_response_id": failed}));
    let said = answer.assert_openai_field("previous_response_id");
    assert!(said.contains("has no image"), "{said}");
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    assert_no_inputs_left(&server);
}

#[test]
fn a_blocked_image_is_refused_and_costs_nothing() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server.generator.behave(Behaviour::Block("violence"));
    let answer = respond(&server, &customer, &fox(json!({}))).send();
    let blocked = Some("moderation_blocked");
    answer.assert_openai_error(400, "image_generation_user_error", blocked);
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    server.assert_settled();
}

fn is_replay(answer: &Answer) -> bool {
    answer.header("idempotent-replayed") == Some("true")
}

#[test]
fn a_retry_gets_the_image_of_the_first_attempt() {
    let server = Server::with(Options::new().one_node(OneNode::Repeats));
    let customer = server.customer("1.00");
    let attempt = |number: &str| {
        let call = respond(&server, &customer, &fox(json!({})));
        call.header("x-stainless-retry-count", number).expect(200)
    };
    let first = attempt("0");
    let again = attempt("1");
    assert!(!is_replay(&first) && is_replay(&again));
    assert_eq!(first.json()["id"], again.json()["id"]);
    assert!(!is_replay(&attempt("0")));
    server.assert_money(&customer, "0.922", "0.00", "0.922");
}

#[test]
fn a_repeated_key_gets_its_response_though_the_previous_image_was_deleted() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let first = respond(&server, &customer, &fox(json!({}))).expect(200);
    let previous = first.json()["id"].as_str().unwrap().to_owned();
    let hat = || {
        let body = fox(json!({"previous_response_id": previous}));
        respond(&server, &customer, &body).idempotent("hat")
    };
    let response = hat().expect(200).json();
    let image = format!("/jobs/{}/image", previous.replace("resp_", ""));
    server.native(&customer, "DELETE", &image).expect(204);
    let again = hat().expect(200);
    assert!(is_replay(&again));
    assert_eq!(again.json(), response);
    server.assert_money(&customer, "0.922", "0.00", "0.922");
    server.assert_settled();
}

#[test]
fn an_idempotency_key_belongs_to_one_request() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let call = |extra| respond(&server, &customer, &fox(extra)).idempotent("k");
    let first = call(json!({"metadata": {"a": "1"}})).expect(200).json();
    let again = call(json!({"metadata": {"a": "1"}})).expect(200);
    assert!(is_replay(&again));
    assert_eq!(again.json(), first);
    for other in [
        json!({"metadata": {"a": "2"}}),
        json!({"background": true, "metadata": {"a": "1"}}),
        json!({"input": "an owl", "metadata": {"a": "1"}}),
    ] {
        let reused = call(other).send();
        reused.assert_openai_error(400, INVALID, Some("idempotency_key_reused"));
    }
    server.assert_money(&customer, "0.961", "0.00", "0.961");
}
