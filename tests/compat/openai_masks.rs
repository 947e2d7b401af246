//! `mask` of an edit.

use crate::fixture::ResponseAssertions;
use crate::openai_edits::{call, form};
use crate::support::sample_images::transparent;
use crate::support::{Customer, Server, sample_images, until};
use image::ImageFormat;

fn send(
    server: &Server,
    customer: &Customer,
    mask: Option<&[u8]>,
) -> crate::support::http::Request {
    let image = sample_images::png(16, 9);
    let mut files = vec![("image", &image[..])];
    files.extend(mask.map(|mask| ("mask", mask)));
    let texts = [("prompt", "a hat"), ("model", "fast")];
    call(server, customer, &form(&texts, &files)).idempotent("k")
}

#[test]
fn a_mask_is_the_last_input_and_part_of_the_request() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let mask = transparent(16, 9);
    let answer = send(&server, &customer, Some(&mask)).expect(200).json();
    let tokens = |answer: &serde_json::Value| {
        answer["usage"]["input_tokens_details"]["image_tokens"].clone()
    };
    assert_eq!(tokens(&answer), 258, "the mask is no image");
    let order = &server.generator.orders()[0];
    assert!(order.has_mask);
    assert_eq!(order.inputs.len(), 2);
    let again = send(&server, &customer, Some(&mask)).expect(200);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    let said = send(&server, &customer, None).send();
    said.assert_openai_error(400, "invalid_request_error", Some("idempotency_key_reused"));
    // The same images, the second of them not as a mask.
    let image = sample_images::png(16, 9);
    let texts = [("prompt", "a hat"), ("model", "fast")];
    let both = form(&texts, &[("image[]", &image), ("image[]", &mask)]);
    let said = call(&server, &customer, &both).idempotent("k").send();
    said.assert_openai_error(400, "invalid_request_error", Some("idempotency_key_reused"));
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    until("no input is left", || {
        let left = server.objects_left();
        !left.iter().any(|it| it.starts_with("inputs"))
    });
    server.assert_settled();
}

#[test]
fn a_mask_that_does_not_fit_the_image_is_refused() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (mask, why) in [
        (
            transparent(9, 16),
            "must have the size of the first image, 16x9, not 9x16",
        ),
        (
            sample_images::encoded(16, 9, ImageFormat::Jpeg),
            "must be PNG, not JPEG",
        ),
        (sample_images::png(16, 9), "must have an alpha channel"),
        (b"no image".to_vec(), ""),
    ] {
        let said = send(&server, &customer, Some(&mask))
            .send()
            .assert_openai_field("mask");
        assert!(said.contains(why), "{said}");
    }
    let image = sample_images::png(9, 9);
    let twice = [("image", &image[..]), ("mask", &image), ("mask", &image)];
    let said = call(&server, &customer, &form(&[("prompt", "x")], &twice)).send();
    let said = said.assert_openai_field("mask");
    assert!(said.contains("given twice"), "{said}");
    assert_eq!(server.generator.runs(), 0);
    until("nothing is left", || server.objects_left().is_empty());
}

/// A job that waits for its run keeps its mask.
#[test]
fn a_mask_survives_a_restart() {
    let server = Server::with(crate::support::Options::new().on_disk());
    let customer = server.customer("1.00");
    server.generator.hold();
    let mask = transparent(16, 9);
    let mut wire = crate::support::raw::Wire::open(server.address);
    wire.send(&send(&server, &customer, Some(&mask)).wire());
    server.until_running(1);
    let server = server.restart();
    drop(wire);
    server.until_running(2);
    server.generator.release_all();
    send(&server, &customer, Some(&mask)).expect(200);
    let orders = server.generator.orders();
    assert!(orders.iter().all(|it| it.has_mask && it.inputs.len() == 2));
    server.assert_settled();
}
