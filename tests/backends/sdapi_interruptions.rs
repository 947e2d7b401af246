//! Interruptions of `/sdapi/v1` servers: by Tintype, and by users of the server.

use crate::fixture::{Fixture, assert_outcome, describe, outcome, remote, run, until};
use crate::sdapi::{TEXT, plain};
use crate::sdapi_stub::{Kind, Stub};
use serde_json::json;
use tintype::backends::kinds;
use tintype::backends::sdapi::SdApi;
use tintype::config::{Config, SdApiSettings, Sources};
use tintype_actors::ports::Generator as _;
use tintype_egress::testing::server::{Reply, json};

const INTERRUPT: &str = "POST /sdapi/v1/interrupt";
const MEMORY: &str = "transient: the image generator ran out of memory";

#[test]
fn an_abandoned_image_is_interrupted_if_the_server_confirms_its_id() {
    let (fixture, stub) = (Fixture::new(), Stub::start(Kind::Automatic));
    stub.hold(0.5);
    run(async {
        let making = tokio::task::spawn_local(plain(&fixture, &stub).generate(fixture.task()));
        until("it is being made", || stub.is_busy()).await;
        making.abort();
        until("it is interrupted", || !stub.is_busy()).await;
    });
    assert_eq!(stub.calls(INTERRUPT).len(), 1);
}

#[test]
fn an_abandoned_image_that_the_server_cannot_identify_is_not_interrupted() {
    let (fixture, stub) = (Fixture::new(), Stub::start(Kind::Next));
    stub.hold(0.5);
    run(async {
        let making = tokio::task::spawn_local(plain(&fixture, &stub).generate(fixture.task()));
        until("it is being made", || stub.is_busy()).await;
        let before = stub.calls("POST /internal/progress").len();
        making.abort();
        until("the server was asked", || {
            stub.calls("POST /internal/progress").len() > before
        })
        .await;
        stub.release();
    });
    assert!(stub.calls(INTERRUPT).is_empty());
}

/// Without its web page, a server does not report tasks. The image must be of this backend if the backend sends one at a time.
#[test]
fn an_abandoned_image_on_a_server_without_web_page_is_interrupted() {
    for concurrency in [1, 2] {
        let (fixture, stub) = (Fixture::new(), Stub::start(Kind::Headless));
        let (remote, objects) = (remote(&stub.url()), fixture.objects.clone());
        let settings = SdApiSettings::default();
        let generator = SdApi::new("webui", &remote, settings, concurrency, objects).unwrap();
        stub.hold(0.5);
        run(async {
            let making = tokio::task::spawn_local(generator.generate(fixture.task()));
            until("it is being made", || stub.is_busy()).await;
            let before = stub.calls("POST /internal/progress").len();
            making.abort();
            until("the server was asked", || {
                stub.calls("POST /internal/progress").len() > before
            })
            .await;
            if concurrency == 1 {
                until("it is interrupted", || !stub.is_busy()).await;
            }
            stub.release();
        });
        let interrupts = stub.calls(INTERRUPT).len();
        assert_eq!(interrupts, usize::from(concurrency == 1));
    }
}

/// Without its web page, a server does not tell which backend sent the running image.
#[test]
fn an_image_of_another_backend_of_the_server_is_not_interrupted() {
    let (fixture, stub) = (Fixture::new(), Stub::start(Kind::Headless));
    let variables = |name: &str| {
        let variable = |key: &str, value: &str| {
            let variable = format!("TINTYPE__BACKENDS__{name}__{key}");
            (variable, value.to_owned())
        };
        [variable("KIND", "sdapi"), variable("BASE_URL", &stub.url())]
    };
    let sources = Sources {
        env: [variables("FAST"), variables("PRO")].concat(),
        ..Sources::default()
    };
    let backends = Config::load(&sources).expect("valid").backends;
    let generator = kinds::generator("fast", &backends["fast"], &backends, &fixture.objects);
    stub.hold(0.5);
    run(async {
        let generator = generator.expect("set up");
        let making = tokio::task::spawn_local(generator.generate(fixture.task()));
        until("it is being made", || stub.is_busy()).await;
        making.abort();
        // It waits until the abandoned attempt is cleaned up.
        let next = tokio::task::spawn_local(generator.generate(fixture.task()));
        until("the next one was sent", || stub.calls(TEXT).len() == 2).await;
        stub.release();
        assert_outcome(&describe(next.await.unwrap()), "image");
    });
    assert!(stub.calls(INTERRUPT).is_empty());
}

#[test]
fn an_image_whose_response_is_lost_is_interrupted_during_its_generation() {
    let fixture = Fixture::new();
    let stub = Stub::with(Kind::Automatic, |call| match call.path() {
        "/sdapi/v1/txt2img" => Some(Reply::Raw(Vec::new())),
        "/internal/progress" => Some(json(200, &json!({"active": true, "progress": 0.5}))),
        _ => None,
    });
    run(async {
        let found = outcome(&plain(&fixture, &stub), &fixture.task()).await;
        assert_outcome(
            &found,
            "transient: the image generator closed the connection before its response was complete",
        );
        let interrupted = || !stub.calls(INTERRUPT).is_empty();
        until("it is interrupted", interrupted).await;
    });
}

#[test]
fn the_next_attempt_waits_until_the_abandoned_image_is_interrupted() {
    for lost in [
        || Reply::Raw(Vec::new()),
        // Of a proxy.
        || Reply::Full(504, "text/html", b"<html>gateway timeout</html>".to_vec()),
        || json(504, &json!({"message": "gateway timeout"})),
    ] {
        let fixture = Fixture::new();
        let stub = Stub::with(Kind::Automatic, move |call| match call.path() {
            "/sdapi/v1/txt2img" => Some(lost()),
            "/internal/progress" => Some(json(200, &json!({"active": true, "progress": 0.5}))),
            _ => None,
        });
        run(async {
            let generator = plain(&fixture, &stub);
            for _ in 0..2 {
                assert_outcome(&outcome(&generator, &fixture.task()).await, "transient: ");
            }
        });
        let mut lines = stub.lines();
        lines.retain(|it| it == TEXT || it == INTERRUPT);
        assert_eq!(lines[..3], [TEXT, INTERRUPT, TEXT]);
    }
}

/// The server still names the failed task as its current one, as Forge does.
#[test]
fn an_image_that_failed_on_the_server_is_not_interrupted() {
    let fixture = Fixture::new();
    let stub = Stub::with(Kind::Automatic, |call| match call.path() {
        "/sdapi/v1/txt2img" => Some(json(500, &json!({"error": "OutOfMemoryError"}))),
        "/internal/progress" => Some(json(200, &json!({"active": true, "progress": 0.5}))),
        _ => None,
    });
    run(async {
        let generator = plain(&fixture, &stub);
        for _ in 0..2 {
            assert_outcome(&outcome(&generator, &fixture.task()).await, MEMORY);
        }
    });
    assert!(stub.calls(INTERRUPT).is_empty());
}

#[test]
fn an_image_interrupted_on_the_server_is_not_returned() {
    for kind in [Kind::Automatic, Kind::Headless, Kind::Next] {
        for another_call_waits in [false, true] {
            let (fixture, stub) = (Fixture::new(), Stub::start(kind));
            stub.hold(0.5);
            run(async {
                let generator = plain(&fixture, &stub);
                let making = tokio::task::spawn_local(generator.generate(fixture.task()));
                until("it is being made", || stub.is_busy()).await;
                stub.interrupt();
                if another_call_waits {
                    // The next call clears the flags before the response arrives.
                    stub.queue_call(false);
                    let polls = || stub.calls("GET /sdapi/v1/progress").len();
                    let before = polls();
                    until("the flags were read", || polls() > before + 1).await;
                }
                stub.release();
                let found = describe(making.await.unwrap());
                assert_outcome(
                    &found,
                    "backend fault: the generation was interrupted on the image generator",
                );
            });
        }
    }
}

#[test]
fn the_interruption_of_another_call_does_not_discard_an_image() {
    for kind in [Kind::Automatic, Kind::Headless, Kind::Next] {
        let (fixture, stub) = (Fixture::new(), Stub::start(kind));
        stub.queue_call(true);
        run(async {
            let found = outcome(&plain(&fixture, &stub), &fixture.task()).await;
            assert_outcome(&found, "image");
        });
    }
}
