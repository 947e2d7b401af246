//! `/sdapi/v1`: requests, answers, progress and previews.

use crate::fixture::{
    Fixture, assert_outcome, describe, encoded, image, outcome, remote, run, size, until,
};
use crate::sdapi_stub::{Kind, Stub, answer};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::ImageFormat;
use serde_json::{Value, json};
use tintype::backends::sdapi::SdApi;
use tintype::config::{SDAPI_FIELDS, SdApiSettings, Secret};
use tintype_actors::ports::Generator;
use tintype_egress::testing::server::{Reply, json};

pub const KINDS: [Kind; 4] = [Kind::Automatic, Kind::Headless, Kind::Next, Kind::Cpp];
pub const TEXT: &str = "POST /sdapi/v1/txt2img";
pub const IMAGE: &str = "POST /sdapi/v1/img2img";
const ENLARGE: &str = "POST /sdapi/v1/extra-single-image";

pub fn with(fixture: &Fixture, stub: &Stub, settings: SdApiSettings) -> SdApi {
    let remote = remote(&stub.url());
    SdApi::new("webui", &remote, settings, 1, fixture.objects.clone()).expect("set up")
}

pub fn plain(fixture: &Fixture, stub: &Stub) -> SdApi {
    with(fixture, stub, SdApiSettings::default())
}

/// Checks that the key `request` of the configuration cannot contain any field of this request.
#[track_caller]
pub fn assert_reserved(body: &Value) {
    for field in body.as_object().expect("an object").keys() {
        let is_reserved = SDAPI_FIELDS.contains(&&**field);
        // In `request`, it is that of the second pass of a text-to-image call.
        assert!(is_reserved || field == "denoising_strength", "{field}");
    }
}

#[test]
fn a_prompt_becomes_an_image_on_every_server() {
    for kind in KINDS {
        let (fixture, stub) = (Fixture::new(), Stub::start(kind));
        run(async {
            let made = plain(&fixture, &stub).generate(fixture.task()).await;
            assert_eq!(made.expect("an image").bytes, image(64, 64), "{kind:?}");
        });
        let calls = stub.calls(TEXT);
        assert_eq!(calls.len(), 1);
        let body = calls[0].json();
        let task = body["force_task_id"].as_str().unwrap().to_owned();
        assert!(task.starts_with("tintype-"));
        assert!(body["seed"].is_u64());
        for (name, value) in [
            ("prompt", json!("a red fox \\(in snow\\)")),
            ("negative_prompt", json!("")),
            ("width", json!(64)),
            ("height", json!(64)),
            ("steps", json!(25)),
            ("cfg_scale", json!(7.0)),
            ("batch_size", json!(1)),
            ("n_iter", json!(1)),
            ("send_images", json!(true)),
            ("save_images", json!(false)),
            ("override_settings", json!({})),
            ("override_settings_restore_afterwards", json!(true)),
            ("sampler_name", Value::Null),
            ("scheduler", Value::Null),
            ("init_images", Value::Null),
            ("script_name", Value::Null),
            ("alwayson_scripts", Value::Null),
        ] {
            assert_eq!(body[name], value, "{name}");
        }
        assert_eq!(calls[0].header("authorization"), None);
    }
}

#[test]
fn the_settings_are_sent_with_each_request() {
    let (fixture, stub) = (Fixture::new(), Stub::start(Kind::Automatic));
    let modules = json!(["ae.safetensors", "clip_l.safetensors"]);
    let settings = SdApiSettings {
        checkpoint: Some("sdxl".into()),
        sampler: Some("DPM++ 2M".into()),
        scheduler: Some("Karras".into()),
        steps: 8,
        cfg_scale: 1.5,
        negative_prompt: "(blurry:1.2)".into(),
        prompt_syntax: true,
        override_settings: [("forge_additional_modules".to_owned(), modules.clone())].into(),
        ..SdApiSettings::default()
    };
    run(async {
        let generator = with(&fixture, &stub, settings);
        let mut task = fixture.task();
        assert_outcome(&outcome(&generator, &task).await, "image");
        task.model = Some("flux".into());
        assert_outcome(&outcome(&generator, &task).await, "image");
    });
    let bodies: Vec<Value> = stub.calls(TEXT).iter().map(|call| call.json()).collect();
    for (name, value) in [
        ("prompt", json!("a red fox (in snow)")),
        ("negative_prompt", json!("(blurry:1.2)")),
        ("sampler_name", json!("DPM++ 2M")),
        ("scheduler", json!("Karras")),
        ("steps", json!(8)),
        ("cfg_scale", json!(1.5)),
    ] {
        assert_eq!(bodies[0][name], value, "{name}");
    }
    let options = |body: &Value| body["override_settings"].clone();
    assert_eq!(
        options(&bodies[0]),
        json!({"forge_additional_modules": modules, "sd_model_checkpoint": "sdxl"})
    );
    assert_reserved(&bodies[0]);
    assert_eq!(
        options(&bodies[1])["sd_model_checkpoint"],
        "flux",
        "the tier's"
    );
    assert_eq!(bodies[0]["seed"], bodies[1]["seed"], "the same job");
    assert_ne!(bodies[0]["force_task_id"], bodies[1]["force_task_id"]);
}

#[test]
fn the_operator_frames_prompts_and_adds_fields() {
    let (fixture, stub) = (Fixture::new(), Stub::start(Kind::Automatic));
    let settings = SdApiSettings {
        prompt_template: "<lora:house:0.8>, {prompt}, masterpiece".into(),
        restore_settings: false,
        request: [
            ("enable_hr".to_owned(), json!(true)),
            ("denoising_strength".to_owned(), json!(0.4)),
        ]
        .into(),
        ..SdApiSettings::default()
    };
    run(async {
        let generator = with(&fixture, &stub, settings);
        let mut task = fixture.task_with(&[image(64, 64)]).await;
        assert_outcome(&outcome(&generator, &task).await, "image");
        task.inputs.clear();
        task.prompt = "a <lora:x:9> {prompt}".into();
        assert_outcome(&outcome(&generator, &task).await, "image");
    });
    let [text, image] = [TEXT, IMAGE].map(|line| stub.calls(line)[0].json());
    assert_eq!(
        text["prompt"],
        "<lora:house:0.8>, a < lora:x:9> \\(prompt\\), masterpiece"
    );
    for body in [&text, &image] {
        assert_eq!(body["enable_hr"], true);
        assert_eq!(body["override_settings_restore_afterwards"], false);
    }
    assert_eq!(text["denoising_strength"], 0.4, "of the second pass");
    assert_eq!(image["denoising_strength"], 0.75, "of the input image");
}

#[test]
fn credentials_are_sent_as_basic() {
    let (fixture, stub) = (Fixture::new(), Stub::start(Kind::Automatic));
    let mut remote = remote(&stub.url());
    remote.api_key = Some(Secret::new("user:s3cret"));
    let settings = SdApiSettings::default();
    let generator = SdApi::new("webui", &remote, settings, 1, fixture.objects.clone()).unwrap();
    run(async {
        assert_outcome(&outcome(&generator, &fixture.task()).await, "image");
    });
    let sent = stub.calls(TEXT)[0]
        .header("authorization")
        .unwrap()
        .to_owned();
    assert_eq!(sent, format!("Basic {}", STANDARD.encode("user:s3cret")));
}

#[test]
fn one_input_image_is_sent_as_the_initial_image() {
    let (fixture, stub) = (Fixture::new(), Stub::start(Kind::Next));
    let jpeg = encoded(32, 32, ImageFormat::Jpeg);
    run(async {
        let generator = plain(&fixture, &stub);
        let task = fixture.task_with(std::slice::from_ref(&jpeg)).await;
        assert_outcome(&outcome(&generator, &task).await, "image");
        let two = fixture.task_with(&[jpeg.clone(), jpeg.clone()]).await;
        let found = outcome(&generator, &two).await;
        assert_outcome(
            &found,
            "unsupported: the image generator takes one input image, not 2",
        );
    });
    let calls = stub.calls(IMAGE);
    assert_eq!((calls.len(), stub.calls(TEXT).len()), (1, 0));
    let body = calls[0].json();
    assert_eq!(
        body["init_images"],
        json!([STANDARD.encode(jpeg)]),
        "as it came"
    );
    for (name, value) in [
        ("denoising_strength", json!(0.75)),
        ("resize_mode", json!(1)),
        ("include_init_images", json!(false)),
        ("width", json!(64)),
    ] {
        assert_eq!(body[name], value, "{name}");
    }
}

/// SD.Next would stretch the image.
#[test]
fn an_input_image_of_another_ratio_is_cropped() {
    let (fixture, stub) = (Fixture::new(), Stub::start(Kind::Next));
    run(async {
        let task = fixture.task_with(&[image(128, 64)]).await;
        assert_outcome(&outcome(&plain(&fixture, &stub), &task).await, "image");
    });
    let body = stub.calls(IMAGE)[0].json();
    let sent = STANDARD.decode(body["init_images"][0].as_str().unwrap());
    let sent = image::load_from_memory(&sent.unwrap()).unwrap().into_rgb8();
    assert_eq!(sent.dimensions(), (64, 64));
    assert_eq!(sent.get_pixel(0, 9).0, [32, 9, 99], "the middle");
}

#[test]
fn input_images_may_go_as_references() {
    let (fixture, stub) = (Fixture::new(), Stub::start(Kind::Cpp));
    let settings = SdApiSettings {
        reference_inputs: true,
        ..SdApiSettings::default()
    };
    let inputs = [image(8, 8), encoded(9, 9, ImageFormat::Gif)];
    run(async {
        let task = fixture.task_with(&inputs).await;
        assert_outcome(
            &outcome(&with(&fixture, &stub, settings), &task).await,
            "image",
        );
    });
    let body = stub.calls(TEXT)[0].json();
    let sent = body["extra_images"].as_array().unwrap();
    assert_reserved(&body);
    assert_eq!(sent[0], STANDARD.encode(&inputs[0]));
    let second = STANDARD.decode(sent[1].as_str().unwrap()).unwrap();
    assert!(second.starts_with(b"\x89PNG"));
    assert_eq!(size(&second), (9, 9));
    assert_eq!(body["init_images"], Value::Null);
}

#[test]
fn a_large_image_is_generated_small_and_enlarged() {
    for (kind, upscaler, asked) in [
        (Kind::Automatic, None, 0),
        (Kind::Automatic, Some("R-ESRGAN 4x+"), 1),
        // The server has no upscaler call, so Tintype enlarges the image.
        (Kind::Cpp, Some("R-ESRGAN 4x+"), 1),
    ] {
        let (fixture, stub) = (Fixture::new(), Stub::start(kind));
        let settings = SdApiSettings {
            max_pixels: 65_536,
            upscaler: upscaler.map(str::to_owned),
            ..SdApiSettings::default()
        };
        run(async {
            let mut task = fixture.task();
            task.pixels = (1024, 512);
            let found = outcome(&with(&fixture, &stub, settings), &task).await;
            assert_eq!(found, "image (1024, 512)", "{kind:?} {upscaler:?}");
        });
        let body = stub.calls(TEXT)[0].json();
        assert_eq!(
            (&body["width"], &body["height"]),
            (&json!(352), &json!(176))
        );
        let calls = stub.calls(ENLARGE);
        assert_eq!(calls.len(), asked);
        for call in calls {
            let body = call.json();
            assert_eq!(body["upscaler_1"], "R-ESRGAN 4x+");
            assert_eq!(body["image"], STANDARD.encode(image(352, 176)));
        }
    }
}

#[test]
fn the_upscaler_is_not_called_if_the_image_is_large_enough() {
    let (fixture, stub) = (Fixture::new(), Stub::start(Kind::Automatic));
    let settings = SdApiSettings {
        upscaler: Some("R-ESRGAN 4x+".into()),
        ..SdApiSettings::default()
    };
    run(async {
        assert_outcome(
            &outcome(&with(&fixture, &stub, settings), &fixture.task()).await,
            "image",
        );
    });
    assert!(stub.calls(ENLARGE).is_empty());
}

#[test]
fn the_image_after_a_grid_is_returned() {
    let fixture = Fixture::new();
    let stub = Stub::with(Kind::Automatic, |call| {
        let images = [image(128, 64), image(64, 64), image(64, 64)];
        let images = images.map(|it| format!("data:image/png;base64,{}", STANDARD.encode(it)));
        let info = json!({"index_of_first_image": 1}).to_string();
        (call.route() == TEXT).then(|| json(200, &json!({"images": images, "info": info})))
    });
    run(async {
        assert_eq!(
            outcome(&plain(&fixture, &stub), &fixture.task()).await,
            "image (64, 64)"
        );
    });
}

#[test]
fn an_image_in_another_format_is_returned_unchanged() {
    let fixture = Fixture::new();
    let stub = Stub::with(Kind::Next, |call| {
        let webp = STANDARD.encode(encoded(64, 64, ImageFormat::WebP));
        (call.route() == TEXT).then(|| answer(&[webp]))
    });
    run(async {
        let made = plain(&fixture, &stub).generate(fixture.task()).await;
        assert_eq!(made.unwrap().bytes, encoded(64, 64, ImageFormat::WebP));
    });
}

#[test]
fn progress_is_reported_if_the_server_provides_it() {
    for (kind, reports) in [
        (Kind::Automatic, true),
        (Kind::Headless, true),
        (Kind::Next, true),
        (Kind::Cpp, false),
    ] {
        let (fixture, stub) = (Fixture::new(), Stub::start(kind));
        stub.hold(0.5);
        run(async {
            let task = fixture.task();
            let making = tokio::task::spawn_local(plain(&fixture, &stub).generate(task.clone()));
            if reports {
                until("half is reported", || task.progress.fraction() == Some(0.5)).await;
            } else {
                until("it was asked in vain", || {
                    stub.calls("POST /internal/progress").len() == 1
                        && stub.calls("GET /sdapi/v1/progress").len() == 1
                })
                .await;
                assert_eq!(task.progress.fraction(), None);
            }
            stub.release();
            assert_outcome(&describe(making.await.unwrap()), "image");
        });
    }
}

#[test]
fn a_preview_is_requested_only_while_it_is_watched() {
    for kind in [Kind::Automatic, Kind::Next] {
        let (fixture, stub) = (Fixture::new(), Stub::start(kind));
        stub.hold(0.5);
        // The number of preview requests.
        let asked = || {
            let of_task = stub.calls("POST /internal/progress").into_iter();
            let of_task = of_task.filter(|it| it.json()["live_preview"] == true);
            let of_all = stub.calls("GET /sdapi/v1/progress").into_iter();
            let of_all =
                of_all.filter(|it| it.query("skip_current_image").as_deref() == Some("false"));
            of_task.count() + of_all.count()
        };
        run(async {
            let task = fixture.task();
            let making = tokio::task::spawn_local(plain(&fixture, &stub).generate(task.clone()));
            until("half is reported", || task.progress.fraction() == Some(0.5)).await;
            assert_eq!(asked(), 0, "{kind:?}");
            let mut seen = None;
            until("there is a preview", || {
                seen = task.progress.watch();
                seen.is_some()
            })
            .await;
            let seen = seen.expect("a preview");
            assert_eq!(
                (&seen.bytes[..], seen.media_type),
                (&image(8, 8)[..], "image/png")
            );
            assert!(asked() > 0, "{kind:?}");
            stub.release();
            assert_outcome(&describe(making.await.unwrap()), "image");
        });
    }
}

#[test]
fn server_wide_progress_is_not_read_if_the_server_generates_several_images() {
    let (fixture, stub) = (Fixture::new(), Stub::start(Kind::Next));
    let settings = SdApiSettings::default();
    let generator = SdApi::new(
        "webui",
        &remote(&stub.url()),
        settings,
        2,
        fixture.objects.clone(),
    );
    let generator = generator.unwrap();
    stub.hold(0.5);
    run(async {
        let task = fixture.task();
        let making = tokio::task::spawn_local(generator.generate(task.clone()));
        until("it was asked", || {
            !stub.calls("POST /internal/progress").is_empty()
        })
        .await;
        // A user interrupts the other image.
        stub.queue_call(true);
        stub.release();
        assert_outcome(&describe(making.await.unwrap()), "image");
        assert_eq!(task.progress.fraction(), None);
    });
    assert!(stub.calls("GET /sdapi/v1/progress").is_empty());
}

#[test]
fn hostile_prompts_reach_the_server_as_plain_text() {
    let (fixture, stub) = (Fixture::new(), Stub::start(Kind::Automatic));
    let long = "\u{1f98a}".repeat(32_768);
    run(async {
        let generator = plain(&fixture, &stub);
        for prompt in [
            "<lora:x:9>",
            "\"}],\"steps\":150",
            "\u{202e}\u{0}\u{7}",
            &long,
        ] {
            let mut task = fixture.task();
            task.prompt = prompt.to_owned();
            assert_outcome(&outcome(&generator, &task).await, "image");
        }
    });
    let calls = stub.calls(TEXT);
    assert_eq!(calls[0].json()["prompt"], "< lora:x:9>");
    assert_eq!(calls[1].json()["steps"], 25);
    assert_eq!(calls[3].json()["prompt"], long);
}

/// For the fault tests, which replace the answer.
pub fn instead(reply: fn() -> Reply) -> Stub {
    Stub::with(Kind::Automatic, move |call| {
        (call.route() == TEXT).then(reply)
    })
}

#[test]
fn a_redirect_is_not_followed() {
    let fixture = Fixture::new();
    let stub = instead(|| {
        Reply::Raw(
            b"HTTP/1.1 302 Found\r\nLocation: /sdapi/v1/img2img\r\nContent-Length: 0\r\n\r\n"
                .to_vec(),
        )
    });
    run(async {
        let found = outcome(&plain(&fixture, &stub), &fixture.task()).await;
        assert_outcome(&found, "rejects all: ");
    });
    assert!(stub.calls(IMAGE).is_empty());
}
