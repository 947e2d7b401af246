//! `tintype batch` against a real server: submit, follow, cancel and download.

use crate::support::{CommandOutput, Running, Service, run, tintype, until_some};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use tintype_egress::testing::server::{Reply, ScriptedServer, text};

impl Service {
    /// Runs a command with the API key of the service.
    fn batch(&self, arguments: &[&str], input: &[u8]) -> CommandOutput {
        let mut command = self.command(&[&["batch"], arguments].concat());
        command.env("TINTYPE_KEY", &self.key);
        run(command, input)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.directory.path().join(name), text).unwrap();
    }
}

fn field(printed: &str, name: &str) -> String {
    let line = printed.lines().find(|line| line.starts_with(name));
    let line = line.unwrap_or_else(|| panic!("no {name} in {printed}"));
    line[name.len()..].trim().to_owned()
}

/// The record of the downloaded images in their directory.
const RECORD: &str = ".tintype-images";

/// The images in a directory.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    let names = entries.map(|it| name(it.unwrap()));
    let mut names: Vec<String> = names.filter(|it| it != RECORD).collect();
    names.sort();
    names
}

fn request(custom_id: &str, prompt: &str) -> String {
    let request =
        json!({"custom_id": custom_id, "model": "fast", "prompt": prompt, "aspect_ratio": "1:1"});
    format!("{request}\n")
}

#[test]
fn a_batch_is_submitted_followed_and_downloaded() {
    let service = Service::start();
    let lines = [
        request("fox", "a fox"),
        request("a/b", "an owl"),
        request("a_b", "a bear"),
    ]
    .concat();
    service.write("prompts.jsonl", &lines);
    let dry = service
        .batch(&["submit", "prompts.jsonl", "--dry-run"], b"")
        .success();
    assert_eq!(field(&dry, "price"), "0.117");
    let submit = [
        "submit",
        "prompts.jsonl",
        "--wait",
        "--idempotency-key",
        "k",
    ];
    let ended = service.batch(&submit, b"");
    assert!(ended.err.starts_with("batch "), "{ended:?}");
    let printed = ended.success();
    assert_eq!(field(&printed, "status"), "ended");
    assert_eq!(field(&printed, "done"), "3");
    assert_eq!(field(&printed, "price"), "0.117 charged of 0.117");
    let id = field(&printed, "batch");
    // A repeated submission returns the same batch.
    let again = service.batch(
        &[
            "submit",
            "prompts.jsonl",
            "--idempotency-key",
            "k",
            "--json",
        ],
        b"",
    );
    let again: Value = serde_json::from_str(&again.success()).unwrap();
    assert_eq!(again["batch_id"], id.as_str());
    let listed = service.batch(&["list"], b"").success();
    assert_eq!(listed.lines().count(), 2, "{listed}");
    assert!(listed.contains(&id));
    assert_eq!(again["charged"], "0.117");

    let images = service.directory.path().join("images");
    let results = ["results", &id, "-o", "images"];
    let ended = service.batch(&results, b"");
    let mode = |name: &str| fs::metadata(images.join(name)).unwrap().mode();
    assert_eq!(mode(RECORD), mode("fox.png"), "both follow the umask");
    assert!(
        ended
            .err
            .contains("3 of 3 images are in images; 0 already existed"),
        "{ended:?}"
    );
    ended.success();
    assert_eq!(names(&images), ["a_b-2.png", "a_b.png", "fox.png"]);
    // Complete files are kept; missing and partial files are downloaded again.
    let fox = fs::read(images.join("fox.png")).unwrap();
    fs::write(images.join("a_b.png"), "mine").unwrap();
    fs::rename(images.join("fox.png"), images.join("fox.png.part")).unwrap();
    let ended = service.batch(&results, b"");
    assert!(ended.err.contains("2 already existed"), "{ended:?}");
    ended.success();
    assert_eq!(names(&images), ["a_b-2.png", "a_b.png", "fox.png"]);
    assert_eq!(fs::read(images.join("fox.png")).unwrap(), fox);
    assert_eq!(fs::read(images.join("a_b.png")).unwrap(), b"mine");
    let of_openai = format!("batch_{id}");
    let shown = service.batch(&["show", &of_openai], b"").success();
    assert_eq!(field(&shown, "batch"), id);
    let wrong = service.batch(&["show", "batch_7"], b"");
    assert!(wrong.err.contains("`tintype batch list`"), "{wrong:?}");
    let printed = service.batch(&["results", &of_openai], b"").success();
    let ids: Vec<Value> = printed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["custom_id"].clone())
        .collect();
    assert_eq!(ids, ["fox", "a/b", "a_b"]);
    service.stop();
}

/// A server that answers the calls on a path with a body, or never if there is none.
fn answering(answer: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> ScriptedServer {
    ScriptedServer::start(move |request| match answer(request.path()) {
        Some(body) => text(200, &body),
        None => Reply::Silence,
    })
}

const ID: &str = "01a1ee56-5e02-7114-b20e-867347a4b375";

/// An ended batch with one image.
fn ended_batch(metadata: Value) -> Value {
    let counts = json!({"total": 1, "queued": 0, "processing": 0, "done": 1, "failed": 0});
    json!({"batch_id": ID, "status": "ended", "created_at": "2026-11-20T20:10:58.140Z", "ended_at": null, "counts": counts,
        "price": "0.00", "charged": "0.00", "metadata": metadata, "results_url": "/"})
}

#[test]
fn a_page_of_batches_with_long_metadata_is_listed() {
    let batch = ended_batch(json!({"text": "x".repeat(16_000)}));
    let page = json!({"data": vec![batch; 100], "next_cursor": null}).to_string();
    let server = answering(move |_| Some(page.clone()));
    let directory = tempfile::tempdir().unwrap();
    let url = server.url("");
    let arguments = ["batch", "list", "--limit", "100", "--server", &url];
    let mut command = tintype(directory.path(), &arguments);
    command.env("TINTYPE_KEY", "tt_key");
    let listed = run(command, b"").success();
    assert_eq!(listed.lines().count(), 101);
}

#[test]
fn a_download_after_a_wait_can_be_interrupted() {
    let images = answering(|_| None);
    let image_url = images.url("/fox.png");
    let result = json!({"custom_id": "fox", "job_id": ID, "status": "done", "result": {"image_url": image_url}, "error": null});
    let server = answering(move |path| match path.ends_with("/results") {
        true => Some(format!("{result}\n")),
        false => Some(ended_batch(Value::Null).to_string()),
    });
    let directory = tempfile::tempdir().unwrap();
    let url = server.url("");
    let arguments = [
        "batch", "results", ID, "--wait", "-o", "images", "--server", &url,
    ];
    let mut command = tintype(directory.path(), &arguments);
    command.env("TINTYPE_KEY", "tt_key");
    let running = Running::start(command);
    until_some("the download begins", || {
        directory.path().join("images").exists().then_some(())
    });
    let (code, lines) = running.interrupt_and_read();
    assert_eq!(code, Some(130), "{lines:#?}");
    assert!(
        lines.join("\n").contains("repeat the command to continue"),
        "{lines:#?}"
    );
}

#[test]
fn an_interrupted_submission_says_how_to_repeat_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("one.jsonl"), request("fox", "a fox")).unwrap();
    let arguments = ["batch", "submit", "one.jsonl", "--server", &url];
    let mut command = tintype(directory.path(), &arguments);
    command.env("TINTYPE_KEY", "tt_key");
    let running = Running::start(command);
    let (stream, _) = listener.accept().unwrap();
    let mut head = BufReader::new(&stream).lines().map_while(Result::ok);
    let key = head.find_map(|line| line.strip_prefix("idempotency-key: ").map(str::to_owned));
    let (code, lines) = running.interrupt_and_read();
    assert_eq!(code, Some(130), "{lines:#?}");
    let advice = format!(
        "may have arrived: repeat the command with --idempotency-key {}",
        key.unwrap()
    );
    assert!(lines.join("\n").contains(&advice), "{lines:#?}");
}

#[test]
fn images_of_two_batches_in_one_directory_are_not_confused() {
    let service = Service::start();
    let submit = |prompt: &str| {
        service.write("one.jsonl", &request("fox", prompt));
        let ended = service.batch(&["submit", "one.jsonl", "--wait"], b"");
        field(&ended.success(), "batch")
    };
    let (first, second) = (submit("a red fox"), submit("a blue fox"));
    let download =
        |id: &str, directory: &str| service.batch(&["results", id, "-o", directory], b"");
    let images = service.directory.path().join("in/images");
    download(&first, "in/images").success();
    let red = fs::read(images.join("fox.png")).unwrap();
    let output = download(&second, "in/images");
    assert!(output.err.contains("0 of 1 images are in"), "{output:?}");
    let reason = "failed: fox: in/images/fox.png is the image of another job; move it, or choose another directory";
    assert!(output.failure().contains(reason));
    assert_eq!(fs::read(images.join("fox.png")).unwrap(), red);
    download(&first, "in/images").success();
    fs::rename(images.join("fox.png"), images.join("red.png")).unwrap();
    download(&second, "in/images").success();
    assert_ne!(fs::read(images.join("fox.png")).unwrap(), red);
    assert_eq!(names(&images), ["fox.png", "red.png"]);
    // A file of the user is neither replaced nor reported as an image of the batch.
    fs::create_dir(service.directory.path().join("mine")).unwrap();
    service.write("mine/fox.png", "mine");
    let output = download(&first, "mine");
    let unknown =
        "1 of the existing files were not downloaded by this command, such as mine/fox.png";
    assert!(output.err.contains(unknown), "{output:?}");
    output.success();
    service.stop();
}

#[test]
fn a_deleted_image_is_reported_without_further_attempts() {
    let service = Service::start_alone();
    service.write("one.jsonl", &request("fox", "a fox"));
    let ended = service.batch(&["submit", "one.jsonl", "--wait"], b"");
    let id = field(&ended.success(), "batch");
    fs::remove_dir_all(service.directory.path().join("data/objects/results")).unwrap();
    let output = service
        .batch(&["results", &id, "-o", "images"], b"")
        .failure();
    assert!(
        output.contains("failed: fox: the image is no longer stored"),
        "{output}"
    );
    service.stop();
}

#[test]
fn a_wait_survives_a_crash_of_the_server() {
    let mut service = Service::start_alone();
    let lines: String = (0..20)
        .map(|at| request(&format!("r{at}"), "a fox"))
        .collect();
    service.write("prompts.jsonl", &lines);
    let mut command = service.command(&["batch", "submit", "prompts.jsonl", "--wait"]);
    command.env("TINTYPE_KEY", &service.key);
    let waiting = Running::start(command);
    waiting.after("batch ");
    service.kill();
    waiting.line("the outage", |line| {
        line.ends_with("the command keeps trying").then_some(())
    });
    service.start_again();
    let (code, lines) = waiting.wait_and_read();
    assert_eq!(code, Some(0), "{lines:#?}");
    let printed = lines.join("\n");
    assert_eq!(field(&printed, "status"), "ended");
    assert_eq!(field(&printed, "done"), "20");
    // A wrong server fails at once.
    let id = field(&printed, "batch  ");
    let mut command = tintype(
        service.directory.path(),
        &["batch", "results", &id, "--wait"],
    );
    command
        .args(["--server", "http://127.0.0.1:9"])
        .env("TINTYPE_KEY", &service.key);
    let output = run(command, b"").failure();
    assert!(output.contains("could not be reached"), "{output}");
    service.stop();
}

#[test]
fn an_interrupted_wait_says_that_the_batch_continues() {
    let service = Service::start();
    let lines: String = (0..200)
        .map(|at| request(&format!("r{at}"), "a fox"))
        .collect();
    service.write("prompts.jsonl", &lines);
    let submit = [
        "batch",
        "submit",
        "prompts.jsonl",
        "--wait",
        "--idempotency-key",
        "k",
    ];
    let mut command = service.command(&submit);
    command.env("TINTYPE_KEY", &service.key);
    let waiting = Running::start(command);
    let id = waiting.line("the id", |line| {
        line.strip_prefix("batch ").map(str::to_owned)
    });
    let (code, lines) = waiting.interrupt_and_read();
    assert_eq!(code, Some(130), "{lines:#?}");
    let told = lines.join("\n");
    for part in [
        "the batch continues".to_owned(),
        format!("tintype batch show {id}"),
        format!("tintype batch cancel {id}"),
    ] {
        assert!(told.contains(&part), "{told}");
    }
    service.batch(&["cancel", &id], b"").success();
    let again = service.batch(&["submit", "prompts.jsonl", "--idempotency-key", "k"], b"");
    assert!(again.err.contains("nothing was submitted"), "{again:?}");
    assert!(again.err.contains(&id), "{again:?}");
    again.success();
    service.stop();
}

#[test]
fn a_table_is_submitted_from_standard_input_and_canceled() {
    let service = Service::start();
    let mut table = "model,prompt,aspect_ratio\n".to_owned();
    (0..200).for_each(|at| table.push_str(&format!("fast,\"prompt {at}, with a comma\",1:1\n")));
    let printed = service
        .batch(&["submit", "-", "--csv"], table.as_bytes())
        .success();
    assert_eq!(field(&printed, "requests"), "200");
    let so_far = "charged so far of 7.80; failed requests are not charged";
    assert!(field(&printed, "price").ends_with(so_far), "{printed}");
    let id = field(&printed, "batch");
    let canceled = service.batch(&["cancel", &id], b"").success();
    assert_eq!(field(&canceled, "queued"), "0");
    // The command reports the canceled requests.
    let ended = service.batch(&["results", &id, "-o", "out", "--wait"], b"");
    assert!(ended.err.contains("failed: 199: canceled"), "{ended:?}");
    ended.failure();
    let shown = service.batch(&["show", &id, "--json"], b"").success();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["status"], "ended");
    let done = shown["counts"]["done"].as_u64().unwrap() as usize;
    assert_eq!(names(&service.directory.path().join("out")).len(), done);
    service.stop();
}

#[test]
fn a_batch_with_failed_requests_shows_the_charge_and_how_to_list_the_reasons() {
    let service = Service::start();
    let failing = json!({"custom_id": "b", "model": "pro", "prompt": "a fox", "aspect_ratio": "1:1",
        "input_images_urls": ["http://127.0.0.1:9/gone.png"]});
    let lines = request("a", "an owl") + &failing.to_string();
    service.write("mixed.jsonl", &lines);
    let ended = service.batch(&["submit", "mixed.jsonl", "--wait"], b"");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let id = field(&ended.out, "batch");
    let charged = "0.039 charged of 0.173";
    assert_eq!(field(&ended.out, "price"), charged);
    assert!(
        ended.err.ends_with(&format!(
            "1 request has failed and is not charged; see why with `tintype batch results {id}`\n"
        )),
        "{ended:?}"
    );
    let shown = service.batch(&["show", &id], b"").success();
    assert_eq!(field(&shown, "price"), charged);
    let listed = service.batch(&["list"], b"").success();
    let row: Vec<&str> = listed.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[row.len() - 2..], ["0.039", "0.173"], "{listed}");
    service.stop();
}

#[test]
fn errors_name_the_line_of_the_request() {
    let service = Service::start();
    service.write(
        "bad.jsonl",
        &[request("a", "a fox"), request("a", "")].concat(),
    );
    let output = service.batch(&["submit", "bad.jsonl"], b"").failure();
    for expected in [
        "bad.jsonl, line 2: prompt must have",
        "bad.jsonl, line 2: custom_id is also that of line 1",
    ] {
        assert!(output.contains(expected), "{output}");
    }
    service.write("typo.jsonl", "\n{\"promt\": \"a fox\"}\n{,}\n");
    let output = service.batch(&["submit", "typo.jsonl"], b"").failure();
    for expected in [
        "typo.jsonl, line 2: model is required",
        "typo.jsonl, line 2: promt is unknown; did you mean `prompt`?",
        "typo.jsonl, line 3 is not a well-formed JSON object: key must be a string at column 2",
    ] {
        assert!(output.contains(expected), "{output}");
    }
    service.write(
        "table.csv",
        "model,prompt,aspect_ratio\nfast,\"two\nlines\",1:1\nhuge,x,1:1\n",
    );
    let output = service.batch(&["submit", "table.csv"], b"").failure();
    assert!(
        output.contains("table.csv, line 4: model must be"),
        "{output}"
    );
    for (bytes, reason) in [
        (
            &b"\x89PNG\r\n\x1a\n\xff\n"[..],
            "is not JSON Lines: it is not UTF-8 text",
        ),
        (b" \n", "is empty"),
        (
            b"{\n  \"requests\": [\n    {\"model\": \"fast\"}\n    {\"model\": \"pro\"}\n  ]\n}\n",
            "is not well-formed JSON: expected `,` or `]` at line 4 column 5; give one request per line, or one object {\"requests\": [...]}",
        ),
    ] {
        let output = service.batch(&["submit", "-"], bytes).failure();
        assert_eq!(output, format!("tintype: standard input {reason}\n"));
    }
    let output = service.batch(&["submit", "missing.jsonl"], b"").failure();
    assert!(output.contains("cannot read missing.jsonl"), "{output}");
    let unknown = "01a1ee56-5e02-7114-b20e-867347a4b375";
    let output = service.batch(&["show", unknown], b"").failure();
    assert!(output.contains("there is no such batch"), "{output}");
    let output = run(service.command(&["batch", "list"]), b"").failure();
    assert!(output.contains("TINTYPE_KEY"), "{output}");
    service.stop();
}

#[test]
fn the_server_comes_from_the_option_the_environment_or_the_configuration() {
    let service = Service::start_alone();
    let other = "http://127.0.0.1:9";
    let listen = service.url.trim_start_matches("http://");
    let list = |server: &[&str], url: Option<&str>, listen: Option<&str>| {
        let arguments = [&["batch", "list"], server].concat();
        let mut command = tintype(service.directory.path(), &arguments);
        command.env("TINTYPE_KEY", &service.key);
        command.envs(url.map(|it| ("TINTYPE_URL", it)));
        if let Some(listen) = listen {
            service.write("config.toml", &format!("[server]\nlisten = \"{listen}\"\n"));
        }
        run(command, b"")
    };
    list(&["--server", &service.url], Some(other), None).success();
    let elsewhere = list(&["--server", other], Some(&service.url), None).failure();
    assert!(elsewhere.contains(other), "{elsewhere}");
    list(&[], Some(&service.url), Some("127.0.0.1:9")).success();
    let elsewhere = list(&[], None, None).failure();
    assert!(elsewhere.contains(other), "{elsewhere}");
    list(&[], Some(""), Some(listen)).success();
    for (server, expected) in [
        (
            "127.0.0.1:8080",
            "--server `127.0.0.1:8080`: expected a URL",
        ),
        ("http://x/api/v1", "give the URL without /api/v1: http://x"),
    ] {
        let refused = list(&["--server", server], None, None).failure();
        assert!(refused.contains(expected), "{refused}");
        assert!(!refused.contains("may have arrived"), "{refused}");
    }
    service.stop();
}
