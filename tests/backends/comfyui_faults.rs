//! Faults of ComfyUI: each maps to the right kind of error, and reveals nothing of the configuration to callers.

use crate::comfyui::{AGES, plain, with};
use crate::comfyui_stub::{Age, Fate, Stub};
use crate::fixture::{Fixture, assert_outcome, blank, image, outcome, remote, run, until};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use tintype::backends::comfyui::ComfyUi;
use tintype::config::ComfyUiSettings;
use tintype_egress::testing::server::{ReceivedRequest, Reply, json, text, unreachable_url};

const SET_UP: &str = "misconfigured: the image generator is misconfigured";

/// The outcome of a prompt with this fate, on a server of each version.
fn fate(fate: Fate, expected: &str) {
    for age in AGES {
        let (fixture, stub) = (Fixture::new(), Stub::start(age));
        stub.next(std::slice::from_ref(&fate));
        run(async {
            assert_outcome(
                &outcome(&plain(&fixture, &stub), &fixture.task()).await,
                expected,
            );
        });
        assert_eq!(stub.prompts().len(), 1, "{age:?}");
    }
}

/// The outcome on a new server that answers calls with this line with `reply`.
#[track_caller]
fn instead(line: &'static str, reply: fn() -> Reply, expected: &str) {
    let fixture = Fixture::new();
    let answer = move |call: &ReceivedRequest| (call.route().starts_with(line)).then(reply);
    let stub = Stub::with(Age::New, answer);
    run(async {
        let task = fixture.task_with(&[image(8, 8)]).await;
        let found = outcome(&plain(&fixture, &stub), &task).await;
        assert_outcome(&found, expected);
    });
}

#[test]
fn an_exception_in_a_node_is_not_tried_again() {
    let text = "Error(s) in loading state_dict at /opt/s3cret/model.safetensors";
    fate(
        Fate::Fails("RuntimeError", text),
        "backend fault: the workflow of the image generator failed",
    );
}

#[test]
fn an_out_of_memory_error_is_transient() {
    for (class, words) in [
        (
            "torch.OutOfMemoryError",
            "Allocation on device 0 would exceed allowed memory",
        ),
        (
            "RuntimeError",
            "CUDA out of memory. Tried to allocate 2.00 GiB",
        ),
    ] {
        fate(
            Fate::Fails(class, words),
            "transient: the image generator ran out of memory",
        );
    }
}

#[test]
fn each_try_submits_a_new_prompt() {
    for age in AGES {
        let (fixture, stub) = (Fixture::new(), Stub::start(age));
        stub.next(&[
            Fate::Fails("torch.OutOfMemoryError", ""),
            Fate::Fails("X", ""),
            Fate::Done,
        ]);
        run(async {
            let (generator, task) = (plain(&fixture, &stub), fixture.task());
            assert_outcome(&outcome(&generator, &task).await, "transient: ");
            assert_outcome(&outcome(&generator, &task).await, "backend fault: ");
            assert_outcome(&outcome(&generator, &task).await, "image");
        });
        let prompts = stub.prompts();
        assert_eq!(prompts.len(), 3, "{age:?}");
        assert_ne!(prompts[0].client, prompts[1].client);
        assert_ne!(prompts[1].client, prompts[2].client);
    }
}

#[test]
fn a_prompt_canceled_on_the_server_is_not_retried_there() {
    fate(
        Fate::Interrupted,
        "backend fault: the generation was canceled on the image generator",
    );
}

#[test]
fn a_prompt_lost_by_the_server_is_transient() {
    fate(
        Fate::Lost,
        "transient: the image generator restarted and lost the job",
    );
}

#[test]
fn a_prompt_that_a_user_removes_from_the_queue_is_not_submitted_again() {
    fate(
        Fate::Removed,
        "backend fault: the generation was canceled on the image generator",
    );
}

#[test]
fn a_workflow_that_stores_no_image_is_a_setup_error() {
    fate(Fate::Empty, SET_UP);
}

#[test]
fn a_rejected_graph_is_a_setup_error() {
    let line = "POST /prompt";
    instead(
        line,
        || {
            json(
                400,
                &json!({
                    "error": {"type": "prompt_outputs_failed_validation", "message": "Prompt outputs failed validation", "details": "", "extra_info": {}},
                    "node_errors": {"4": {"class_type": "CheckpointLoaderSimple", "dependent_outputs": ["9"], "errors": [
                        {"type": "value_not_in_list", "message": "Value not in list", "details": "ckpt_name: 'x.safetensors' not in []"}]}},
                }),
            )
        },
        SET_UP,
    );
    // The form before 2024.
    instead(
        line,
        || {
            json(
                400,
                &json!({"error": "Prompt has no outputs", "node_errors": {}}),
            )
        },
        SET_UP,
    );
    instead(
        line,
        || {
            json(
                400,
                &json!({"error": {"type": "invalid_prompt_id"}, "node_errors": []}),
            )
        },
        SET_UP,
    );
    instead(line, || text(403, ""), SET_UP);
    instead(line, || text(405, "405: Method Not Allowed"), SET_UP);
    instead(
        line,
        || text(500, "500 Internal Server Error"),
        "transient: the image generator failed temporarily",
    );
}

/// A server that accepts a prompt and reports an error in a node that these outputs depend on.
fn partly(dependent: &'static [&'static str]) -> (String, Stub) {
    let fixture = Fixture::new();
    let taken = AtomicUsize::new(0);
    let stub = Stub::with(Age::New, move |call| {
        let first = call.route() == "POST /prompt" && taken.fetch_add(1, Ordering::SeqCst) == 0;
        let errors: Value =
            json!({"4": {"class_type": "SaveImage", "dependent_outputs": dependent, "errors": []}});
        let id = call.json()["prompt_id"].clone();
        first.then(|| {
            json(
                200,
                &json!({"prompt_id": id, "number": 1, "node_errors": errors}),
            )
        })
    });
    let found = run(async { outcome(&plain(&fixture, &stub), &fixture.task()).await });
    (found, stub)
}

#[test]
fn a_partly_accepted_graph_is_valid_if_its_image_node_is_accepted() {
    let (found, stub) = partly(&["save"]);
    assert_outcome(&found, SET_UP);
    assert_eq!(stub.calls("POST /prompt").len(), 1);
    // The stub does not keep the prompt; the outcome proves that the adapter waited for it.
    let (found, _) = partly(&["another"]);
    assert_outcome(
        &found,
        "backend fault: the generation was canceled on the image generator",
    );
}

#[test]
fn a_server_without_checkpoints_is_a_setup_error() {
    instead("GET /models/checkpoints", || json(200, &json!([])), SET_UP);
    instead(
        "GET /models/checkpoints",
        || json(200, &json!([1, null])),
        SET_UP,
    );
}

#[test]
fn the_newer_list_of_choices_is_read_too() {
    let fixture = Fixture::new();
    let stub = Stub::with(Age::Old, |call| {
        let choices = json!(["COMBO", {"options": ["combo.safetensors"]}]);
        let info =
            json!({"CheckpointLoaderSimple": {"input": {"required": {"ckpt_name": choices}}}});
        (call.path() == "/object_info/CheckpointLoaderSimple").then(|| json(200, &info))
    });
    run(async {
        assert_outcome(
            &outcome(&plain(&fixture, &stub), &fixture.task()).await,
            "image",
        );
    });
    let graph = &stub.prompts()[0].graph;
    assert_eq!(
        graph["checkpoint"]["inputs"]["ckpt_name"],
        "combo.safetensors"
    );
}

#[test]
fn an_image_that_cannot_be_downloaded_is_a_fault() {
    let line = "GET /view";
    instead(line, || text(404, ""), SET_UP);
    instead(line, || text(400, ""), SET_UP);
    instead(line, || text(403, ""), SET_UP);
    instead(
        line,
        || text(200, "<html>not an image</html>"),
        "backend fault: the image generator did not return a valid image",
    );
    instead(
        line,
        || Reply::Full(200, "image/png", vec![]),
        "backend fault: the image generator did not return a valid image",
    );
    instead(
        line,
        || Reply::Full(200, "image/png", blank(64, 64)),
        "backend fault: the image generator returned an image of a single colour",
    );
    instead(
        line,
        || {
            let whole = image(64, 64);
            let mut half =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", whole.len()).into_bytes();
            half.extend(&whole[..whole.len() / 2]);
            Reply::Raw(half)
        },
        "transient: the image generator closed the connection before its response was complete",
    );
    instead(
        line,
        || Reply::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n".to_vec()),
        "backend fault: the response of the image generator is larger than any image",
    );
}

#[test]
fn an_upload_that_fails_is_a_fault() {
    let line = "POST /upload/image";
    instead(
        line,
        || text(413, "Request Entity Too Large"),
        "backend limit: the request is too large for the image generator",
    );
    instead(line, || text(400, ""), SET_UP);
    instead(line, || text(500, ""), "transient: ");
    instead(
        line,
        || json(200, &json!({"subfolder": "x"})),
        "backend fault: ",
    );
    instead(line, || text(200, "{"), "backend fault: ");
}

#[test]
fn a_server_that_is_not_comfyui_is_detected() {
    let garbage = "backend fault: the image generator did not return a valid image";
    let line = "GET /api/jobs";
    instead(line, || text(200, "<html>hello</html>"), garbage);
    instead(
        line,
        || json(200, &json!({"id": "x", "status": "somewhere"})),
        garbage,
    );
    instead(
        line,
        || text(502, "<html>bad gateway</html>"),
        "transient: ",
    );
    instead(
        line,
        || text(401, ""),
        "rejects all: the image generator is misconfigured",
    );
    instead("GET /queue", || text(404, ""), "image");
    instead("", || text(404, ""), SET_UP);
    instead(
        "",
        || Reply::Raw(b"SSH-2.0-OpenSSH_9.9\r\n".to_vec()),
        "transient: ",
    );
    instead("", || Reply::Raw(Vec::new()), "transient: ");
    instead("POST /prompt", || text(200, "ok"), garbage);
    instead("POST /prompt", || json(200, &json!({"number": 1})), garbage);
}

#[test]
fn an_unreachable_server_is_transient() {
    let fixture = Fixture::new();
    let settings = ComfyUiSettings::default();
    let generator = ComfyUi::new(
        "comfy",
        &remote(&unreachable_url()),
        settings,
        fixture.objects.clone(),
    );
    run(async {
        let found = outcome(&generator.expect("set up"), &fixture.task()).await;
        assert_outcome(
            &found,
            "unreachable: the image generator could not be reached",
        );
    });
}

#[test]
fn failed_status_requests_are_tolerated_for_a_while() {
    let fixture = Fixture::new();
    let asked = AtomicUsize::new(0);
    let stub = Stub::with(Age::New, move |call| {
        // The first lookup finds no prompt; the next six fail.
        let about = call.route().starts_with("GET /api/jobs");
        let number = if about {
            asked.fetch_add(1, Ordering::SeqCst)
        } else {
            0
        };
        (about && (1..7).contains(&number)).then(|| text(500, "busy"))
    });
    run(async {
        assert_outcome(
            &outcome(&plain(&fixture, &stub), &fixture.task()).await,
            "image",
        );
    });
    assert_eq!(stub.prompts().len(), 1);
}

#[test]
fn a_submission_whose_response_is_lost_is_canceled_by_its_id() {
    let fixture = Fixture::new();
    let stub = Stub::with(Age::New, |call| {
        (call.route() == "POST /prompt").then(|| Reply::Raw(Vec::new()))
    });
    run(async {
        let found = outcome(&plain(&fixture, &stub), &fixture.task()).await;
        assert_outcome(
            &found,
            "transient: the image generator closed the connection before its response was complete",
        );
        let sent = stub.calls("POST /prompt")[0].json();
        let id = sent["prompt_id"].as_str().expect("an id").to_owned();
        let end = format!("POST /api/jobs/{id}/cancel");
        until("it is ended", || !stub.calls(&end).is_empty()).await;
    });
}

/// The server accepts the prompt under its own id, which the lost response contained.
#[test]
fn a_submission_to_an_old_server_whose_response_is_lost_is_canceled_by_its_client() {
    let fixture = Fixture::new();
    for fate in [Fate::Runs, Fate::Waits] {
        let stub = Stub::losing_submissions(Age::Old);
        stub.next(&[fate]);
        run(async {
            let found = outcome(&plain(&fixture, &stub), &fixture.task()).await;
            assert_outcome(
                &found,
                "transient: the image generator closed the connection before its response was complete",
            );
            let is_canceled = || matches!(stub.prompts()[0].fate, Fate::Interrupted);
            until("it is canceled", is_canceled).await;
        });
        assert_eq!(stub.prompts().len(), 1);
    }
}

#[test]
fn json_responses_have_a_lower_size_limit_than_images() {
    let head = || Reply::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n{".to_vec());
    let expected = "backend fault: the response of the image generator is larger than any image";
    instead("GET /api/jobs", head, expected);
    instead(
        "GET /view",
        head,
        "transient: the image generator closed the connection",
    );
}

/// A list of prompts with whole graphs, of more bytes than the limit for other JSON.
fn large_list() -> Value {
    let graph = json!({"1": {"inputs": {"text": "x".repeat(9_000_000)}}});
    json!([7, "another", graph, {"client_id": "another"}, ["1"]])
}

#[test]
fn large_lists_of_an_old_server_are_no_faults() {
    for (path, list) in [
        (
            "/queue",
            json!({"queue_running": [], "queue_pending": [large_list()]}),
        ),
        (
            "/history",
            json!({"another": {"prompt": large_list(), "outputs": {}}}),
        ),
    ] {
        let fixture = Fixture::new();
        let line = format!("GET {path}");
        let stub = Stub::with(Age::Middle, move |call| {
            (call.route() == line).then(|| json(200, &list))
        });
        run(async {
            assert_outcome(
                &outcome(&plain(&fixture, &stub), &fixture.task()).await,
                "image",
            );
        });
    }
}

#[test]
fn a_large_queue_of_an_old_server_keeps_no_prompt_from_being_canceled() {
    let fixture = Fixture::new();
    let queue = json!({"queue_running": [], "queue_pending": [large_list()]});
    let stub = Stub::with(Age::Middle, move |call| match &*call.route() {
        "GET /queue" => Some(json(200, &queue)),
        "POST /prompt" => Some(Reply::Raw(Vec::new())),
        _ => None,
    });
    run(async {
        let found = outcome(&plain(&fixture, &stub), &fixture.task()).await;
        assert_outcome(&found, "transient: ");
        until("it is canceled", || !stub.calls("POST /queue").is_empty()).await;
    });
}

#[test]
fn an_unreadable_input_is_reported_by_its_number() {
    let (fixture, stub) = (Fixture::new(), Stub::start(Age::New));
    run(async {
        let heic = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic".to_vec();
        let task = fixture.task_with(&[image(8, 8), heic]).await;
        let generator = with(&fixture, &stub, ComfyUiSettings::default());
        let found = outcome(&generator, &task).await;
        assert_outcome(&found, "unsupported: input image 2 is HEIC");
        let whole = image(8, 8);
        let half = whole[..whole.len() - 20].to_vec();
        let task = fixture.task_with(&[whole, half]).await;
        let found = outcome(&generator, &task).await;
        assert_outcome(&found, "invalid request: input image 2 is damaged");
        let mut gone = fixture.task_with(&[image(8, 8)]).await;
        gone.inputs[0].key = "inputs/nowhere".into();
        let found = outcome(&generator, &gone).await;
        assert_outcome(&found, "storage: an input image could not be read back");
    });
    assert!(stub.prompts().is_empty());
}
