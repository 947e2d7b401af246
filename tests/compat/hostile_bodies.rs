//! Invalid bodies. The server refuses each in the error format of the API, leaves nothing behind, and stays healthy.

use crate::fixture::{ResponseAssertions, asking, fox, image, with_image};
use crate::support::raw::Wire;
use crate::support::{Customer, Options, Origin, Server, origin, sample_images, until};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const PATH: &str = "/v1beta/models/fast:generateContent";

fn refused(server: &Server, customer: &Customer, text: &[u8]) -> String {
    let answer = server
        .post(PATH)
        .header("x-goog-api-key", &customer.key)
        .bytes("application/json", text)
        .send();
    answer.assert_google_error(400, "INVALID_ARGUMENT")
}

fn assert_untouched(server: &Server, customer: &Customer) {
    let objects = || server.objects_left().len();
    until("nothing is left", || objects() == 0);
    assert_eq!(server.generator.runs(), 0);
    server.assert_money(customer, "1.00", "0.00", "1.00");
    server.assert_well();
}

#[test]
fn invalid_images() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let png = image(30, 20);
    let truncated = &png[..png.len() - png.len() % 4 - 3];
    let header = STANDARD.encode(&sample_images::png(30, 20)[..20]);
    let huge = STANDARD.encode(sample_images::claiming_png(60_000, 60_000));
    let uri = format!("data:image/png;base64,{png}");
    for (data, said) in [
        (truncated, "truncated"),
        (&png.replace('A', "!"), "is not base64"),
        ("AA=A", "padding"),
        (uri.as_str(), "remove the prefix"),
        ("", "is empty"),
        ("AAAA", "is not a PNG"),
        (
            &STANDARD.encode("<svg xmlns='http://www.w3.org/2000/svg'/>"),
            "is not a PNG",
        ),
        (&STANDARD.encode(vec![0; 100_000]), "is not a PNG"),
        (&header, "ends before its dimensions"),
        (&huge, "too large"),
    ] {
        let message = refused(&server, &customer, with_image(data).to_string().as_bytes());
        assert!(message.contains(said), "{message}");
        let field = "contents[0].parts[1].inlineData.data ";
        assert!(message.starts_with(field), "{message}");
    }
    assert_untouched(&server, &customer);
}

#[test]
fn a_file_uri_that_is_not_an_http_url() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let long = format!("http://a.example/{}", "x".repeat(3_000));
    for uri in [
        "data:image/png;base64,AAAA",
        "gs://bucket/a",
        "files/abc",
        "file:///etc/passwd",
        "",
        &long,
    ] {
        let body =
            json!({"contents": [{"parts": [{"text": "a"}, {"fileData": {"fileUri": uri}}]}]});
        let said = refused(&server, &customer, body.to_string().as_bytes());
        assert!(
            said.starts_with("contents[0].parts[1].fileData.fileUri "),
            "{said}"
        );
    }
    assert_untouched(&server, &customer);
}

#[test]
fn the_bytes_determine_the_image_type() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for media_type in ["image/jpeg", "text/plain", "", "x"] {
        let body = json!({"contents": [{"parts": [
            {"text": "a"}, {"inlineData": {"mimeType": media_type, "data": image(3, 3)}},
        ]}]});
        server.gemini(&customer, "fast", &body).expect(200).image();
    }
}

#[test]
fn invalid_json() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let deep = |open: &str, close: &str, levels: usize| {
        format!("{}{}", open.repeat(levels), close.repeat(levels)).into_bytes()
    };
    let mut cases: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"\0".to_vec(),
        b"{\"contents\":".to_vec(),
        b"{\"contents\":[{\"parts\":[{\"inlineData\":{\"data\":\"AAAA".to_vec(),
        b"{\"contents\":[{\"parts\":[{\"text\":\"\xff\xfe\"}]}]}".to_vec(),
        b"{\"contents\":[{\"parts\":[{\"text\":\"\\ud800\"}]}]}".to_vec(),
        b"prompt=a+fox".to_vec(),
        deep("[", "]", 100_000),
        deep("{\"a\":", "}", 10_000),
        deep("{\"contents\":[", "]}", 100),
    ];
    cases.push([&b"\xef\xbb\xbf"[..], fox().to_string().as_bytes()].concat());
    for text in &cases {
        refused(&server, &customer, text);
    }
    let twice = br#"{"contents":[{"parts":[{"text":"a"}]}],"contents":[{"parts":[{"text":"b"}]}]}"#;
    assert!(refused(&server, &customer, twice).contains("twice"));
    let twice =
        br#"{"contents":[{"parts":[{"text":"a"},{"inlineData":{"data":"AAAA","data":"AAAA"}}]}]}"#;
    assert!(refused(&server, &customer, twice).contains("twice"));
    assert_untouched(&server, &customer);
}

#[test]
fn a_thousand_parts() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let parts = |part: Value| json!({"contents": [{"parts": vec![part; 1_000]}]});
    let images = parts(json!({"text": "a", "inlineData": {"data": image(3, 3)}}));
    let said = refused(&server, &customer, images.to_string().as_bytes());
    assert!(said.contains("too many inline images"), "{said}");
    let fifteen = json!({"contents": [{"parts": vec![json!({"text": "a", "inlineData": {"data": image(3, 3)}}); 15]}]});
    let said = refused(&server, &customer, fifteen.to_string().as_bytes());
    assert!(said.contains("15 images"), "{said}");
    let objects = || server.objects_left().len();
    until("nothing is left", || objects() == 0);
    server
        .gemini(&customer, "fast", &parts(json!({"text": "a"})))
        .expect(200)
        .image();
    assert_eq!(server.generator.orders()[0].prompt.lines().count(), 1_000);
}

#[test]
fn all_text_is_limited() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let long = "x".repeat(1_100_000);
    for body in [
        asking(&long),
        json!({"contents": [], "tools": [long]}),
        json!({"fileData": {"data": long}}),
    ] {
        let said = refused(&server, &customer, body.to_string().as_bytes());
        assert!(
            said.contains("besides the data of its inline images"),
            "{said}"
        );
    }
    let said = refused(
        &server,
        &customer,
        asking(&"x".repeat(40_000)).to_string().as_bytes(),
    );
    assert!(said.contains("40000 characters"), "{said}");
    assert_untouched(&server, &customer);
}

#[test]
fn a_compressed_body_is_refused_unread() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for encoding in ["gzip", "br", "deflate", "gzip, identity"] {
        let answer = server
            .gemini(&customer, "fast", &fox())
            .header("Content-Encoding", encoding)
            .send();
        answer.assert_google_error(400, "INVALID_ARGUMENT");
    }
    assert_untouched(&server, &customer);
}

#[test]
fn an_incomplete_body_times_out() {
    let server = Server::with(Options::new().set("server.body_timeout_seconds", 1));
    let customer = server.customer("1.00");
    let whole = server
        .gemini(&customer, "fast", &with_image(&image(900, 900)))
        .wire();
    let mut wire = Wire::open(server.address);
    wire.send(&whole[..whole.len() / 2]);
    let answer = wire.answer_to("POST").expect("an answer");
    let said = answer.assert_google_error(400, "INVALID_ARGUMENT");
    assert!(said.contains("is incomplete"), "{said}");
    assert_untouched(&server, &customer);
}

#[test]
fn all_images_of_a_request_share_one_limit() {
    let server = Server::with(Options::new().set("inputs.max_total_bytes", 2_000));
    let customer = server.customer("1.00");
    let body = with_image(&image(1_000, 1_000));
    let said = refused(&server, &customer, body.to_string().as_bytes());
    assert!(said.contains("2000 bytes"), "{said}");
    assert_untouched(&server, &customer);
}

/// The message contains the configured limit, not what inline images left of it.
#[test]
fn the_error_of_fetched_images_names_the_configured_limit() {
    let origin = Origin::start([("/a.png", origin::bytes(sample_images::heavy_png(3_000)))]);
    let options = Options::new().set("inputs.max_total_bytes", 2_000);
    let server = Server::with(options.allow_loopback());
    let customer = server.customer("1.00");
    let body = json!({"contents": [{"parts": [
        {"text": "a"},
        {"inlineData": {"data": image(30, 20)}},
        {"fileData": {"fileUri": origin.url("/a.png")}},
    ]}]});
    let said = refused(&server, &customer, body.to_string().as_bytes());
    assert!(
        said.contains("the input images must not exceed 2000 bytes over all"),
        "{said}"
    );
    assert_untouched(&server, &customer);
}

#[test]
fn any_content_type_is_read_as_json() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for media_type in ["text/plain", "application/x-www-form-urlencoded", "x"] {
        server
            .post(PATH)
            .header("x-goog-api-key", &customer.key)
            .bytes(media_type, fox().to_string().as_bytes())
            .expect(200)
            .image();
    }
}
