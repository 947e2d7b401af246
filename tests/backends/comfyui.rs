//! ComfyUI: what is submitted, what is made of the answer, and what is told on the way.

use crate::comfyui_stub::{Age, Fate, Stub};
use crate::desk::{Desk, assert_outcome, encoded, outcome, picture, remote, run, until, word};
use crate::peer::text;
use image::ImageFormat;
use serde_json::{Value, json};
use std::fs;
use tintype::backends::comfyui::ComfyUi;
use tintype::config::ComfyUiSettings;
use tintype_actors::ports::Generator;

pub const AGES: [Age; 3] = [Age::New, Age::Middle, Age::Old];

/// The generator of a stub, with settings.
pub fn with(desk: &Desk, stub: &Stub, settings: ComfyUiSettings) -> ComfyUi {
    ComfyUi::new("comfy", &remote(&stub.url()), settings, desk.images.clone()).expect("set up")
}

pub fn plain(desk: &Desk, stub: &Stub) -> ComfyUi {
    with(desk, stub, ComfyUiSettings::default())
}

/// The input of a node.
fn input(graph: &Value, node: &str, name: &str) -> Value {
    graph[node]["inputs"][name].clone()
}

#[test]
fn a_prompt_becomes_a_picture_on_servers_of_every_age() {
    for age in AGES {
        let (desk, stub) = (Desk::new(), Stub::start(age));
        run(async {
            let order = desk.order();
            let made = plain(&desk, &stub).generate(order.clone()).await;
            assert_eq!(made.expect("a picture").bytes, picture(64, 64), "{age:?}");
            let prompts = stub.prompts();
            assert_eq!(prompts.len(), 1);
            let graph = &prompts[0].graph;
            assert_eq!(input(graph, "prompt", "text"), "a red fox (in snow)");
            assert_eq!(input(graph, "size", "width"), 64);
            assert!(input(graph, "sampler", "seed").is_u64());
            let prefix = format!("tintype/{}", order.job);
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
    let (desk, stub) = (Desk::new(), Stub::start(Age::New));
    run(async {
        let generator = plain(&desk, &stub);
        for _ in 0..3 {
            assert_outcome(&outcome(&generator, &desk.order()).await, "picture");
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
fn the_checkpoint_is_the_tiers_then_the_back_ends_then_the_first() {
    let (desk, stub) = (Desk::new(), Stub::start(Age::New));
    let named = ComfyUiSettings {
        checkpoint: Some("named.safetensors".into()),
        ..ComfyUiSettings::default()
    };
    run(async {
        let generator = with(&desk, &stub, named);
        let mut order = desk.order();
        assert_outcome(&outcome(&generator, &order).await, "picture");
        order.model = Some("tiers.safetensors".into());
        assert_outcome(&outcome(&generator, &order).await, "picture");
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
fn a_large_picture_is_made_at_a_size_that_the_model_can_do() {
    let (desk, stub) = (Desk::new(), Stub::start(Age::New));
    let settings = ComfyUiSettings {
        max_pixels: 65_536,
        ..ComfyUiSettings::default()
    };
    run(async {
        let mut order = desk.order();
        order.pixels = (1024, 512);
        let found = outcome(&with(&desk, &stub, settings), &order).await;
        assert_eq!(found, "picture (1024, 512)");
    });
    let graph = &stub.prompts()[0].graph;
    assert_eq!(input(graph, "size", "width"), 352);
    assert_eq!(input(graph, "size", "height"), 176);
}

#[test]
fn input_images_are_uploaded_and_named_as_the_server_names_them() {
    let (desk, stub) = (Desk::new(), Stub::start(Age::New));
    let inputs = [
        picture(8, 8),
        encoded(8, 8, ImageFormat::Jpeg),
        encoded(8, 8, ImageFormat::WebP),
    ];
    run(async {
        let order = desk.order_with(&inputs).await;
        assert_outcome(&outcome(&plain(&desk, &stub), &order).await, "picture");
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

/// A workflow of an operator: an editing model with up to two images.
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
    let (desk, stub) = (Desk::new(), Stub::start(Age::New));
    let file = desk.path().join("edit.json");
    fs::write(&file, own().to_string()).unwrap();
    let settings = ComfyUiSettings {
        workflow_image: Some(file),
        ..ComfyUiSettings::default()
    };
    run(async {
        let generator = with(&desk, &stub, settings);
        for (inputs, expected) in [
            (1, "picture"),
            (2, "picture"),
            (
                3,
                "not asked: the image generator takes at most 2 input images, not 3",
            ),
        ] {
            let order = desk.order_with(&vec![picture(8, 8); inputs]).await;
            assert_outcome(&outcome(&generator, &order).await, expected);
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
fn a_workflow_that_cannot_be_used_is_an_error_at_the_start() {
    let desk = Desk::new();
    let file = desk.path().join("mine.json");
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
        let error = ComfyUi::new("gpu", &remote, settings, desk.images.clone());
        let error = error.err().expect("a fault").to_string();
        for word in ["`gpu`", "`workflow_image`", "mine.json", said] {
            assert!(error.contains(word), "{error}");
        }
    }
    let settings = ComfyUiSettings {
        workflow_text: Some(desk.path().join("nowhere.json")),
        ..ComfyUiSettings::default()
    };
    let error = ComfyUi::new(
        "gpu",
        &remote("http://127.0.0.1:8188"),
        settings,
        desk.images,
    );
    let error = error.err().expect("a fault").to_string();
    assert!(
        error.contains("`workflow_text`") && error.contains("cannot be read"),
        "{error}"
    );
}

#[test]
fn progress_is_told_while_the_prompt_runs() {
    let (desk, stub) = (Desk::new(), Stub::start(Age::New));
    stub.next(&[Fate::Runs]);
    run(async {
        let order = desk.order();
        let making = tokio::task::spawn_local(plain(&desk, &stub).generate(order.clone()));
        until("it runs and is heard", || {
            stub.prompts().len() == 1 && stub.is_heard()
        })
        .await;
        let id = stub.prompts()[0].id.clone();
        // Previews, odd frames and other prompts' words come along.
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
        until("half is told", || {
            order.progress.fraction().is_some_and(|it| it > 0.3)
        })
        .await;
        assert!(order.progress.fraction().unwrap() < 0.7);
        // A preview is kept once a page shows it.
        let image = [&b"\0\0\0\x01\0\0\0\x02"[..], &picture(8, 8)].concat();
        assert_eq!(order.progress.watch(), None);
        stub.send(0x2, &image);
        until("there is a preview", || order.progress.watch().is_some()).await;
        assert_eq!(order.progress.watch().unwrap().bytes[..], picture(8, 8));
        stub.all_become(Fate::Done);
        stub.tell("execution_success", &json!({"prompt_id": id}));
        assert_outcome(&word(making.await.unwrap()), "picture");
    });
}

#[test]
fn a_server_without_a_websocket_makes_pictures_all_the_same() {
    let desk = Desk::new();
    for refusal in [404, 426, 500] {
        let stub = Stub::with(Age::New, move |call| {
            (call.path() == "/ws").then(|| text(refusal, "no"))
        });
        run(async {
            let found = outcome(&plain(&desk, &stub), &desk.order()).await;
            assert_outcome(&found, "picture");
        });
    }
}

#[test]
fn a_websocket_that_closes_ends_nothing() {
    let (desk, stub) = (Desk::new(), Stub::start(Age::New));
    stub.next(&[Fate::Runs]);
    run(async {
        let making = tokio::task::spawn_local(plain(&desk, &stub).generate(desk.order()));
        until("it runs and is heard", || {
            stub.prompts().len() == 1 && stub.is_heard()
        })
        .await;
        stub.send(0x8, &[0x03, 0xe8]);
        stub.send(0x3, b"an opcode that there is not");
        stub.all_become(Fate::Done);
        assert_outcome(&word(making.await.unwrap()), "picture");
    });
}
