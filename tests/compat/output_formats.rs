//! The file format of an image, on every interface that shows it.

use crate::file_batches::{line, lines};
use crate::fixture::ResponseAssertions;
use crate::openai_edits;
use crate::support::raw::Wire;
use crate::support::{Behaviour, Customer, Options, Server, merge, sample_images};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::ImageFormat;
use serde_json::{Value, json};

/// Names, media types, extensions and decoders.
const FORMATS: [(&str, &str, &str, ImageFormat); 3] = [
    ("png", "image/png", ".png", ImageFormat::Png),
    ("jpeg", "image/jpeg", ".jpg", ImageFormat::Jpeg),
    ("webp", "image/webp", ".webp", ImageFormat::WebP),
];

pub fn fox(extra: Value) -> Value {
    let mut body = json!({"model": "fast", "prompt": "a red fox"});
    merge(&mut body, extra);
    body
}

/// A server whose generator returns this image as a remote backend does.
pub fn server_with(image: Vec<u8>) -> Server {
    let server = Server::start();
    server.generator.behave(Behaviour::Send(image));
    server
}

/// The image of a response of OpenAI's API.
#[track_caller]
pub fn image_of(answer: &Value) -> Vec<u8> {
    let text = answer["data"][0]["b64_json"].as_str().expect("an image");
    STANDARD.decode(text).expect("base64")
}

#[track_caller]
fn assert_format(bytes: &[u8], format: ImageFormat) {
    assert_eq!(image::guess_format(bytes).unwrap(), format);
    image::load_from_memory(bytes).expect("an image");
}

/// The path, the media type and the bytes behind a download URL.
#[track_caller]
fn download(server: &Server, url: &str) -> (String, String, Vec<u8>) {
    let path = &url[url.find("/files/").expect("a download URL")..];
    let file = server.get(path).expect(200);
    let media_type = file.header("content-type").expect("a type").to_owned();
    let name = path.split('?').next().unwrap_or(path);
    (name.to_owned(), media_type, file.body)
}

/// The bytes behind the native lookup of the newest job.
#[track_caller]
fn native_image(server: &Server, customer: &Customer) -> (String, String, Vec<u8>) {
    let orders = server.generator.orders();
    let job = orders.last().expect("a run").job.to_string();
    let job = server.job_once(customer, &job, "done");
    download(server, job["result"]["image_url"].as_str().expect("a URL"))
}

#[test]
fn every_interface_gives_the_same_file_in_the_requested_format() {
    for from in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP] {
        let original = sample_images::encoded(64, 64, from);
        let server = server_with(original.clone());
        let customer = server.customer("1.00");
        for (name, media_type, extension, format) in FORMATS {
            let body = fox(json!({"output_format": name}));
            let answer = server.openai(&customer, &body).expect(200).json();
            assert_eq!(answer["output_format"], name);
            assert_eq!(answer["size"], "64x64");
            let image = image_of(&answer);
            assert_format(&image, format);
            assert_eq!(image == original, from == format);
            let (path, told, bytes) = native_image(&server, &customer);
            assert!(path.ends_with(extension), "{path}");
            assert_eq!((told.as_str(), &bytes), (media_type, &image));
            let body = fox(json!({"output_format": name, "response_format": "url"}));
            let answer = server.openai(&customer, &body).expect(200).json();
            assert_eq!(answer["output_format"], name);
            let (path, told, bytes) = download(&server, answer["data"][0]["url"].as_str().unwrap());
            assert!(path.ends_with(extension), "{path}");
            assert_eq!((told.as_str(), bytes), (media_type, image));
        }
        server.assert_settled();
    }
}

#[test]
fn without_a_format_the_file_of_the_backend_does_not_change() {
    for (name, _, _, format) in FORMATS {
        let original = sample_images::encoded(64, 64, format);
        let server = server_with(original.clone());
        let customer = server.customer("1.00");
        let answer = server.openai(&customer, &fox(json!({}))).expect(200).json();
        assert_eq!(answer["output_format"], name);
        assert_eq!(image_of(&answer), original);
    }
}

#[test]
fn an_image_that_the_server_draws_is_converted_too() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (name, _, _, format) in FORMATS {
        let body = fox(json!({"output_format": name}));
        let answer = server.openai(&customer, &body).expect(200).json();
        assert_format(&image_of(&answer), format);
    }
}

#[test]
fn the_compression_makes_a_jpeg_smaller_and_does_not_change_a_webp() {
    let noise = image::RgbImage::from_fn(64, 64, |x, y| {
        image::Rgb([x * y, (x * 7) ^ (y * 13), x * x + y].map(|it| it as u8))
    });
    let mut png = std::io::Cursor::new(Vec::new());
    noise.write_to(&mut png, ImageFormat::Png).unwrap();
    let server = server_with(png.into_inner());
    let customer = server.customer("1.00");
    let size = |format: &str, compression: u8| {
        let body = fox(json!({"output_format": format, "output_compression": compression}));
        let answer = server.openai(&customer, &body).expect(200).json();
        image_of(&answer).len()
    };
    let sizes = [0, 50, 100].map(|it| size("jpeg", it));
    assert!(sizes[0] < sizes[1] && sizes[1] < sizes[2], "{sizes:?}");
    assert_eq!(size("webp", 10), size("webp", 100));
    assert_eq!(size("png", 100), size("png", 100));
}

#[test]
fn a_png_has_no_compression() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for format in [json!(null), json!("png")] {
        let body = fox(json!({"output_format": format, "output_compression": 99}));
        let said = server.openai(&customer, &body).send().assert_openai_error(
            400,
            "image_generation_user_error",
            Some("invalid_png_output_compression"),
        );
        assert!(said.contains("must be 100 for PNG"), "{said}");
    }
    assert_eq!(server.generator.runs(), 0);
}

#[test]
fn an_edit_has_the_requested_format() {
    let server = server_with(sample_images::png(64, 64));
    let customer = server.customer("1.00");
    let texts = [
        ("prompt", "make it blue"),
        ("model", "pro"),
        ("output_format", "jpeg"),
        ("output_compression", "80"),
        ("quality", "high"),
    ];
    let body = openai_edits::form(&texts, &[("image", &sample_images::png(9, 9))]);
    let call = openai_edits::call(&server, &customer, &body);
    let answer = call.expect(200).json();
    assert_eq!(answer["output_format"], "jpeg");
    assert_eq!(answer["quality"], "high");
    assert_eq!(answer["background"], "opaque");
    assert_format(&image_of(&answer), ImageFormat::Jpeg);
}

#[test]
fn the_format_is_part_of_the_request() {
    let server = server_with(sample_images::png(64, 64));
    let customer = server.customer("1.00");
    let call = |extra| server.openai(&customer, &fox(extra)).idempotent("k");
    let jpeg = json!({"output_format": "jpeg", "output_compression": 80});
    call(jpeg.clone()).expect(200);
    let again = call(jpeg).expect(200);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.json()["output_format"], "jpeg");
    for other in [
        json!({}),
        json!({"output_format": "webp"}),
        json!({"output_format": "jpeg"}),
        json!({"output_format": "jpeg", "output_compression": 81}),
    ] {
        let said = call(other).send();
        said.assert_openai_error(400, "invalid_request_error", Some("idempotency_key_reused"));
    }
    server.assert_money(&customer, "0.961", "0.00", "0.961");
}

#[test]
fn an_image_that_cannot_be_converted_is_not_charged() {
    for from in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP] {
        let server = server_with(sample_images::cut_off(from));
        let customer = server.customer("1.00");
        for (name, ..) in FORMATS {
            let body = fox(json!({"output_format": name}));
            let answer = server.openai(&customer, &body).send();
            let said = answer.assert_openai_error(500, "server_error", None);
            assert_eq!(said, "the image generator returned a damaged image");
        }
        server.assert_money(&customer, "1.00", "0.00", "1.00");
        server.assert_settled();
    }
}

#[test]
fn the_lines_of_a_batch_have_formats_of_their_own() {
    let server = server_with(sample_images::png(64, 64));
    let customer = server.customer("1.00");
    let mut requests: Vec<Value> = FORMATS
        .iter()
        .map(|(name, ..)| line(name, fox(json!({"output_format": name}))))
        .collect();
    requests.push(line("none", fox(json!({}))));
    let batch = server.submit_file(&customer, &requests);
    let batch = server.file_batch_once(&customer, &batch, "completed");
    let results = server.result_lines(&customer, &batch["output_file_id"]);
    assert_eq!(results.len(), 4);
    for (result, (name, _, _, format)) in results.iter().zip(FORMATS) {
        let body = &result["response"]["body"];
        assert_eq!(body["output_format"], name);
        assert_format(&image_of(body), format);
    }
    assert_eq!(results[3]["response"]["body"]["output_format"], "png");
    let bad = json!({"output_format": "png", "output_compression": 5});
    let faulty = server.submit_file(&customer, &[line("a", fox(bad))]);
    let fault = &faulty["errors"]["data"][0];
    assert_eq!(fault["code"], "invalid_png_output_compression");
    assert_eq!(fault["param"], "body.output_compression");
}

#[test]
fn a_job_that_resumes_after_a_restart_has_the_requested_format() {
    let server = Server::with(Options::new().on_disk().slots(2));
    let customer = server.customer("1.00");
    server.generator.hold();
    let in_format = |format: &str| fox(json!({"output_format": format}));
    let call = server.openai(&customer, &in_format("webp")).idempotent("k");
    let mut waiting = Wire::open(server.address);
    waiting.send(&call.wire());
    server.until_running(1);
    let requests = ["a", "b"].map(|name| line(name, in_format("jpeg")));
    let file = server.upload(&customer, &lines(&requests));
    let call = server.file_batch_call(&customer, &file, json!({}));
    let batch = call.expect(200).json();
    server.until_running(2);
    let job = server.generator.orders()[0].job.to_string();
    let before = server.generator.runs();
    let server = server.restart();
    drop(waiting);
    server.until_running(before + 2);
    server.generator.release_all();
    let job = server.job_once(&customer, &job, "done");
    let (path, media_type, bytes) = download(&server, job["result"]["image_url"].as_str().unwrap());
    assert!(path.ends_with(".webp"), "{path}");
    assert_eq!(media_type, "image/webp");
    assert_format(&bytes, ImageFormat::WebP);
    let call = server.openai(&customer, &in_format("webp")).idempotent("k");
    assert_eq!(call.expect(200).json()["output_format"], "webp");
    let batch = server.file_batch_once(&customer, &batch, "completed");
    for result in server.result_lines(&customer, &batch["output_file_id"]) {
        let body = &result["response"]["body"];
        assert_eq!(body["output_format"], "jpeg");
        assert_format(&image_of(body), ImageFormat::Jpeg);
    }
    server.assert_settled();
}

/// The native request has no such field: the panel counts these requests and removes the member.
#[test]
fn the_panel_learns_which_failed_requests_asked_for_a_format() {
    let server = Server::start();
    server.generator.behave(Behaviour::Refuse("no"));
    let customer = server.customer("1.00");
    let requests = [
        line("a", fox(json!({"output_format": "jpeg"}))),
        line("b", fox(json!({}))),
    ];
    let batch = server.submit_file(&customer, &requests);
    let batch = server.file_batch_once(&customer, &batch, "completed");
    let id = batch["id"]
        .as_str()
        .and_then(|it| it.strip_prefix("batch_"));
    let path = format!(
        "/accounts/{}/batches/{}/failed",
        customer.account,
        id.unwrap()
    );
    let browser = server.operators_browser();
    let failed = |query: &str| {
        let call = browser.call(&server, "GET", &format!("{path}{query}"));
        call.expect(200).text()
    };
    let plain = failed("");
    assert!(!plain.contains("output_format"), "{plain}");
    let marked = plain.replacen("}\n", ",\"output_format\":\"jpeg 100\"}\n", 1);
    assert_eq!(failed("?formats=true"), marked);
}
