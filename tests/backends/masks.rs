//! Masks of edits: passed on, converted, obeyed, or refused, depending on the kind of backend.

use crate::comfyui_stub::{self, Age};
use crate::fixture::{Fixture, assert_outcome, outcome, run};
use crate::sdapi::{IMAGE, assert_reserved, plain, with};
use crate::sdapi_stub::{self, Kind};
use crate::service::{backend, form, image_of, pro, start};
use crate::stub::Stub;
use crate::support::{Answer, Customer, Options, Server};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::{DynamicImage, ImageFormat, RgbImage, Rgba, RgbaImage};
use serde_json::json;
use std::io::Cursor;
use tintype::config::SdApiSettings;
use tintype_actors::ports::GenerationTask;

const SIDE: u32 = 1_024;

fn png(image: impl Into<DynamicImage>) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.into().write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// A photograph of one colour.
fn photograph() -> Vec<u8> {
    png(RgbaImage::from_pixel(SIDE, SIDE, Rgba([200, 30, 10, 255])))
}

/// The left half may change.
fn mask() -> Vec<u8> {
    png(RgbaImage::from_fn(SIDE, SIDE, |x, _| {
        Rgba([0, 0, 0, if x < SIDE / 2 { 0 } else { 255 }])
    }))
}

#[track_caller]
fn assert_white_on_the_left(sent: &[u8]) {
    let sent = image::load_from_memory(sent).unwrap().into_luma8();
    assert_eq!(sent.dimensions(), (SIDE, SIDE));
    let grey = |x| sent.get_pixel(x, 9).0;
    assert_eq!((grey(0), grey(SIDE - 1)), ([255], [0]));
}

fn part(name: &str, content: &[u8]) -> Vec<u8> {
    let head = format!(
        "--b\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\n"
    );
    [head.as_bytes(), content, b"\r\n"].concat()
}

fn edit(server: &Server, customer: &Customer) -> Answer {
    edit_of(server, customer, &photograph(), &mask())
}

fn edit_of(server: &Server, customer: &Customer, image: &[u8], mask: &[u8]) -> Answer {
    let text = |name: &str, text: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n")
            .into_bytes()
    };
    let body = [
        text("prompt", "a hat"),
        text("model", "pro"),
        part("image", image),
        part("mask", mask),
        b"--b--\r\n".to_vec(),
    ];
    let call = server.post("/v1/images/edits").bearer(&customer.key);
    let call = call.bytes("multipart/form-data; boundary=b", &body.concat());
    call.send()
}

#[test]
fn openais_interface_gets_the_mask_as_it_is() {
    for (key, value) in [("model", "gpt-image-2"), ("mask", "alpha")] {
        let stub = Stub::answering([image_of("openai")]);
        let set = |it: Options| it.set(&format!("backends.far.{key}"), value);
        let (server, customer) = start("openai", &stub, set);
        let answer = edit(&server, &customer);
        assert_eq!(answer.status, 200, "{}", answer.text());
        let seen = stub.only();
        assert_eq!(seen.target, "/v1/images/edits");
        let parts = form(&seen);
        let files: Vec<(&str, &[u8])> = parts
            .iter()
            .filter(|it| it.file_name.is_some())
            .map(|it| (&*it.name, &*it.content))
            .collect();
        assert_eq!(files, [("image", &*photograph()), ("mask", &*mask())]);
    }
}

/// stable-diffusion.cpp reads the grey values of a mask.
#[test]
fn a_server_that_reads_grey_values_gets_a_mask_that_is_white_where_the_image_may_change() {
    let stub = Stub::answering([image_of("openai")]);
    let luma = |it: Options| it.set("backends.far.mask", "luma");
    let (server, customer) = start("openai", &stub, luma);
    let answer = edit(&server, &customer);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let parts = form(&stub.only());
    let sent = parts.iter().find(|it| it.name == "mask").expect("a mask");
    assert_white_on_the_left(&sent.content);
}

/// Such servers ignore a mask, or read another channel of it.
#[test]
fn another_server_with_openais_interface_gets_no_mask() {
    let stub = Stub::answering([image_of("openai")]);
    let (server, customer) = start("openai", &stub, |it| it);
    assert_eq!(edit(&server, &customer).json()["error"]["param"], "mask");
    let options = backend(Options::new(), "far", "openai", &stub);
    let options = options.set("backends.near.kind", "procedural");
    let server = Server::with(pro(options, &["far", "near"]));
    let customer = server.customer("10.00");
    let answer = edit(&server, &customer);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(stub.seen().is_empty());
}

#[test]
fn a_model_without_a_backend_for_masks_refuses_them() {
    let stub = Stub::answering([image_of("gemini")]);
    let (server, customer) = start("gemini", &stub, |it| it);
    let answer = edit(&server, &customer);
    assert_eq!(answer.status, 400);
    let error = &answer.json()["error"];
    assert_eq!(error["param"], "mask");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("none of whose backends takes a mask"),
        "{message}"
    );
    assert!(stub.seen().is_empty());
    server.assert_money(&customer, "10.00", "0.00", "10.00");
}

/// The built-in generator keeps the right half.
#[test]
fn a_backend_without_masks_is_passed_over() {
    let stub = Stub::answering([image_of("gemini")]);
    let options = backend(Options::new(), "far", "gemini", &stub);
    let options = options.set("backends.near.kind", "procedural");
    let server = Server::with(pro(options, &["far", "near"]));
    let customer = server.customer("10.00");
    let answer = edit(&server, &customer);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(stub.seen().is_empty());
    let data = answer.json()["data"][0]["b64_json"]
        .as_str()
        .map(|it| STANDARD.decode(it));
    let image = image::load_from_memory(&data.expect("an image").unwrap());
    let image = image.unwrap().into_rgb8();
    assert_eq!(image.dimensions(), (SIDE, SIDE));
    let keeps = |x, y| image.get_pixel(x, y).0 == [200, 30, 10];
    assert!((0..SIDE).all(|y| (SIDE / 2..SIDE).all(|x| keeps(x, y))));
    let kept = (0..SIDE).filter(|y| keeps(SIDE / 4, *y)).count();
    assert!(
        kept < 100,
        "{kept} of the pixels of a column have not changed"
    );
}

async fn masked(fixture: &Fixture) -> GenerationTask {
    let task = fixture.task_with(&[photograph(), mask()]).await;
    GenerationTask {
        has_mask: true,
        ..task
    }
}

#[test]
fn sdapi_gets_a_mask_that_is_white_where_the_image_may_change() {
    let (fixture, stub) = (Fixture::new(), sdapi_stub::Stub::start(Kind::Automatic));
    run(async {
        let task = masked(&fixture).await;
        assert_outcome(&outcome(&plain(&fixture, &stub), &task).await, "image");
        let references = SdApiSettings {
            reference_inputs: true,
            ..SdApiSettings::default()
        };
        let refused = outcome(&with(&fixture, &stub, references), &task).await;
        assert_outcome(&refused, "unsupported: the image generator takes no mask");
    });
    let calls = stub.calls(IMAGE);
    assert_eq!(calls.len(), 1);
    let body = calls[0].json();
    assert_reserved(&body);
    assert_eq!(body["init_images"].as_array().map(Vec::len), Some(1));
    assert_eq!(body["inpainting_mask_invert"], json!(0));
    assert_eq!(body["inpainting_fill"], json!(1));
    assert_eq!(body["inpaint_full_res"], json!(false));
    let sent = STANDARD.decode(body["mask"].as_str().unwrap()).unwrap();
    assert_white_on_the_left(&sent);
}

/// The image loses a quarter on each side, and the mask the same.
#[test]
fn sdapi_gets_a_mask_that_is_cropped_like_its_image() {
    let (fixture, stub) = (Fixture::new(), sdapi_stub::Stub::start(Kind::Next));
    run(async {
        let transparent = |x: u32| if x < 40 { 0 } else { 255 };
        let mask = RgbaImage::from_fn(128, 64, |x, _| Rgba([0, 0, 0, transparent(x)]));
        let inputs = [crate::fixture::image(128, 64), png(mask)];
        let task = GenerationTask {
            has_mask: true,
            ..fixture.task_with(&inputs).await
        };
        assert_outcome(&outcome(&plain(&fixture, &stub), &task).await, "image");
    });
    let body = stub.calls(IMAGE)[0].json();
    let read = |text: &serde_json::Value| {
        let bytes = STANDARD.decode(text.as_str().unwrap()).unwrap();
        image::load_from_memory(&bytes).unwrap()
    };
    let sent = read(&body["init_images"][0]).into_rgb8();
    assert_eq!(sent.dimensions(), (64, 64));
    assert_eq!(sent.get_pixel(0, 9).0, [32, 9, 99]);
    let mask = read(&body["mask"]).into_luma8();
    assert_eq!(mask.dimensions(), (64, 64));
    let grey = |x| mask.get_pixel(x, 9).0;
    assert_eq!((grey(7), grey(8)), ([255], [0]));
}

/// This server reads no WebP, so the image is converted and shrunk.
#[test]
fn openais_interface_gets_a_mask_in_the_size_of_the_converted_image() {
    let stub = Stub::answering([image_of("openai")]);
    let alpha = |it: Options| it.set("backends.far.mask", "alpha");
    let (server, customer) = start("openai", &stub, alpha);
    let (width, height) = (4_000, 3_200);
    let mut webp = Cursor::new(Vec::new());
    let image = DynamicImage::from(RgbImage::new(width, height));
    image.write_to(&mut webp, ImageFormat::WebP).unwrap();
    let mask = png(RgbaImage::new(width, height));
    let answer = edit_of(&server, &customer, webp.get_ref(), &mask);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let sizes: Vec<(u32, u32)> = form(&stub.only())
        .iter()
        .filter(|it| it.file_name.is_some())
        .map(|it| image::load_from_memory(&it.content).unwrap())
        .map(|it| (it.width(), it.height()))
        .collect();
    assert_eq!(sizes, [(3_072, 2_458), (3_072, 2_458)]);
}

#[test]
fn comfyui_is_not_asked() {
    let (fixture, stub) = (Fixture::new(), comfyui_stub::Stub::start(Age::New));
    run(async {
        let generator = crate::comfyui::plain(&fixture, &stub);
        let refused = outcome(&generator, &masked(&fixture).await).await;
        assert_outcome(&refused, "unsupported: the image generator takes no mask");
    });
}
