//! Every fault of a Gemini or OpenAI backend: the caller's error, and whether the job is retried.

use crate::service::{failure, gemini_image, image, image_of, make, openai_image, start};
use crate::stub::{Reply, Stub};
use crate::support::sample_images::png;
use serde_json::json;

const KINDS: [&str; 2] = ["gemini", "openai"];

/// With one retry: the job's error, and the number of requests to the backend.
fn outcome(kind: &str, reply: Reply) -> (String, usize) {
    // Short only for the reply that never comes, so that a slow machine does not time out elsewhere.
    let timeout = match reply {
        Reply::Silence => 1,
        _ => 60,
    };
    let stub = Stub::answering([reply]);
    let (server, customer) = start(kind, &stub, |it| {
        it.set("backends.far.retries", 1)
            .set("backends.far.timeout_seconds", timeout)
    });
    let job = make(&server, &customer, json!({}));
    (failure(&server, &customer, &stub, &job), stub.seen().len())
}

#[test]
fn transient_errors_are_retried() {
    for kind in KINDS {
        for (reply, error) in [
            (
                Reply::Nothing,
                "the image generator closed the connection before its response was complete",
            ),
            (
                Reply::Half("200 OK", b"{\"data\": [".to_vec()),
                "the image generator closed the connection before its response was complete",
            ),
            (
                Reply::typed(
                    "200 OK",
                    "application/json",
                    "{\"data\": [{\"b64_json\": \"AAAA",
                ),
                "the image generator closed the connection before its response was complete",
            ),
            (
                Reply::Silence,
                "the image generator did not respond within 1 s",
            ),
            (
                Reply::typed("502 Bad Gateway", "text/html", "<h1>nginx</h1>"),
                "the image generator failed temporarily (status 502)",
            ),
            (
                Reply::typed("429 Too Many Requests", "text/plain", "slow down"),
                "the rate limit of the image generator is reached",
            ),
            (
                Reply::typed("503 Service Unavailable", "text/plain", "busy"),
                "the image generator is overloaded at the moment",
            ),
        ] {
            let shown = format!("{kind} {reply:?}");
            assert_eq!(outcome(kind, reply), (error.to_owned(), 2), "{shown}");
        }
    }
}

#[test]
fn permanent_errors_are_not_retried() {
    let garbage = "the image generator did not return a valid image";
    let operators = "the image generator is misconfigured; contact the operator of this service";
    for kind in KINDS {
        for (reply, error) in [
            (
                Reply::typed("200 OK", "text/html", "<html>hello</html>"),
                garbage,
            ),
            (
                Reply::typed("200 OK", "application/json", "[1, 2]"),
                garbage,
            ),
            (
                Reply::typed("200 OK", "application/json", "\"text\""),
                garbage,
            ),
            (
                Reply::Endless,
                "the response of the image generator is larger than any image",
            ),
            (
                Reply::typed("302 Found", "text/html", "").with("Location: /login"),
                operators,
            ),
            (
                Reply::typed("401 Unauthorized", "text/plain", "no such key"),
                operators,
            ),
            (
                Reply::Half("403 Forbidden", b"{\"error\": {".to_vec()),
                operators,
            ),
            (
                Reply::typed("404 Not Found", "text/plain", "nothing here"),
                operators,
            ),
        ] {
            let shown = format!("{kind} {reply:?}");
            assert_eq!(outcome(kind, reply), (error.to_owned(), 1), "{shown}");
        }
    }
}

#[test]
fn an_unreachable_backend_is_reported_without_its_address() {
    for kind in KINDS {
        let mut stub = Stub::answering([Reply::Nothing]);
        stub.kill();
        let (server, customer) = start(kind, &stub, |it| it);
        let job = make(&server, &customer, json!({}));
        assert_eq!(
            failure(&server, &customer, &stub, &job),
            "the image generator could not be reached"
        );
    }
}

#[test]
fn an_invalid_damaged_or_tiny_image_is_an_error() {
    let square = png(64, 64);
    let half = &square[..square.len() - 20];
    for (bytes, error) in [
        (
            &b"GIF, or so it says"[..],
            "the image generator did not return a valid image",
        ),
        (half, "the image generator returned a damaged image"),
        (
            &png(4, 4),
            "the image generator returned an image of 4 x 4 pixels, which is outside the accepted range",
        ),
    ] {
        assert_eq!(outcome("gemini", gemini_image(bytes)), (error.into(), 1));
        assert_eq!(outcome("openai", openai_image(bytes)), (error.into(), 1));
    }
}

#[test]
fn a_requested_retry_delay_is_respected() {
    for kind in KINDS {
        let busy = Reply::typed("503 Service Unavailable", "text/plain", "").with("Retry-After: 1");
        let stub = Stub::answering([busy, image_of(kind)]);
        let (server, customer) = start(kind, &stub, |it| it.set("backends.far.retries", 1));
        let job = make(&server, &customer, json!({}));
        assert_eq!(image(&server, &job), png(64, 64));
        let seen = stub.seen();
        let waited = seen[1].at - seen[0].at;
        assert!(waited.as_secs() >= 1, "{waited:?}");
    }
}

#[test]
fn the_text_of_a_generated_png_is_removed() {
    let mut original = Vec::new();
    let mut encoder = png::Encoder::new(std::io::Cursor::new(&mut original), 64, 64);
    encoder.set_color(png::ColorType::Grayscale);
    encoder
        .add_text_chunk(
            "parameters".into(),
            "model: /srv/op/secret.safetensors".into(),
        )
        .unwrap();
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&[128; 64 * 64]).unwrap();
    writer.finish().unwrap();
    let stub = Stub::answering([openai_image(&original)]);
    let (server, customer) = start("openai", &stub, |it| it);
    let job = make(&server, &customer, json!({}));
    let kept = image(&server, &job);
    assert!(!String::from_utf8_lossy(&kept).contains("secret"));
    assert_eq!(
        image::load_from_memory(&kept).unwrap().to_luma8(),
        image::load_from_memory(&original).unwrap().to_luma8()
    );
}
