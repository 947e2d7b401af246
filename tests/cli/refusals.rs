//! Error messages of the commands.

use crate::support::{Running, Service, run, tintype};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use tintype_postgres::testing::free_port;

#[test]
fn an_unreachable_server_and_a_rejected_token_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let unused = format!("http://127.0.0.1:{}", free_port());
    let list = ["webhook", "list", "--server", &unused];
    let output = run(tintype(directory.path(), &list), b"").failure();
    for part in ["--token", "TINTYPE_ADMIN_TOKEN", "data/admin-token"] {
        assert!(output.contains(part), "{output}");
    }
    let mut command = tintype(directory.path(), &list);
    command.env("TINTYPE_ADMIN_TOKEN", "token-of-the-environment-0123456789");
    let output = run(command, b"").failure();
    for part in [&unused, "connection refused", "tintype serve"] {
        assert!(output.contains(part), "{output}");
    }
    let other = ["delivery", "list", "--server", "http://192.0.2.1"];
    std::fs::create_dir(directory.path().join("data")).unwrap();
    std::fs::write(directory.path().join("data/admin-token"), "of-the-file").unwrap();
    let output = run(tintype(directory.path(), &other), b"").failure();
    assert!(output.contains("is not sent to it"), "{output}");

    let service = Service::start();
    let wrong = run(
        service.command(&["webhook", "list", "--token", "wrong"]),
        b"",
    )
    .failure();
    assert!(
        wrong.contains("--token") && !wrong.contains("wrong"),
        "{wrong}"
    );
    service.stop();
}

#[test]
fn unknown_and_invalid_values_are_reported() {
    let service = Service::start();
    let unknown = "01a1fa95-0000-7000-8000-000000000000";
    let refused = |arguments: &[&str]| run(service.command(arguments), b"").failure();
    for (arguments, reason) in [
        (&["webhook", "rm", unknown][..], "no such webhook"),
        (&["webhook", "test", unknown], "no such webhook"),
        (&["webhook", "rotate", unknown], "no such webhook"),
        (
            &["webhook", "rm", "https://absent.example/"],
            "there is no webhook with the URL https://absent.example/",
        ),
        (&["delivery", "show", unknown], "no such delivery"),
        (&["delivery", "redeliver", unknown], "no such delivery"),
        (
            &["delivery", "redeliver", "--webhook", unknown],
            "no such webhook",
        ),
        (
            &["webhook", "list", "--account", unknown],
            "no such account",
        ),
        (
            &["webhook", "list", "--account", "nobody"],
            "accounts: default (",
        ),
        (
            &["job", "show", unknown],
            "there is no job 01a1fa95-0000-7000-8000-000000000000",
        ),
        (
            &["job", "cancel", unknown, "--account", "default"],
            "the account `default` has no job 01a1fa95",
        ),
        (
            &["backend", "test", "gpu"],
            "backend `gpu` is not defined; defined: builtin",
        ),
        (&["webhook", "add", "ftp://x/"], "url"),
        (&["webhook", "add", "http://10.0.0.1/"], "egress"),
    ] {
        let output = refused(arguments);
        assert!(output.contains(reason), "{arguments:?}: {output}");
    }
    for arguments in [
        &["webhook", "rm", "x"][..],
        &[
            "webhook",
            "add",
            "http://127.0.0.1/",
            "--encoding",
            "latin1",
        ],
        &["delivery", "list", "--limit", "0"],
        &["delivery", "list", "--status", "lost"],
        &["delivery", "redeliver"],
        &["delivery", "redeliver", unknown, "--webhook", unknown],
        &[
            "delivery",
            "redeliver",
            unknown,
            "--from",
            "2026-11-20T00:00:00Z",
        ],
        &[
            "delivery",
            "redeliver",
            "--webhook",
            unknown,
            "--from",
            "today",
        ],
    ] {
        assert_eq!(
            run(service.command(arguments), b"").code,
            Some(2),
            "{arguments:?}"
        );
    }
    let no_id = run(service.command(&["webhook", "rm", "x"]), b"");
    assert!(no_id.err.contains("expected an id such as"), "{no_id:?}");
    let neither = run(service.command(&["delivery", "redeliver"]), b"");
    assert!(neither.err.contains("--webhook"), "{neither:?}");
    service.stop();
}

#[test]
fn a_place_that_cannot_be_used_is_named() {
    let service = Service::start_alone();
    for (arguments, reason) in [
        (
            ["export", "--output", "/nowhere/records.jsonl"],
            "tintype: cannot create a temporary file in /nowhere",
        ),
        (
            ["move", "--to", "mysql://h/d"],
            "--to `mysql`: expected postgres://USER@HOST/DATABASE or an empty directory",
        ),
    ] {
        let output = run(tintype(service.directory.path(), &arguments), b"").failure();
        assert!(output.contains(reason), "{output}");
    }
    service.stop();
}

#[test]
fn a_backup_location_that_does_not_answer_is_not_called_damaged() {
    let service = Service::start_alone();
    let mut command = service.command(&["backup", "s3://pictures/backups"]);
    command.envs([
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_ACCESS_KEY_ID", "tests"),
        ("AWS_SECRET_ACCESS_KEY", "tests"),
    ]);
    let output = run(command, b"").failure();
    assert!(output.contains("s3://pictures/backups"), "{output}");
    assert!(!output.contains("damaged"), "{output}");
    service.stop();
}

#[test]
fn an_invited_address_is_refused_with_what_is_possible() {
    let service = Service::start();
    service.run(&["account", "add", "studio"]);
    let invite = |account: &str| {
        let words = ["person", "invite", "ada@example.com", "--role", "owner"];
        run(
            service.command(&[&words[..], &["--account", account]].concat()),
            b"",
        )
    };
    invite("default").success();
    let again = invite("default").failure();
    assert!(again.contains("send them a new link"), "{again}");
    let elsewhere = invite("studio").failure();
    for part in [
        "another account",
        "invite another address",
        "remove the person there",
    ] {
        assert!(elsewhere.contains(part), "{elsewhere}");
    }
    service.stop();
}

#[test]
fn a_stray_account_is_ignored_once_it_is_inactive() {
    let service = Service::start();
    service.run(&["account", "add", "stray"]);
    let several = run(service.command(&["key", "list"]), b"").failure();
    for part in ["default (", "stray (", "--account", "account deactivate"] {
        assert!(several.contains(part), "{several}");
    }
    let argument = run(service.command(&["account", "show"]), b"").failure();
    assert!(argument.contains("choose one by id or name"), "{argument}");
    assert!(!argument.contains("--account"), "{argument}");
    service.run(&["account", "deactivate", "stray"]);
    let keys = service.json(&["key", "list"]);
    assert_eq!(keys["data"].as_array().unwrap().len(), 1);
    service.stop();
}

#[test]
fn texts_without_visible_characters_are_refused() {
    let service = Service::start();
    for (arguments, reason) in [
        (
            &["account", "rename", "default", "  "][..],
            "visible character",
        ),
        (&["key", "add", "   "], "visible character"),
        (&["key", "add", "\u{200b}"], "U+200B"),
        (&["account", "add", "a\u{202e}b"], "U+202E"),
        (
            &["pause", "set", "fast", "--reason", "   "],
            "visible character",
        ),
        (
            &["deposit", "add", "1", "--reference", "   "],
            "visible character",
        ),
        (&["deposit", "add", "1", "--reference", "a\nb"], "U+000A"),
    ] {
        let output = run(service.command(arguments), b"").failure();
        assert!(output.contains(reason), "{arguments:?}: {output}");
    }
    service.stop();
}

#[test]
fn an_invalid_delivery_or_secret_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let verify = |arguments: &[&str], input: &[u8]| {
        let arguments = [&["webhook-verify"], arguments].concat();
        run(tintype(directory.path(), &arguments), input)
    };
    let secret = format!("whsec_{}=", "A".repeat(43));
    let output = verify(&["--secret", &secret], b"{}").failure();
    assert!(output.contains("blank line"), "{output}");
    let output = verify(&["--secret", "whsec_hush"], b"").failure();
    assert!(
        output.contains("--secret") && !output.contains("hush"),
        "{output}"
    );
    let output = verify(&["--secret-file", "nowhere"], b"").failure();
    assert!(output.contains("nowhere"), "{output}");
    let neither = verify(&[], b"");
    assert_eq!(neither.code, Some(2));
    assert!(neither.err.contains("--secret-file"), "{neither:?}");
    let bare = verify(&["--secret", &secret], b"Host: x\n\n{}");
    assert_eq!(bare.code, Some(1));
    assert!(
        bare.out.contains("the header X-Signature is missing"),
        "{bare:?}"
    );
}

#[test]
fn a_receiver_without_secrets_reports_that_it_does_not_verify() {
    let directory = tempfile::tempdir().unwrap();
    let listen = ["webhook", "listen", "--port", "0"];
    let receiver = Running::start(tintype(directory.path(), &listen));
    let url = receiver.after("Listening at");
    let output = receiver.after("Not verifying");
    assert!(output.contains("--secret"), "{output}");
    let port = url.trim_end_matches('/').rsplit(':').next().unwrap();
    let taken = ["webhook", "listen", "--port", port];
    let output = run(tintype(directory.path(), &taken), b"").failure();
    assert!(output.contains("choose another port"), "{output}");
    assert_eq!(receiver.stop(), Some(0));
}

#[test]
fn a_lost_response_is_reported_with_whether_the_request_may_have_arrived() {
    let directory = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let generate = |arguments: &[&str]| {
        let fixed = ["generate", "a fox", "--server", &server, "--key", "tt_x"];
        run(
            tintype(directory.path(), &[&fixed, arguments].concat()),
            b"",
        )
        .failure()
    };
    let deposit = || {
        let arguments = [
            "deposit",
            "add",
            "5",
            "--account",
            "01a1fa95-0000-7000-8000-000000000000",
            "--server",
            &server,
            "--token",
            "a-token",
        ];
        run(tintype(directory.path(), &arguments), b"").failure()
    };
    // Accepts two requests and responds to none.
    let taking = std::thread::spawn(move || {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4_096]);
        }
    });
    let output = generate(&[]);
    assert!(output.contains("may have arrived"), "{output}");
    assert!(output.contains("--idempotency-key "), "{output}");
    let output = generate(&["--idempotency-key", "mine"]);
    assert!(output.contains("--idempotency-key mine"), "{output}");
    taking.join().unwrap();
    // A request that the command cannot send did certainly not arrive.
    let output = generate(&["--idempotency-key", "two\nlines"]);
    assert!(output.contains("the idempotency key contains"), "{output}");
    assert!(!output.contains("arrive"), "{output}");
    // Now no server listens.
    let output = generate(&[]);
    assert!(output.contains("did not arrive, and nothing"), "{output}");
    assert!(!output.contains("--idempotency-key"), "{output}");
    // An earlier command may have used this key.
    let output = generate(&["--idempotency-key", "mine"]);
    assert!(output.contains("the same --idempotency-key"), "{output}");
    assert!(!output.contains("nothing is charged"), "{output}");
    let output = deposit();
    assert!(output.contains("tintype serve"), "{output}");
    assert!(!output.contains("may have executed"), "{output}");
}

#[test]
fn an_unreadable_data_directory_is_not_called_absent() {
    let directory = tempfile::tempdir().unwrap();
    // Also for root, who can read every directory.
    std::os::unix::fs::symlink("data", directory.path().join("data")).unwrap();
    for arguments in [
        &["verify"][..],
        &["backup", "saved"],
        &["export", "--output", "records.jsonl"],
        &["move", "--to", "elsewhere"],
    ] {
        let output = run(tintype(directory.path(), arguments), b"").failure();
        assert!(
            output.contains("cannot read the data directory data"),
            "{arguments:?}: {output}"
        );
    }
}

#[test]
fn a_server_that_cannot_start_reports_how_to_fix_it() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file"), b"").unwrap();
    for (listen, data_dir, expected) in [
        ("foo", "data", "--listen: expected host:port such as"),
        // An address for documentation, which no machine has.
        (
            "203.0.113.5:80",
            "data",
            "no network interface of this machine has",
        ),
        (
            "127.0.0.1:0",
            "file",
            "cannot use the data directory file: a file is in its place; choose",
        ),
    ] {
        let arguments = ["serve", "--listen", listen, "--data-dir", data_dir];
        let output = run(tintype(directory.path(), &arguments), b"").failure();
        assert!(output.contains(expected), "{output}");
        assert!(!output.contains("stop the process"), "{output}");
        assert!(!output.contains("File exists"), "{output}");
    }
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = holder.local_addr().unwrap().to_string();
    let arguments = ["serve", "--listen", &taken];
    let output = run(tintype(directory.path(), &arguments), b"").failure();
    assert!(
        output.contains("stop the process that uses the port"),
        "{output}"
    );
    drop(holder);
}

#[test]
fn an_interrupted_generation_says_how_to_get_its_image() {
    let directory = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let generate = || {
        let fixed = ["generate", "a fox", "--server", &server, "--key", "tt_x"];
        let key = ["--idempotency-key", "mine"];
        Running::start(tintype(directory.path(), &[&fixed[..], &key].concat()))
    };
    let next_request = || -> TcpStream {
        let (mut stream, _) = listener.accept().unwrap();
        assert_ne!(stream.read(&mut [0; 4_096]).unwrap(), 0);
        stream
    };
    let interrupted = |command: Running| {
        let (code, lines) = command.interrupt_and_read();
        assert_eq!(code, Some(1), "{lines:#?}");
        lines.join("\n")
    };
    let repeat = "repeat the command with --idempotency-key mine";
    let command = generate();
    let unanswered = next_request();
    let output = interrupted(command);
    assert!(output.contains("the request may have arrived"), "{output}");
    assert!(output.contains(repeat), "{output}");
    drop(unanswered);

    let command = generate();
    let body = r#"{"job_id":"01a1fa95-0000-7000-8000-000000000000","status":"queued","status_url":"/api/v1/jobs/x"}"#;
    let length = body.len();
    let head =
        format!("HTTP/1.1 202 Accepted\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    let mut accepted = next_request();
    accepted.write_all((head + body).as_bytes()).unwrap();
    let poll = next_request();
    let output = interrupted(command);
    assert!(output.contains("the server accepted the job"), "{output}");
    assert!(
        output.contains(&format!("{repeat} to get its image")),
        "{output}"
    );
    drop((accepted, poll));
}

#[test]
fn an_image_that_does_not_fit_on_the_disk_leaves_no_part_of_it() {
    let service = Service::start();
    // Files may have 512 bytes or 1 KiB.
    let limited = "ulimit -f 1; trap '' XFSZ; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command
        .args(["-c", limited, env!("CARGO_BIN_EXE_tintype")])
        .args(["generate", "a fox", "--model", "fast"])
        .args(["--output", "fox.png", "--server", &service.url])
        .env("TINTYPE_KEY", &service.key)
        .current_dir(service.directory.path());
    let output = run(command, b"").failure();
    assert!(output.contains("cannot write fox.png"), "{output}");
    assert!(!service.directory.path().join("fox.png").exists());
    service.stop();
}
