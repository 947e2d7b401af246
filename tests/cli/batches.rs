//! `tintype batch` against a real server: submit, follow, cancel and download.

use crate::support::{CommandOutput, Running, Service, run, tintype};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

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

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut names: Vec<String> = entries.map(|it| name(it.unwrap())).collect();
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
    assert_eq!(field(&printed, "price"), "0.117 charged of 0.117 reserved");
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
    let printed = service.batch(&["results", &id], b"").success();
    let ids: Vec<Value> = printed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["custom_id"].clone())
        .collect();
    assert_eq!(ids, ["fox", "a/b", "a_b"]);
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
    let so_far = "charged so far of 7.80 reserved; failed requests are not charged";
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
    let charged = "0.039 charged of 0.173 reserved";
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
