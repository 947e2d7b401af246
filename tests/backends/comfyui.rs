//! ComfyUI: submissions, answers and progress.

use crate::comfyui_stub::{Age, Fate, Stub};
use crate::fixture::{
    Fixture, assert_outcome, describe, encoded, image, outcome, remote, run, until,
};
use image::ImageFormat;
use serde_json::{Value, json};
use std::fs;
use tintype::backends::comfyui::ComfyUi;
use tintype::config::ComfyUiSettings;
use tintype_actors::ports::Generator;
use tintype_egress::testing::server::text;

pub const AGES: [Age; 3] = [Age::New, Age::Middle, Age::Old];

pub fn with(fixture: &Fixture, stub: &Stub, settings: ComfyUiSettings) -> ComfyUi {
    ComfyUi::new(
        "comfy",
        &remote(&stub.url()),
        settings,
        fixture.objects.clone(),
    )
    .expect("set up")
}

pub fn plain(fixture: &Fixture, stub: &Stub) -> ComfyUi {
    with(fixture, stub, ComfyUiSettings::default())
}

fn input(graph: &Value, node: &str, name: &str) -> Value {
    graph[node]["inputs"][name].clone()
}

#[test]
fn a_prompt_becomes_an_image_on_every_server_version() {
    for age in AGES {
        let (fixture, stub) = (Fixture::new(), Stub::start(age));
        run(async {
            let task = fixture.task();
            let made = plain(&fixture, &stub).generate(task.clone()).await;
            assert_eq!(made.expect("an image").bytes, image(64, 64), "{age:?}");
            let prompts = stub.prompts();
            assert_eq!(prompts.len(), 1);
            let graph = &prompts[0].graph;
            assert_eq!(input(graph, "prompt", "text"), "a red fox (in snow)");
            assert_eq!(input(graph, "size", "width"), 64);
            assert!(input(graph, "sampler", "seed").is_u64());
            let prefix = format!("tintype/{}", task.job);
            assert_eq!(input(graph, "save", "filename_prefix"), prefix);
            let first = match age {
                Age::Old => "old.ckpt",
                _ => "first.safetensors",
            };
            assert_eq!(input(graph, "checkpoint", "ckpt_name"), first);
            let sent = stub.calls("POST /prompt")[0].json();
            let id = sent["prompt_id"].as_str().unwrap();
            let canonical = uuid::Uuid::try_parse(id).unwrap().to_string();
            assert_eq!(id, canonical, "lower case, with hyphens");
            assert_eq!(sent["client_id"], id);
        });
    }
}

#[test]
fn every_job_has_a_prompt_of_its_own() {
    let (fixture, stub) = (Fixture::new(), Stub::start(Age::New));
    run(async {
        let generator = plain(&fixture, &stub);
        for _ in 0..3 {
            assert_outcome(&outcome(&generator, &fixture.task()).await, "image");
        }
    });
    let prompts = stub.prompts();
    for (name, of) in [
        ("ids", prompts.iter().map(|it| it.id.clone()).collect()),
        (
            "seeds",
            prompts
                .iter()
                .map(|it| input(&it.graph, "sampler", "seed").to_string())
                .collect(),
        ),
    ] {
        let distinct: std::collections::BTreeSet<String> = of;
        assert_eq!(distinct.len(), 3, "{name}");
    }
}

#[test]
fn the_checkpoint_is_that_of_the_tier_then_of_the_backend_then_the_first() {
    let (fixture, stub) = (Fixture::new(), Stub::start(Age::New));
    let named = ComfyUiSettings {
        checkpoint: Some("named.safetensors".into()),
        ..ComfyUiSettings::default()
    };
    run(async {
        let generator = with(&fixture, &stub, named);
        let mut task = fixture.task();
        assert_outcome(&outcome(&generator, &task).await, "image");
        task.model = Some("tiers.safetensors".into());
        assert_outcome(&outcome(&generator, &task).await, "image");
    });
    let used: Vec<Value> = stub
        .prompts()
        .iter()
        .map(|it| input(&it.graph, "checkpoint", "ckpt_name"))
        .collect();
    assert_eq!(used, ["named.safetensors", "tiers.safetensors"]);
    assert!(
        stub.calls("GET /models/checkpoints").is_empty(),
        "no page has asked"
    );
}

#[test]
fn a_large_image_is_generated_at_a_size_that_the_model_supports() {
    let (fixture, stub) = (Fixture::new(), Stub::start(Age::New));
    let settings = ComfyUiSettings {
        max_pixels: 65_536,
        ..ComfyUiSettings::default()
    };
    run(async {
        let mut task = fixture.task();
        task.pixels = (1024, 512);
        let found = outcome(&with(&fixture, &stub, settings), &task).await;
        assert_eq!(found, "image (1024, 512)");
    });
    let graph = &stub.prompts()[0].graph;
    assert_eq!(input(graph, "size", "width"), 352);
    assert_eq!(input(graph, "size", "height"), 176);
}

#[test]
fn input_images_are_uploaded_and_named_as_the_server_names_them() {
    let (fixture, stub) = (Fixture::new(), Stub::start(Age::New));
    let inputs = [
        image(8, 8),
        encoded(8, 8, ImageFormat::Jpeg),
        encoded(8, 8, ImageFormat::WebP),
    ];
    run(async {
        let task = fixture.task_with(&inputs).await;
        assert_outcome(&outcome(&plain(&fixture, &stub), &task).await, "image");
    });
    let uploads = stub.uploads();
    assert_eq!(uploads.len(), 3);
    let graph = &stub.prompts()[0].graph;
    for (at, sent) in inputs.iter().enumerate() {
        let named = input(graph, &format!("image_{}", at + 1), "image");
        let (folder, name) = named.as_str().unwrap().split_once('/').unwrap();
        assert_eq!(folder, "tintype");
        let kept = &uploads[name];
        match at {
            2 => assert!(kept.starts_with(b"\x89PNG") && name.ends_with(".png")),
            _ => assert_eq!(kept, sent, "as it came"),
        }
    }
    assert_eq!(input(graph, "encode", "pixels"), json!(["blend_3", 0]));
    assert_eq!(input(graph, "fit_2", "width"), 64);
    for call in stub.calls("POST /upload/image") {
        let form = String::from_utf8_lossy(&call.body).into_owned();
        assert!(
            form.contains("name=\"subfolder\"\r\n\r\ntintype\r\n"),
            "{form}"
        );
    }
}

/// An operator's workflow: an editing model with up to two input images.
fn own() -> Value {
    json!({
        "1": {"class_type": "LoadImage", "inputs": {"image": "{{image_1}}"}},
        "2": {"class_type": "LoadImage", "inputs": {"image": "{{image_2}}"}},
        "3": {"class_type": "TextEncodeQwenImageEditPlus", "inputs": {
            "prompt": "photograph, {{prompt}}", "clip": ["5", 0], "image1": ["1", 0], "image2": ["2", 0]}},
        "4": {"class_type": "KSampler", "inputs": {"seed": "{{seed}}", "positive": ["3", 0], "cfg": 2.5}},
        "5": {"class_type": "CLIPLoader", "inputs": {"name": "qwen.safetensors"}},
        "save": {"class_type": "SaveImage", "inputs": {"images": ["4", 0], "filename_prefix": "x{{filename_prefix}}"}},
    })
}

#[test]
fn a_workflow_of_the_operators_own_is_filled_in() {
    let (fixture, stub) = (Fixture::new(), Stub::start(Age::New));
    let file = fixture.path().join("edit.json");
    fs::write(&file, own().to_string()).unwrap();
    let settings = ComfyUiSettings {
        workflow_image: Some(file),
        ..ComfyUiSettings::default()
    };
    run(async {
        let generator = with(&fixture, &stub, settings);
        for (inputs, expected) in [
            (1, "image"),
            (2, "image"),
            (
                3,
                "unsupported: the image generator takes at most 2 input images, not 3",
            ),
        ] {
            let task = fixture.task_with(&vec![image(8, 8); inputs]).await;
            assert_outcome(&outcome(&generator, &task).await, expected);
        }
    });
    let prompts = stub.prompts();
    assert_eq!(prompts.len(), 2);
    let (one, two) = (&prompts[0].graph, &prompts[1].graph);
    assert_eq!(input(two, "3", "prompt"), "photograph, a red fox (in snow)");
    assert_eq!(input(two, "3", "image2"), json!(["2", 0]));
    assert_eq!(input(one, "3", "image2"), Value::Null, "there is no second");
    assert!(one.get("2").is_none() && one["1"].is_object());
    assert_eq!(input(one, "4", "cfg"), 2.5);
    assert!(
        stub.calls("GET /models/checkpoints").is_empty(),
        "it names its own"
    );
}

#[test]
fn an_unusable_workflow_is_an_error_at_startup() {
    let fixture = Fixture::new();
    let file = fixture.path().join("mine.json");
    let mut no_seed = own();
    no_seed["4"]["inputs"]["seed"] = json!(5);
    let editor = json!({"nodes": [], "links": [], "version": 0.4});
    for (content, said) in [
        (no_seed.to_string(), "it lacks {{seed}}"),
        (editor.to_string(), "Workflow > Export (API)"),
        ("<html>".into(), "it is not valid JSON"),
    ] {
        fs::write(&file, content).unwrap();
        let settings = ComfyUiSettings {
            workflow_image: Some(file.clone()),
            ..ComfyUiSettings::default()
        };
        let remote = remote("http://127.0.0.1:8188");
        let error = ComfyUi::new("gpu", &remote, settings, fixture.objects.clone());
        let error = error.err().expect("a fault").to_string();
        for word in ["`gpu`", "`workflow_image`", "mine.json", said] {
            assert!(error.contains(word), "{error}");
        }
    }
    let settings = ComfyUiSettings {
        workflow_text: Some(fixture.path().join("nowhere.json")),
        ..ComfyUiSettings::default()
    };
    let error = ComfyUi::new(
        "gpu",
        &remote("http://127.0.0.1:8188"),
        settings,
        fixture.objects,
    );
    let error = error.err().expect("a fault").to_string();
    assert!(
        error.contains("`workflow_text`") && error.contains("cannot be read"),
        "{error}"
    );
}

#[test]
fn progress_is_reported_while_the_prompt_runs() {
    let (fixture, stub) = (Fixture::new(), Stub::start(Age::New));
    stub.next(&[Fate::Runs]);
    run(async {
        let task = fixture.task();
        let making = tokio::task::spawn_local(plain(&fixture, &stub).generate(task.clone()));
        until("it runs and the socket is open", || {
            stub.prompts().len() == 1 && stub.has_listener()
        })
        .await;
        let id = stub.prompts()[0].id.clone();
        // Previews, odd frames and other prompts' events arrive too.
        stub.send(0x2, b"\0\0\0\x01\0\0\0\x01 a preview");
        stub.send(0x1, b"no JSON");
        stub.tell(
            "progress",
            &json!({"value": 20, "max": 20, "prompt_id": "another", "node": "sampler"}),
        );
        stub.tell("executing", &json!({"node": "sampler", "prompt_id": id}));
        stub.tell(
            "progress",
            &json!({"value": 10, "max": 20, "prompt_id": id, "node": "sampler"}),
        );
        until("half is reported", || {
            task.progress.fraction().is_some_and(|it| it > 0.3)
        })
        .await;
        assert!(task.progress.fraction().unwrap() < 0.7);
        // Previews are kept only while a page shows them.
        let frame = [&b"\0\0\0\x01\0\0\0\x02"[..], &image(8, 8)].concat();
        assert_eq!(task.progress.watch(), None);
        stub.send(0x2, &frame);
        until("there is a preview", || task.progress.watch().is_some()).await;
        assert_eq!(task.progress.watch().unwrap().bytes[..], image(8, 8));
        stub.all_become(Fate::Done);
        stub.tell("execution_success", &json!({"prompt_id": id}));
        assert_outcome(&describe(making.await.unwrap()), "image");
    });
}

#[test]
fn a_server_without_a_websocket_generates_images_as_well() {
    let fixture = Fixture::new();
    for refusal in [404, 426, 500] {
        let stub = Stub::with(Age::New, move |call| {
            (call.path() == "/ws").then(|| text(refusal, "no"))
        });
        run(async {
            let found = outcome(&plain(&fixture, &stub), &fixture.task()).await;
            assert_outcome(&found, "image");
        });
    }
}

#[test]
fn a_closed_websocket_does_not_end_the_run() {
    let (fixture, stub) = (Fixture::new(), Stub::start(Age::New));
    stub.next(&[Fate::Runs]);
    run(async {
        let making = tokio::task::spawn_local(plain(&fixture, &stub).generate(fixture.task()));
        until("it runs and the socket is open", || {
            stub.prompts().len() == 1 && stub.has_listener()
        })
        .await;
        stub.send(0x8, &[0x03, 0xe8]);
        stub.send(0x3, b"an opcode that there is not");
        stub.all_become(Fate::Done);
        assert_outcome(&describe(making.await.unwrap()), "image");
    });
}
