//! Batches of `/v1/images/edits`.

use crate::file_batches::lines;
use crate::support::sample_images::transparent;
use crate::support::{Customer, Options, Origin, Server, origin, sample_images, until};
use serde_json::{Value, json};

fn edit(custom_id: &str, body: Value) -> Value {
    let mut whole = json!({"model": "fast", "prompt": "make it blue"});
    crate::support::merge(&mut whole, body);
    json!({"custom_id": custom_id, "method": "POST", "url": "/v1/images/edits", "body": whole})
}

fn submit(server: &Server, customer: &Customer, requests: &[Value]) -> Value {
    let file = server.upload(customer, &lines(requests));
    let extra = json!({"endpoint": "/v1/images/edits"});
    let call = server.file_batch_call(customer, &file, extra);
    call.expect(200).json()
}

fn origin() -> Origin {
    Origin::start([
        ("/image", origin::bytes(sample_images::png(160, 90))),
        ("/mask", origin::bytes(transparent(160, 90))),
        ("/tall", origin::bytes(transparent(9, 16))),
        ("/text", origin::bytes(b"no image".to_vec())),
    ])
}

#[test]
fn edits_are_run_with_their_images() {
    let origin = origin();
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("1.00");
    let image = json!({"image_url": origin.url("/image")});
    let batch = submit(
        &server,
        &customer,
        &[
            edit("two", json!({"images": [image, image]})),
            edit(
                "mask",
                json!({"images": [image], "mask": {"image_url": origin.url("/mask")}}),
            ),
        ],
    );
    assert_eq!(batch["endpoint"], "/v1/images/edits");
    let batch = server.file_batch_once(&customer, &batch, "completed");
    assert_eq!(batch["endpoint"], "/v1/images/edits");
    assert_eq!(batch["request_counts"]["completed"], 2, "{batch}");
    let results = server.result_lines(&customer, &batch["output_file_id"]);
    let tokens = |at: usize| {
        let usage = &results[at]["response"]["body"]["usage"];
        usage["input_tokens_details"]["image_tokens"].clone()
    };
    assert_eq!((tokens(0), tokens(1)), (json!(2 * 258), json!(258)));
    let mut orders = server.generator.orders();
    orders.sort_by_key(|it| it.has_mask);
    for order in &orders {
        assert_eq!(order.inputs.len(), 2);
        assert_eq!(order.ratio.to_string(), "16:9", "that of the first");
    }
    assert_eq!(orders.iter().filter(|it| it.has_mask).count(), 1);
    server.assert_money(&customer, "0.922", "0.00", "0.922");
    server.assert_settled();
}

#[test]
fn images_that_cannot_be_fetched_fail_their_line_unpaid() {
    let origin = origin();
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("1.00");
    let at = |path: &str| json!({"image_url": origin.url(path)});
    let masked = |mask: &str| json!({"images": [at("/image")], "mask": at(mask)});
    let batch = submit(
        &server,
        &customer,
        &[
            edit("text", json!({"images": [at("/image"), at("/text")]})),
            edit("gone", masked("/gone")),
            edit("opaque", masked("/image")),
            edit("tall", masked("/tall")),
        ],
    );
    let batch = server.file_batch_once(&customer, &batch, "completed");
    assert_eq!(batch["request_counts"]["failed"], 4, "{batch}");
    let results = server.result_lines(&customer, &batch["error_file_id"]);
    for (result, start) in results.iter().zip([
        "images[1] is not a PNG",
        "mask returned 404",
        "mask must have an alpha channel",
        "mask must have the size of the first image, 160x90, not 9x16",
    ]) {
        assert_eq!(result["response"]["status_code"], 400, "{result}");
        let said = &result["response"]["body"]["error"]["message"];
        assert!(said.as_str().unwrap().starts_with(start), "{said}");
    }
    assert_eq!(server.generator.runs(), 0);
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    until("no input is left", || {
        let left = server.objects_left();
        !left.iter().any(|key| key.starts_with("inputs"))
    });
    server.assert_settled();
}

#[test]
fn a_faulty_line_is_named() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let image = json!({"image_url": "https://a.example/a.png"});
    let data = json!({"image_url": "data:image/png;base64,AAAA"});
    let mut generation = edit("g", json!({"images": [image]}));
    generation["url"] = json!("/v1/images/generations");
    let rows = [
        (generation, "url_mismatch", "url"),
        (
            edit("none", json!({})),
            "missing_required_parameter",
            "body.images",
        ),
        (
            edit("data", json!({"images": [image, data]})),
            "invalid_value",
            "body.images[1].image_url",
        ),
        (
            edit("mask", json!({"images": [image], "mask": data})),
            "invalid_value",
            "body.mask.image_url",
        ),
        (
            edit("file", json!({"images": [{"file_id": "file-a"}]})),
            "invalid_value",
            "body.images[0].file_id",
        ),
        (
            edit("n", json!({"images": [image], "n": 2})),
            "invalid_value",
            "body.n",
        ),
    ];
    let requests: Vec<Value> = rows.iter().map(|row| row.0.clone()).collect();
    let batch = submit(&server, &customer, &requests);
    assert_eq!(batch["status"], "failed");
    assert_eq!(batch["endpoint"], "/v1/images/edits");
    let faults = batch["errors"]["data"].as_array().unwrap();
    assert_eq!(faults.len(), rows.len());
    for (at, (fault, (_, code, param))) in faults.iter().zip(&rows).enumerate() {
        assert_eq!(fault["line"], at + 1, "{fault}");
        assert_eq!(fault["code"], *code, "{fault}");
        assert_eq!(fault["param"], *param, "{fault}");
    }
    let said = faults[2]["message"].as_str().unwrap();
    let accepted = "must be an http:// or https:// URL; a batch takes no data URLs";
    assert!(said.ends_with(accepted), "{said}");
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

/// The same file under the other endpoint is another call, also for a retry without an idempotency key.
#[test]
fn the_endpoint_is_part_of_the_call() {
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("1.00");
    let origin = origin();
    let image = json!({"image_url": origin.url("/image")});
    let file = server.upload(&customer, &lines(&[edit("a", json!({"images": [image]}))]));
    let call = |endpoint: &str| {
        let extra = json!({"endpoint": endpoint});
        let call = server.file_batch_call(&customer, &file, extra);
        call.header("x-stainless-retry-count", "1")
            .expect(200)
            .json()
    };
    let failed = call("/v1/images/generations");
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["endpoint"], "/v1/images/generations");
    let batch = call("/v1/images/edits");
    assert_eq!(batch["status"], "in_progress");
    assert_eq!(call("/v1/images/edits")["id"], batch["id"]);
    server.file_batch_once(&customer, &batch, "completed");
}
