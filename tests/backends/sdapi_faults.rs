//! Faults of `/sdapi/v1` servers: each maps to the right kind of error, and reveals nothing of the configuration to callers.

use crate::fixture::{
    Fixture, assert_outcome, blank, describe, image, outcome, remote, run, until,
};
use crate::sdapi::{TEXT, instead, plain};
use crate::sdapi_stub::{Kind, Stub, answer};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tintype::backends::sdapi::SdApi;
use tintype::config::SdApiSettings;
use tintype_actors::ports::Generator as _;
use tintype_egress::testing::server::{Reply, json, text, unreachable_url};

const SET_UP: &str = "misconfigured: the image generator is misconfigured";
const NO_IMAGE: &str = "backend fault: the image generator did not return a valid image";
const EMPTY: &str = "misconfigured: the image generator returned no image";
const MEMORY: &str = "transient: the image generator ran out of memory";
const MOMENT: &str = "transient: the image generator failed temporarily (status 500)";

/// The outcome when the server sends this in place of the image.
#[track_caller]
fn comes_to(reply: fn() -> Reply, expected: &str) {
    let (fixture, stub) = (Fixture::new(), instead(reply));
    let found = run(async { outcome(&plain(&fixture, &stub), &fixture.task()).await });
    assert_outcome(&found, expected);
}

#[test]
fn a_request_rejected_by_the_server_is_a_setup_error() {
    // Without --api.
    comes_to(|| json(404, &json!({"detail": "Not Found"})), SET_UP);
    comes_to(
        || {
            json(
                404,
                &json!({"error": "HTTPException", "detail": "Sampler not found", "body": "", "errors": ""}),
            )
        },
        SET_UP,
    );
    comes_to(
        || json(400, &json!({"detail": "Sampler not found"})),
        SET_UP,
    );
    comes_to(
        || json(401, &json!({"detail": "Incorrect username or password"})),
        "rejects all: the image generator is misconfigured",
    );
    comes_to(
        || {
            json(
                422,
                &json!({"detail": [{"loc": ["body", "steps"], "msg": "ensure this value", "type": "x"}]}),
            )
        },
        SET_UP,
    );
    // stable-diffusion.cpp.
    comes_to(|| json(400, &json!({"error": "invalid params"})), SET_UP);
    comes_to(
        || text(413, "Request Entity Too Large"),
        "backend limit: the request is too large for the image generator",
    );
    comes_to(|| text(501, ""), SET_UP);
}

#[test]
fn a_failure_on_the_server_is_transient() {
    comes_to(
        || {
            json(
                500,
                &json!({"error": "RuntimeError", "detail": "", "body": "", "errors": "Traceback at /opt/s3cret"}),
            )
        },
        MOMENT,
    );
    comes_to(
        || json(500, &json!({"error": "generate_image returned no results"})),
        MOMENT,
    );
    comes_to(
        || {
            json(
                500,
                &json!({"error": "server_error", "message": "bad alloc"}),
            )
        },
        MOMENT,
    );
    comes_to(
        || text(503, "Service is starting"),
        "transient: the image generator is overloaded",
    );
    comes_to(|| text(502, "<html>bad gateway</html>"), "transient: ");
    comes_to(
        || text(429, ""),
        "transient: the rate limit of the image generator",
    );
}

#[test]
fn an_out_of_memory_error_is_transient() {
    comes_to(
        || {
            json(
                500,
                &json!({"error": "OutOfMemoryError", "detail": "", "body": "", "errors": "CUDA out of memory."}),
            )
        },
        MEMORY,
    );
    comes_to(
        || {
            json(
                500,
                &json!({"error": "RuntimeError", "errors": "HIP out of memory"}),
            )
        },
        MEMORY,
    );
}

#[test]
fn a_success_without_an_image_is_an_error() {
    comes_to(
        || json(200, &json!({"images": [], "parameters": {}, "info": ""})),
        EMPTY,
    );
    comes_to(|| json(200, &json!({"images": [""], "info": "{}"})), EMPTY);
    comes_to(|| json(200, &json!({"images": null})), NO_IMAGE);
    comes_to(|| json(200, &json!({"images": ["&&&"]})), NO_IMAGE);
    comes_to(
        || json(200, &json!({"images": [STANDARD.encode("<html>")]})),
        NO_IMAGE,
    );
    comes_to(|| json(200, &json!([])), NO_IMAGE);
    comes_to(|| text(200, "<html>Stable Diffusion</html>"), NO_IMAGE);
    comes_to(
        || text(200, ""),
        "transient: the image generator closed the connection before its response was complete",
    );
    comes_to(
        || text(200, "{\"images\": [\"iVBORw0KGgo"),
        "transient: the image generator closed the connection before its response was complete",
    );
    comes_to(|| Reply::Full(200, "image/png", image(64, 64)), NO_IMAGE);
    comes_to(
        || Reply::Full(200, "application/json", vec![0xff; 64]),
        NO_IMAGE,
    );
}

#[test]
fn a_single_colour_or_truncated_image_is_an_error() {
    comes_to(
        || answer(&[STANDARD.encode(blank(64, 64))]),
        "backend fault: the image generator returned an image of a single colour",
    );
    comes_to(
        || {
            let whole = image(64, 64);
            answer(&[STANDARD.encode(&whole[..whole.len() / 2])])
        },
        NO_IMAGE,
    );
}

#[test]
fn a_damaged_input_is_an_error_of_the_caller() {
    let (fixture, stub) = (Fixture::new(), Stub::start(Kind::Cpp));
    run(async {
        let whole = image(8, 8);
        let task = fixture
            .task_with(&[whole[..whole.len() - 20].to_vec()])
            .await;
        let found = outcome(&plain(&fixture, &stub), &task).await;
        assert_outcome(&found, "invalid request: input image 1 is damaged");
    });
    assert!(stub.calls(crate::sdapi::IMAGE).is_empty());
}

#[test]
fn a_broken_connection_is_transient() {
    let broken =
        "transient: the image generator closed the connection before its response was complete";
    comes_to(|| Reply::Raw(Vec::new()), broken);
    comes_to(
        || Reply::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"images\":".to_vec()),
        broken,
    );
    comes_to(
        || {
            Reply::Raw(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"ima\r\n".to_vec(),
            )
        },
        broken,
    );
    comes_to(
        || Reply::Raw(b"SSH-2.0-OpenSSH_9.9\r\n".to_vec()),
        "transient: ",
    );
}

#[test]
fn a_response_larger_than_any_image_is_not_read() {
    let head = || Reply::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{".to_vec());
    comes_to(
        head,
        "backend fault: the response of the image generator is larger than any image",
    );
}

#[test]
fn an_unreachable_server_is_transient() {
    let fixture = Fixture::new();
    let settings = SdApiSettings::default();
    let generator = SdApi::new(
        "webui",
        &remote(&unreachable_url()),
        settings,
        1,
        fixture.objects.clone(),
    );
    let found = run(async { outcome(&generator.unwrap(), &fixture.task()).await });
    assert_outcome(
        &found,
        "unreachable: the image generator could not be reached",
    );
}

#[test]
fn a_request_to_a_server_that_never_responds_can_be_aborted() {
    let (fixture, stub) = (Fixture::new(), instead(|| Reply::Silence));
    run(async {
        let making = tokio::task::spawn_local(plain(&fixture, &stub).generate(fixture.task()));
        until("it was asked", || !stub.calls(TEXT).is_empty()).await;
        making.abort();
        assert!(making.await.unwrap_err().is_cancelled());
    });
}

#[test]
fn malformed_progress_responses_are_ignored() {
    for odd in [
        "null",
        "[]",
        "{",
        "{\"active\": true, \"progress\": \"half\"}",
        "{\"active\": true, \"progress\": 1e300}",
        "{\"active\": true}",
    ] {
        let fixture = Fixture::new();
        let stub = Stub::with(Kind::Automatic, move |call| {
            call.path().ends_with("/progress").then(|| text(200, odd))
        });
        stub.hold(0.5);
        run(async {
            let task = fixture.task();
            let making = tokio::task::spawn_local(plain(&fixture, &stub).generate(task.clone()));
            until("it was asked", || {
                !stub.calls("POST /internal/progress").is_empty()
            })
            .await;
            stub.release();
            assert_outcome(&describe(making.await.unwrap()), "image");
            assert!(task.progress.fraction().is_none_or(|it| it <= 1.0));
        });
    }
}
