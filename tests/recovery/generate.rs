//! `generate`, with an embedded instance and against a server.

use crate::client::Client;
use crate::test_directory::{BINARY, CommandOutput, TestDirectory, signal, until};
use serde_json::Value;
use std::fs;
use std::net::TcpListener;
use std::path::Path;

/// Width and height in the file's header.
fn png_size(path: &Path) -> (u32, u32) {
    let bytes = fs::read(path).expect("an image");
    assert_eq!(&bytes[..16], b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    (number(16), number(20))
}

fn made(ended: &CommandOutput, file: &str) {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.out.trim(), file, "the file's name alone is printed");
}

fn key_names(client: &Client) -> Vec<String> {
    let list = |path: &str| client.get(path).json()["data"].clone();
    let accounts = list("/admin/v1/accounts");
    let account = accounts[0]["account_id"].as_str().expect("an account");
    let keys = list(&format!("/admin/v1/accounts/{account}/keys"));
    let name = |key: &Value| key["name"].as_str().expect("a name").to_owned();
    keys.as_array().expect("a list").iter().map(name).collect()
}

#[test]
fn without_a_data_directory_only_the_image_remains() {
    let place = TestDirectory::new();
    fs::create_dir(place.path("tmp")).expect("a directory");
    // A configured service locks its data directory, and its account may have no money.
    fs::write(place.path("config.toml"), "[first_run]\nbalance = \"0\"\n").expect("a file");
    let mut command = place.command(BINARY);
    command
        .args(["generate", "a red fox", "--model", "fast", "-o", "fox.png"])
        .env("TMPDIR", place.path("tmp"));
    made(
        &CommandOutput::of(command.output().expect("the binary")),
        "fox.png",
    );
    let names = |path: &Path| {
        let entries = fs::read_dir(path).expect("a directory");
        let mut names: Vec<_> = entries
            .map(|it| it.expect("an entry").file_name())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(&place.path("")), ["config.toml", "fox.png", "tmp"]);
    assert!(names(&place.path("tmp")).is_empty());
}

#[test]
fn an_image_that_cannot_be_written_is_saved_elsewhere() {
    let place = TestDirectory::new();
    // A path that passes the check and fails when it is written.
    std::os::unix::fs::symlink("nowhere/fox.png", place.path("fox.png")).expect("a link");
    let ended = place.run(&["generate", "a red fox", "--model", "fast", "-o", "fox.png"]);
    ended.assert_fault(&["fox.png", "the image is in "]);
    let (_, saved) = ended.err.split_once("the image is in ").expect("a path");
    let saved = saved.split([':', '\n']).next().expect("a path");
    assert_eq!(png_size(Path::new(saved)), (1024, 1024));
    fs::remove_file(saved).expect("the file");
}

#[test]
fn an_embedded_instance_generates_images_and_leaves_no_key_and_no_input() {
    let mut place = TestDirectory::new();
    made(
        &place.run(&["generate", "a red fox in the snow", "-o", "fox.png"]),
        "fox.png",
    );
    assert_eq!(png_size(&place.path("fox.png")), (1024, 1024));
    made(
        &place.run(&[
            "generate",
            "A calm sea!",
            "--tier",
            "fast",
            "--aspect-ratio",
            "16:9",
        ]),
        "a-calm-sea.png",
    );
    assert_eq!(png_size(&place.path("a-calm-sea.png")), (1344, 768));
    // The aspect ratio follows the input, which the command reads from its own server.
    place.set("EGRESS__DENY", r#"["127.0.0.0/8"]"#);
    made(
        &place.run(&[
            "generate",
            "the same at night",
            "--input",
            "a-calm-sea.png",
            "-o",
            "night.png",
        ]),
        "night.png",
    );
    assert_eq!(png_size(&place.path("night.png")), (1376, 768));
    for folder in ["uploads", "inputs", "words"] {
        assert_eq!(place.objects(folder), Vec::<std::path::PathBuf>::new());
    }
    assert_eq!(place.objects("results").len(), 3);

    let service = place.serve();
    assert!(service.printed_key().is_some(), "{}", service.greeting);
    let operator = service.client(&place.token());
    assert_eq!(key_names(&operator), ["first"]);
    service.stop();
    let verified = place.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

#[test]
fn a_running_server_is_called_with_its_key() {
    let place = TestDirectory::new();
    let service = place.serve();
    let (url, key) = (
        format!("http://{}", service.address()),
        service.printed_key().expect("a key"),
    );
    let run = |arguments: &[&str]| {
        let mut command = place.command(BINARY);
        command
            .args(["generate", "a quiet lake", "--server", &url])
            .args(arguments);
        CommandOutput::of(command.output().expect("the binary"))
    };
    made(
        &run(&["--key", &key, "--tier", "fast", "-o", "lake.png"]),
        "lake.png",
    );
    assert_eq!(png_size(&place.path("lake.png")), (1024, 1024));
    run(&["--key", "tt_wrong"]).assert_fault(&["API key"]);
    run(&["--key", &key, "--input", "lake.png"]).assert_fault(&["lake.png", "--server"]);
    run(&["--key", &key, "--aspect-ratio", "5:3"]).assert_fault(&["--aspect-ratio `5:3`"]);
    let address = service.address();
    service.stop();
    run(&["--key", &key]).assert_fault(&[&address]);
}

#[test]
fn the_environment_names_the_server_unless_the_options_ask_for_an_embedded_one() {
    let place = TestDirectory::new();
    let service = place.serve();
    let key = service.printed_key().expect("a key");
    let client = service.client(&key);
    let url = format!("http://{}", service.address());
    let run = |arguments: &[&str]| {
        let mut command = place.command(BINARY);
        command
            .args([
                "generate",
                "a quiet lake",
                "--tier",
                "fast",
                "-o",
                "lake.png",
            ])
            .args(arguments)
            .envs([("TINTYPE_URL", &url), ("TINTYPE_KEY", &key)]);
        CommandOutput::of(command.output().expect("the binary"))
    };
    let jobs = || {
        client.get("/api/v1/jobs").json()["data"]
            .as_array()
            .map(Vec::len)
    };
    made(&run(&["--idempotency-key", "lake"]), "lake.png");
    assert_eq!(jobs(), Some(1));
    made(&run(&["--data-dir", "other"]), "lake.png");
    assert_eq!(jobs(), Some(1));
    run(&["--input", "lake.png"]).assert_fault(&["lake.png", &url, "TINTYPE_URL"]);
    run(&["--data-dir", "other", "--key", &key]).assert_fault(&["--key", "--server"]);
    service.stop();
}

#[test]
fn a_limit_of_one_call_per_second_delays_the_image() {
    let place =
        TestDirectory::with(&[("LIMITS__REQUESTS_PER_SECOND", "1"), ("LIMITS__BURST", "1")]);
    made(
        &place.run(&["generate", "a fox", "--tier", "fast", "-o", "fox.png"]),
        "fox.png",
    );
}

#[test]
fn the_work_of_a_server_is_not_touched() {
    let place = TestDirectory::new();
    let mut service = place.serve();
    let key = service.printed_key().expect("a key");
    let job = service.client(&key).create_slow("4K");
    service.kill();
    let data = place.data();
    let data = data.to_str().expect("a path");
    place
        .run(&["generate", "a fox", "--tier", "quality"])
        .assert_fault(&["unfinished jobs: 1", "`tintype serve`", "--server"]);
    let service = place.serve();
    service.client(&key).job_when(&job, "done");
    service.stop();

    fs::write(
        place.path("config.toml"),
        "[storage]\nurl = \"postgres://127.0.0.1:1/tintype\"\nobjects = \"s3://pictures\"\n",
    )
    .expect("a file");
    let mut command = place.command(BINARY);
    command
        .args(["generate", "a fox", "--data-dir", data])
        .env("TINTYPE_SECRET", "0".repeat(64));
    CommandOutput::of(command.output().expect("the binary"))
        .assert_fault(&["url in [storage]", "--server"]);
}

#[test]
fn invalid_arguments_are_reported_by_name() {
    let place = TestDirectory::new();
    fs::write(place.path("notes.txt"), "no image").expect("a file");
    let run = |arguments: &[&str]| place.run(&[&["generate", "a fox"], arguments].concat());
    run(&["--input", "missing.png"]).assert_fault(&["missing.png"]);
    run(&["--input", "notes.txt"]).assert_fault(&["notes.txt", "PNG"]);
    run(&["--input", "http://192.0.2.1/x.png"]).assert_fault(&["--input `http://192.0.2.1/x.png`"]);
    run(&["--aspect-ratio", "auto"]).assert_fault(&["--aspect-ratio `auto`"]);
    run(&["--tier", "fast", "--resolution", "2K"]).assert_fault(&["--resolution `2K`"]);
    run(&["-o", "nowhere/fox.png"]).assert_fault(&["nowhere"]);
    run(&["-o", "data"]).assert_fault(&["data", "directory"]);
    let usage = run(&["--tier", "best"]);
    assert_eq!(usage.code, Some(2), "{usage:?}");
    assert!(usage.err.contains("fast, quality, pro"), "{usage:?}");
    assert_eq!(place.objects("uploads"), Vec::<std::path::PathBuf>::new());
}

/// Starts `generate` with an input whose server never answers, so that the command is certainly running.
fn end_while_it_works(place: &TestDirectory, how: &str) -> CommandOutput {
    let input = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/x.png", input.local_addr().expect("its address"));
    let mut command = place.command(BINARY);
    command
        .args(["generate", "a fox", "--input", &url, "--data-dir"])
        .arg(place.data());
    let child = command.spawn().expect("the binary");
    let asked = input.accept().expect("it asks for the input");
    signal(how, child.id());
    let ended = CommandOutput::of(child.wait_with_output().expect("its end"));
    drop(asked);
    ended
}

#[test]
fn an_interrupted_command_deletes_its_key_and_the_key_of_a_killed_command_expires() {
    let place = TestDirectory::new();
    end_while_it_works(&place, "INT").assert_fault(&["interrupted"]);
    end_while_it_works(&place, "TERM").assert_fault(&["interrupted"]);
    assert_eq!(end_while_it_works(&place, "KILL").code, None);
    let service = place.serve();
    assert!(service.printed_key().is_some(), "{}", service.greeting);
    let operator = service.client(&place.token());
    let mut names = key_names(&operator);
    names.sort();
    assert_eq!(
        names,
        ["first", "generate"],
        "the killed one's key, which expires"
    );
    until("no input is left", || {
        place.objects("inputs").is_empty().then_some(())
    });
    service.stop();
}
