//! Hostile responses to the fetching of input images, 68 to 72.

use crate::support::{
    Answer, Customer, Options, Origin, Server, fox_with, origin, sample_images, until,
};
use image::ImageFormat;
use serde_json::json;
use std::fs;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

fn start(options: Options) -> (Server, Customer) {
    let server = Server::with(options.allow_loopback());
    let customer = server.customer("10.00");
    (server, customer)
}

fn call(server: &Server, customer: &Customer, urls: &[String]) -> Answer {
    let body = fox_with(json!({"input_images_urls": urls}));
    server.generate(customer, "/url-generations", &body)
}

/// Asserts that the service rejects this input by name and stores nothing; returns the message.
#[track_caller]
fn assert_input_rejected(server: &Server, customer: &Customer, url: String) -> String {
    let answer = call(server, customer, std::slice::from_ref(&url));
    assert_eq!(answer.status, 422, "{url}: {}", answer.text());
    answer.assert_problem(422, "validation_failed");
    let field = answer.faulty_fields().remove(0);
    assert!(["input_images_urls", "input_images_urls[0]"].contains(&field.as_str()));
    until("nothing is left", || server.objects_left().is_empty());
    server.assert_money(customer, "10.00", "0.00", "10.00");
    field
}

/// Serves an image followed by a long but bounded tail.
fn endless_image(head: &'static str, chunked: bool) -> origin::Serve {
    Arc::new(move |stream| {
        let _ = stream.write_all(head.as_bytes());
        let first = sample_images::png(1, 1);
        let more = vec![0_u8; 65_536];
        for block in std::iter::once(&first).chain(std::iter::repeat_n(&more, 100_000)) {
            let framed = if chunked {
                [format!("{:x}\r\n", block.len()).as_bytes(), block, b"\r\n"].concat()
            } else {
                block.clone()
            };
            if stream.write_all(&framed).is_err() {
                return;
            }
        }
    })
}

#[test]
fn hostile_68_endless_and_slow_bodies() {
    let drip: origin::Serve = Arc::new(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
        // One byte at a time until the client disconnects.
        for byte in sample_images::png(1, 1).into_iter().cycle().take(100_000) {
            if stream.write_all(&[byte]).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let origin = Origin::start([
        ("/endless", endless_image("HTTP/1.1 200 OK\r\n\r\n", false)),
        (
            "/chunked",
            endless_image(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                true,
            ),
        ),
        (
            "/declared",
            endless_image(
                "HTTP/1.1 200 OK\r\nContent-Length: 9999999999\r\n\r\n",
                false,
            ),
        ),
        (
            "/huge",
            origin::raw(b"HTTP/1.1 200 OK\r\nContent-Length: 200000001\r\n\r\n".to_vec()),
        ),
        ("/drip", drip),
    ]);
    let options = Options::new()
        .set("inputs.max_total_bytes", 1_000_000)
        .set("inputs.timeout_seconds", 2);
    let (server, customer) = start(options);
    for path in ["/endless", "/chunked", "/declared", "/huge"] {
        assert_eq!(
            assert_input_rejected(&server, &customer, origin.url(path)),
            "input_images_urls",
            "{path}"
        );
    }
    assert_eq!(
        assert_input_rejected(&server, &customer, origin.url("/drip")),
        "input_images_urls[0]"
    );
    server.assert_well();
}

#[test]
fn hostile_68_wrong_content_lengths_and_encoded_bodies() {
    let image = sample_images::png(3, 2);
    let with = |head: String| origin::raw([head.as_bytes(), &image].concat());
    let length = image.len();
    let origin = Origin::start([
        ("/none", with("HTTP/1.1 200 OK\r\n\r\n".into())),
        (
            "/longer",
            with(format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n",
                length + 10
            )),
        ),
        (
            "/shorter",
            with(format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n",
                length / 2
            )),
        ),
        (
            "/gzip",
            with(format!(
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {length}\r\n\r\n"
            )),
        ),
        (
            "/unended",
            with(format!(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{length:x}\r\n"
            )),
        ),
        (
            "/negative",
            with("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n".into()),
        ),
        (
            "/two",
            with(format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nContent-Length: 1\r\n\r\n"
            )),
        ),
    ]);
    let (server, customer) = start(Options::new());
    for path in ["/longer", "/gzip", "/unended", "/negative", "/two"] {
        assert_input_rejected(&server, &customer, origin.url(path));
    }
    // The service reads an image's header and decodes no pixel, so a truncated image is left to the generator.
    let cut = call(&server, &customer, &[origin.url("/shorter")]);
    assert!([202, 422].contains(&cut.status), "{}", cut.text());
    // Without a length, the end of the connection ends the body.
    assert_eq!(call(&server, &customer, &[origin.url("/none")]).status, 202);
    server.assert_well();
}

#[test]
fn hostile_68_the_total_exactly_and_one_byte_more_over_14_images() {
    let mut image = sample_images::png(1, 1);
    image.resize(1_000, 0);
    let mut one_more = image.clone();
    one_more.push(0);
    let origin = Origin::start([
        ("/a", origin::bytes(image)),
        ("/b", origin::bytes(one_more)),
    ]);
    let (server, customer) = start(Options::new().set("inputs.max_total_bytes", 14_000));
    let mut urls = vec![origin.url("/a"); 14];
    assert_eq!(call(&server, &customer, &urls).status, 202);
    server.assert_settled();
    urls[13] = origin.url("/b");
    let answer = call(&server, &customer, &urls);
    answer.assert_problem(422, "validation_failed");
    assert_eq!(answer.faulty_fields()[0], "input_images_urls");
    until("only the result is left", || {
        server.objects_left().len() == 1
    });
    server.assert_well();
}

#[test]
fn hostile_69_responses_that_are_not_images() {
    let half = sample_images::png(64, 64)[..60].to_vec();
    let reset: origin::Serve = Arc::new(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n\x89PNG");
        let socket = socket2::SockRef::from(&*stream);
        let _ = socket.set_linger(Some(Duration::ZERO));
    });
    let status = |line: &'static str| origin::status(line, String::new());
    let origin = Origin::start([
        (
            "/html",
            origin::bytes(b"<html><body>404, but with 200".to_vec()),
        ),
        ("/404", status("404 Not Found")),
        ("/500", status("500 Internal Server Error")),
        (
            "/204",
            origin::raw(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()),
        ),
        ("/206", status("206 Partial Content")),
        ("/401", status("401 Unauthorized")),
        (
            "/garbage",
            origin::raw(b"\x16\x03\x01\x02\0\x01\0\x01\xfc".to_vec()),
        ),
        ("/nothing", origin::raw(Vec::new())),
        (
            "/half-a-head",
            origin::raw(b"HTTP/1.1 200 OK\r\nContent-".to_vec()),
        ),
        (
            "/endless-head",
            Arc::new(|stream| {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
                for _ in 0..100_000 {
                    if stream
                        .write_all(b"X-Y: zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz\r\n")
                        .is_err()
                    {
                        return;
                    }
                }
            }),
        ),
        ("/half", origin::bytes(half)),
        ("/reset", reset),
    ]);
    let (server, customer) = start(Options::new().set("inputs.timeout_seconds", 5));
    for path in [
        "/html",
        "/404",
        "/500",
        "/204",
        "/206",
        "/401",
        "/garbage",
        "/nothing",
        "/half-a-head",
        "/endless-head",
        "/reset",
    ] {
        assert_input_rejected(&server, &customer, origin.url(path));
    }
    // TLS to a plain-text server, and a port without a listener.
    assert_input_rejected(
        &server,
        &customer,
        origin.url("/html").replace("http:", "https:"),
    );
    let gone = Origin::trap().url("/");
    assert_input_rejected(&server, &customer, gone);
    // The header of this image is complete, so the truncated rest is left to the generator.
    let answer = call(&server, &customer, &[origin.url("/half")]);
    assert!([202, 422].contains(&answer.status), "{}", answer.text());
    server.assert_settled();
    server.assert_well();
}

#[test]
fn hostile_70_images_with_false_headers_are_rejected() {
    let jpeg_without_lines = {
        let mut jpeg = sample_images::encoded(8, 8, ImageFormat::Jpeg);
        let frame = jpeg.windows(2).position(|it| it == [0xff, 0xc0]).unwrap();
        jpeg[frame + 5..frame + 7].fill(0);
        jpeg
    };
    let svg = br#"<?xml version="1.0"?><!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg>&x;</svg>"#.to_vec();
    let cases = [
        (
            "100,000 pixels a side",
            sample_images::claiming_png(100_000, 100_000),
        ),
        (
            "2^32-1 pixels a side",
            sample_images::claiming_png(u32::MAX, u32::MAX),
        ),
        ("no pixels", sample_images::claiming_png(0, 5)),
        (
            "too many pixels in all",
            sample_images::claiming_png(16_000, 16_000),
        ),
        ("a JPEG without lines", jpeg_without_lines),
        ("SVG", svg),
        ("TIFF", b"II*\0\x08\0\0\0\0\0\0\0\0\0\0\0".to_vec()),
        ("BMP", b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0".to_vec()),
        (
            "the signature of a PNG alone",
            b"\x89PNG\r\n\x1a\n".to_vec(),
        ),
        ("a cut header", sample_images::png(4, 4)[..20].to_vec()),
        ("a cut PNG", sample_images::cut_off(ImageFormat::Png)),
        ("a cut JPEG", sample_images::cut_off(ImageFormat::Jpeg)),
        ("a cut GIF", sample_images::cut_off(ImageFormat::Gif)),
        ("a cut WebP", sample_images::cut_off(ImageFormat::WebP)),
        (
            "the signature of a JPEG alone",
            b"\xff\xd8\xff\xe0".to_vec(),
        ),
        ("of a GIF", b"GIF89a".to_vec()),
        ("of a WebP", b"RIFF\x10\0\0\0WEBPVP8 ".to_vec()),
        (
            "of an AVIF",
            b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf".to_vec(),
        ),
        ("of a HEIC", b"\0\0\0\x18ftypheic\0\0\0\0heicmif1".to_vec()),
        ("an endless box", b"\0\0\0\0ftypavif\0\0\0\0avif".to_vec()),
    ];
    let (server, customer) = start(Options::new());
    for (what, bytes) in cases {
        let origin = Origin::start([("/a", origin::bytes(bytes))]);
        let field = assert_input_rejected(&server, &customer, origin.url("/a"));
        assert_eq!(field, "input_images_urls[0]", "{what}");
    }
    server.assert_well();
}

#[test]
fn hostile_71_fourteen_hostile_images_at_once_are_rejected() {
    let origin = Origin::start([
        (
            "/0",
            origin::bytes(sample_images::claiming_png(100_000, 100_000)),
        ),
        (
            "/1",
            endless_image(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                true,
            ),
        ),
        ("/2", endless_image("HTTP/1.1 200 OK\r\n\r\n", false)),
    ]);
    let options = Options::new()
        .set("inputs.max_total_bytes", 5_000_000)
        .set("inputs.timeout_seconds", 5);
    let (server, customer) = start(options);
    let urls: Vec<_> = (0..14)
        .map(|at| origin.url(&format!("/{}", at % 3)))
        .collect();
    for _ in 0..3 {
        let answer = call(&server, &customer, &urls);
        answer.assert_problem(422, "validation_failed");
    }
    until("nothing is left", || server.objects_left().is_empty());
    server.assert_money(&customer, "10.00", "0.00", "10.00");
    server.assert_well();
}

#[test]
fn hostile_72_an_object_store_that_fails() {
    let origin = Origin::start([("/a", origin::bytes(sample_images::png(1, 1)))]);
    let (server, customer) = start(Options::new());
    let urls = vec![origin.url("/a"); 3];
    let break_it = || {
        fs::remove_dir_all(server.objects()).unwrap();
        fs::write(server.objects(), "in the way").unwrap();
    };
    let mend_it = || {
        fs::remove_file(server.objects()).unwrap();
        fs::create_dir(server.objects()).unwrap();
    };
    break_it();
    for _ in 0..3 {
        call(&server, &customer, &urls).assert_problem(502, "storage_unavailable");
    }
    // Faults of the caller are still reported, and calls that need no object still work.
    let none = call(&server, &customer, &[origin.url("/none")]);
    none.assert_problem(422, "validation_failed");
    server.native(&customer, "GET", "/balance").expect(200);
    server.assert_money(&customer, "10.00", "0.00", "10.00");
    // A job whose image cannot be stored fails and is not charged.
    let job = server.create(&customer);
    let failed = server.job_once(&customer, &job, "failed");
    let error = failed["error"].as_str().unwrap();
    assert!(error.contains("stored") && !error.contains('/'), "{error}");
    server.assert_money(&customer, "10.00", "0.00", "10.00");
    mend_it();
    server.generator.hold();
    let answer = call(&server, &customer, &urls);
    assert_eq!(answer.status, 202, "{}", answer.text());
    // The stored inputs disappear before the job runs.
    fs::remove_dir_all(server.objects().join("inputs")).unwrap();
    server.generator.release_all();
    server.job_once(&customer, &answer.job_id(), "done");
    let seen = server.job(&customer, &answer.job_id());
    let url = seen["result"]["image_url"].as_str().unwrap().to_owned();
    let target = url.split_once(&server.address.to_string()).unwrap().1;
    break_it();
    let gone = server.get(target).send();
    assert!([410, 502].contains(&gone.status), "{}", gone.text());
    mend_it();
    server.assert_well();
}
