//! `POST /v1/images/edits`: images and forms.

use crate::fixture::ResponseAssertions;
use crate::support::http::Request;
use crate::support::raw::Wire;
use crate::support::{Customer, Server, sample_images, until};

const INVALID: &str = "invalid_request_error";

pub fn form(texts: &[(&str, &str)], files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, text) in texts {
        let head = "--b\r\nContent-Disposition: form-data; name=";
        bytes.extend(format!("{head}\"{name}\"\r\n\r\n{text}\r\n").bytes());
    }
    for (name, file) in files {
        let head = "--b\r\nContent-Disposition: form-data; filename=\"a.png\"; name=";
        bytes.extend(format!("{head}\"{name}\"\r\nContent-Type: image/png\r\n\r\n").bytes());
        bytes.extend(*file);
        bytes.extend(b"\r\n");
    }
    bytes.extend(b"--b--\r\n");
    bytes
}

pub fn call(server: &Server, customer: &Customer, body: &[u8]) -> Request {
    server
        .post("/v1/images/edits")
        .bearer(&customer.key)
        .bytes("multipart/form-data; boundary=b", body)
}

#[test]
fn one_or_several_images_are_edited() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let (wide, small) = (sample_images::png(160, 90), sample_images::png(9, 9));
    let texts = [("prompt", "make it blue"), ("model", "pro")];
    for files in [
        &[("image", &wide[..])][..],
        &[("image[]", &wide), ("image[]", &small)],
        &[("image", &wide), ("image", &small)],
    ] {
        let before = server.generator.runs();
        let answer = call(&server, &customer, &form(&texts, files)).expect(200);
        assert!(answer.json()["data"][0]["b64_json"].is_string());
        let order = &server.generator.orders()[before];
        assert_eq!(order.inputs.len(), files.len());
        assert_eq!(order.inputs[0].width, 160);
        assert_eq!(order.ratio.to_string(), "16:9", "that of the first");
        assert_eq!(order.prompt, "make it blue");
    }
    let texts = [
        ("prompt", "x"),
        ("model", "pro"),
        ("size", "1024x1024"),
        ("n", "1"),
    ];
    let before = server.generator.runs();
    call(&server, &customer, &form(&texts, &[("image", &wide)])).expect(200);
    assert_eq!(server.generator.orders()[before].ratio.to_string(), "1:1");
    let inputs = || {
        server
            .objects_left()
            .iter()
            .any(|it| it.starts_with("inputs"))
    };
    until("no input is left", || !inputs());
    server.assert_settled();
}

#[test]
fn invalid_forms_and_images_are_refused_and_leave_nothing() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let png = sample_images::png(9, 9);
    let prompt = [("prompt", "x")];
    let many: Vec<(&str, &[u8])> = vec![("image[]", &png[..]); 15];
    let long = "x".repeat(1_100_000);
    for (body, field) in [
        (form(&prompt, &[]), Some("image")),
        (form(&[], &[("image", &png)]), Some("prompt")),
        (form(&prompt, &[("image", b"no image")]), Some("image[0]")),
        (
            form(&prompt, &[("image", &png), ("image", b"")]),
            Some("image[1]"),
        ),
        (
            form(
                &prompt,
                &[("mask", &png), ("image", &sample_images::png(8, 9))],
            ),
            Some("mask"),
        ),
        (form(&prompt, &many), Some("image")),
        (
            form(&[("prompt", "x"), ("n", "2")], &[("image", &png)]),
            Some("n"),
        ),
        (
            form(&prompt, &[("image", &png), ("markup", &png)]),
            Some("markup"),
        ),
        (
            form(&prompt, &[("image", &png), ("image[0]", &png)]),
            Some("image[0]"),
        ),
        (form(&[("prompt", &long)], &[("image", &png)]), None),
        (b"--b\r\nnonsense".to_vec(), None),
        (b"".to_vec(), None),
    ] {
        let answer = call(&server, &customer, &body).send();
        match field {
            Some(field) => answer.assert_openai_field(field),
            None => answer.assert_openai_error(400, INVALID, None),
        };
    }
    let text = server.post("/v1/images/edits").bearer(&customer.key);
    let text = text.bytes("text/plain", br#"{"prompt":"x"}"#).send();
    text.assert_openai_error(400, INVALID, None);
    until("nothing is left", || server.objects_left().is_empty());
    assert_eq!(server.generator.runs(), 0);
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    server.assert_well();
}

#[test]
fn a_form_over_200_mb_is_refused() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let body = form(&[("prompt", "x")], &[("image", &sample_images::png(9, 9))]);
    let end = body.len() - "\r\n--b--\r\n".len();
    let head = format!(
        "POST /v1/images/edits HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\n\
         Content-Type: multipart/form-data; boundary=b\r\nTransfer-Encoding: chunked\r\n\r\n",
        customer.key
    );
    let mut wire = Wire::open(server.address);
    wire.send(head.as_bytes());
    let mut send = |piece: &[u8]| {
        wire.send(format!("{:x}\r\n", piece.len()).as_bytes());
        wire.send(piece);
        wire.send(b"\r\n");
    };
    send(&body[..end]);
    let piece = vec![0; 1_000_000];
    (0..200).for_each(|_| send(&piece));
    send(&body[end..]);
    send(b"");
    let answer = wire.answer_to("POST").expect("an answer");
    let said = answer.assert_openai_error(400, INVALID, None);
    assert!(said.contains("200000000"), "{said}");
    until("nothing is left", || server.objects_left().is_empty());
}
