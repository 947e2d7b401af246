//! The service with self-hosted backends, from the call to the image.

use crate::comfyui_stub::{Age, Fate, Stub as Comfy};
use crate::fixture::{encoded, image, size};
use crate::sdapi_stub::{Kind, Stub as WebUi};
use crate::service::causes;
use crate::support::{OneNode, Options, Origin, Server, audited, origin, until};
use crate::test_directory::TestDirectory;
use image::ImageFormat;
use serde_json::json;
use std::fs;
use tintype_egress::testing::server::{json, text};

/// A server whose tier `pro` uses the first backend, then the second.
fn server(backends: &[(&str, String)]) -> Server {
    Server::with(options(backends))
}

fn options(backends: &[(&str, String)]) -> Options {
    let mut options = Options::new().on_disk().allow_loopback();
    let mut task = Vec::new();
    for (name, settings) in backends {
        let table: toml::Table = settings.parse().unwrap();
        options = options.set(&format!("backends.{name}"), table);
        let entry: toml::Table = format!("name = '{name}'").parse().unwrap();
        task.push(toml::Value::Table(entry));
    }
    options.set("tiers.pro.backends", task)
}

fn web_ui(stub: &WebUi, more: &str) -> (&'static str, String) {
    let settings = format!(
        "kind = 'sdapi'\nbase_url = '{}'\nretries = 0\n{more}",
        stub.url()
    );
    ("webui", settings)
}

fn comfy(stub: &Comfy) -> (&'static str, String) {
    let settings = format!("kind = 'comfyui'\nbase_url = '{}'\nretries = 1", stub.url());
    ("comfy", settings)
}

fn download(server: &Server, done: &serde_json::Value) -> Vec<u8> {
    let url = done["result"]["image_url"].as_str().unwrap();
    let path = url.split_once("/files/").unwrap().1;
    server.get(&format!("/files/{path}")).expect(200).body
}

#[test]
fn a_2k_job_is_generated_by_a_web_ui_and_charged_once() {
    let stub = WebUi::start(Kind::Automatic);
    let server = server(&[web_ui(&stub, "max_pixels = 65_536")]);
    let customer = server.customer("1.00");
    let body = json!({"prompt": "a (red) fox", "aspect_ratio": "16:9", "resolution": "2K"});
    let job = server
        .generate(&customer, "/text-generations", &body)
        .job_id();
    let done = server.job_once(&customer, &job, "done");
    assert_eq!(size(&download(&server, &done)), (2752, 1536));
    let sent = stub.calls("POST /sdapi/v1/txt2img")[0].json();
    assert_eq!(sent["prompt"], "a \\(red\\) fox");
    assert!(sent["width"].as_u64().unwrap() * sent["height"].as_u64().unwrap() <= 65_536);
    server.assert_money(&customer, "0.866", "0.00", "0.866");
    audited(&server);
}

#[test]
fn an_input_of_a_caller_reaches_comfyui() {
    let stub = Comfy::start(Age::New);
    let server = server(&[comfy(&stub)]);
    let customer = server.customer("1.00");
    let jpeg = encoded(40, 30, ImageFormat::Jpeg);
    let images = Origin::start([("/in.jpg", origin::bytes(jpeg.clone()))]);
    let body = json!({"prompt": "in oil", "aspect_ratio": "auto", "input_images_urls": [images.url("/in.jpg")]});
    let job = server
        .generate(&customer, "/url-generations", &body)
        .job_id();
    let done = server.job_once(&customer, &job, "done");
    assert_eq!(
        size(&download(&server, &done)),
        (1200, 896),
        "4:3, as the input"
    );
    assert_eq!(stub.uploads().into_values().collect::<Vec<_>>(), [jpeg]);
}

#[test]
fn a_job_that_one_backend_does_not_support_is_completed_by_the_next() {
    let (first, second) = (WebUi::start(Kind::Next), Comfy::start(Age::New));
    let server = server(&[web_ui(&first, ""), comfy(&second)]);
    let customer = server.customer("1.00");
    let images = Origin::start([("/in.png", origin::bytes(image(32, 32)))]);
    let url = images.url("/in.png");
    let body = json!({"prompt": "both", "aspect_ratio": "1:1", "input_images_urls": [url, url]});
    let job = server
        .generate(&customer, "/url-generations", &body)
        .job_id();
    server.job_once(&customer, &job, "done");
    assert_eq!(second.prompts().len(), 1);
    assert!(first.calls("POST /sdapi/v1/img2img").is_empty());
}

#[test]
fn an_out_of_memory_error_is_retried_and_a_broken_workflow_is_not() {
    let stub = Comfy::start(Age::New);
    stub.next(&[
        Fate::Fails("torch.OutOfMemoryError", "Allocation on device"),
        Fate::Done,
        Fate::Fails("RuntimeError", "shapes cannot be multiplied at /opt/s3cret"),
    ]);
    let server = server(&[comfy(&stub)]);
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    server.job_once(&customer, &job, "done");
    assert_eq!(stub.prompts().len(), 2);
    let job = server.create(&customer);
    let failed = server.job_once(&customer, &job, "failed");
    assert_eq!(
        failed["error"],
        "the workflow of the image generator failed"
    );
    assert_eq!(stub.prompts().len(), 3);
    server.assert_money(&customer, "0.866", "0.00", "0.866");
    audited(&server);
}

#[test]
fn a_prompt_is_picked_up_after_the_process_was_killed() {
    let stub = Comfy::start(Age::New);
    stub.next(&[Fate::Runs]);
    let place = TestDirectory::new();
    let config = format!(
        "[backends.comfy]\nkind = \"comfyui\"\nbase_url = \"{}\"\n[tiers.fast]\nbackends = [{{ name = \"comfy\" }}]\n",
        stub.url()
    );
    fs::write(place.path("config.toml"), config).unwrap();
    let mut service = place.serve();
    let key = service.printed_key().expect("a key");
    let job = service.client(&key).create_small_now("fox").accepted();
    until("the prompt is there", || stub.prompts().len() == 1);
    service.kill();
    let service = place.serve();
    until("the prompt is found", || stub.calls("GET /ws").len() == 2);
    stub.all_become(Fate::Done);
    let client = service.client(&key);
    client.job_when(&job, "done");
    assert_eq!(stub.prompts().len(), 1, "one prompt over both lives");
    let (balance, reserved) = client.money();
    assert_eq!((&*balance, &*reserved), ("99.961", "0.00"));
    service.stop();
}

#[test]
fn an_unusable_workflow_prevents_the_start_of_the_service() {
    let place = TestDirectory::new();
    let config = "[backends.comfy]\nkind = \"comfyui\"\nbase_url = \"http://127.0.0.1:8188\"\nworkflow_text = \"mine.json\"\n";
    fs::write(place.path("config.toml"), config).unwrap();
    for (content, said) in [
        ("{\"nodes\": [], \"links\": []}", "Export (API)"),
        (
            "{\"3\": {\"class_type\": \"X\", \"inputs\": {\"t\": \"{{promt}}\"}}}",
            "{{promt}} is not a placeholder",
        ),
    ] {
        fs::write(place.path("mine.json"), content).unwrap();
        place
            .run(&["serve", "--listen", "127.0.0.1:0"])
            .assert_fault(&["`comfy`", "workflow_text", "mine.json", said]);
        place.run_without_data(&["check-config"]).assert_fault(&[
            "`comfy`",
            "workflow_text",
            "mine.json",
            said,
        ]);
    }
    fs::remove_file(place.path("mine.json")).unwrap();
    place.run_without_data(&["check-config"]).assert_fault(&[
        "`comfy`",
        "mine.json",
        "cannot be read",
    ]);
}

#[test]
fn the_cause_of_a_refused_workflow_is_its_node_and_no_cause_is_a_missing_websocket() {
    let refusal = || {
        json(
            400,
            &json!({
                "error": {"type": "prompt_outputs_failed_validation", "message": "Prompt outputs failed validation"},
                "node_errors": {"4": {"class_type": "CheckpointLoaderSimple", "dependent_outputs": ["9"], "errors": [
                    {"type": "value_not_in_list", "message": "Value not in list", "details": "ckpt_name: 'x'"}]}},
            }),
        )
    };
    let stub = Comfy::with(Age::New, move |call| match call.route() {
        line if line.starts_with("GET /ws") => Some(text(404, "no websocket")),
        line if line.starts_with("POST /prompt") && call.header("x-broken").is_some() => {
            Some(refusal())
        }
        _ => None,
    });
    let failed = |more: &str, fates: &[Fate]| {
        let (name, settings) = comfy(&stub);
        stub.next(fates);
        let options = options(&[(name, format!("{settings}\n{more}"))]);
        let server = Server::with(options.one_node(OneNode::Figures));
        let customer = server.customer("1.00");
        let body = json!({"prompt": "a fox", "aspect_ratio": "1:1"});
        let job = server.generate(&customer, "/text-generations", &body);
        let job = server.job_once(&customer, &job.job_id(), "failed");
        causes(&server, &job)
    };
    assert_eq!(
        failed("headers = { X-Broken = 'yes' }", &[]),
        [
            "the server refuses the workflow at node 4 (CheckpointLoaderSimple): Value not in list ckpt_name: 'x'"
        ]
    );
    assert_eq!(
        failed("", &[Fate::Interrupted]),
        ["the generation was canceled on the image generator"]
    );
    assert_eq!(
        failed("timeout_seconds = 1", &[Fate::Runs, Fate::Runs]),
        ["no response within 1 s"]
    );
}

#[test]
fn the_exception_of_a_web_ui_reaches_the_operator() {
    let stub = WebUi::with(Kind::Automatic, |call| {
        let nan = json!({"error": "NansException", "detail": "", "body": "", "errors": "A tensor with NaNs."});
        (call.route() == "POST /sdapi/v1/txt2img").then(|| json(500, &nan))
    });
    let options = options(&[web_ui(&stub, "")]);
    let server = Server::with(options.one_node(OneNode::Figures));
    let customer = server.customer("1.00");
    let body = json!({"prompt": "a fox", "aspect_ratio": "1:1"});
    let job = server.generate(&customer, "/text-generations", &body);
    let job = server.job_once(&customer, &job.job_id(), "failed");
    let cause = &causes(&server, &job)[0];
    assert!(
        cause.contains("NansException: A tensor with NaNs."),
        "{cause}"
    );
}
