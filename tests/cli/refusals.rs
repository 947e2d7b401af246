//! What the commands say when they cannot do what they are asked for.

use crate::support::{Running, Service, run, tintype};
use std::io::Read as _;
use std::net::TcpListener;

#[test]
fn a_server_that_is_not_there_or_refuses_the_token_is_named() {
    let directory = tempfile::tempdir().unwrap();
    // Bound and closed again, so that nobody answers there.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let nobody = format!("http://127.0.0.1:{port}");
    let list = ["webhook", "list", "--server", &nobody];
    let said = run(tintype(directory.path(), &list), b"").bad();
    for part in ["--token", "TINTYPE_ADMIN_TOKEN", "data/admin-token"] {
        assert!(said.contains(part), "{said}");
    }
    let mut command = tintype(directory.path(), &list);
    command.env("TINTYPE_ADMIN_TOKEN", "token-of-the-environment-0123456789");
    let said = run(command, b"").bad();
    for part in [&nobody, "connection refused", "tintype serve"] {
        assert!(said.contains(part), "{said}");
    }
    let other = ["delivery", "list", "--server", "http://192.0.2.1"];
    std::fs::create_dir(directory.path().join("data")).unwrap();
    std::fs::write(directory.path().join("data/admin-token"), "of-the-file").unwrap();
    let said = run(tintype(directory.path(), &other), b"").bad();
    assert!(said.contains("is not sent to it"), "{said}");

    let service = Service::start();
    let wrong = run(
        service.command(&["webhook", "list", "--token", "wrong"]),
        b"",
    )
    .bad();
    assert!(
        wrong.contains("--token") && !wrong.contains("wrong"),
        "{wrong}"
    );
    service.stop();
}

#[test]
fn what_does_not_exist_or_is_ambiguous_is_said() {
    let service = Service::start();
    let unknown = "01a1fa95-0000-7000-8000-000000000000";
    let refused = |words: &[&str]| run(service.command(words), b"").bad();
    for (words, reason) in [
        (&["webhook", "rm", unknown][..], "no such webhook"),
        (&["webhook", "test", unknown], "no such webhook"),
        (&["webhook", "rotate", unknown], "no such webhook"),
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
        (&["webhook", "add", "ftp://x/"], "url"),
        (&["webhook", "add", "http://10.0.0.1/"], "egress"),
    ] {
        let said = refused(words);
        assert!(said.contains(reason), "{words:?}: {said}");
    }
    for words in [
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
        assert_eq!(run(service.command(words), b"").code, Some(2), "{words:?}");
    }
    service.stop();
}

#[test]
fn what_is_no_delivery_or_no_secret_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let verify = |words: &[&str], input: &[u8]| {
        let words = [&["webhook-verify"], words].concat();
        run(tintype(directory.path(), &words), input)
    };
    let secret = format!("whsec_{}=", "A".repeat(43));
    let said = verify(&["--secret", &secret], b"{}").bad();
    assert!(said.contains("blank line"), "{said}");
    let said = verify(&["--secret", "whsec_hush"], b"").bad();
    assert!(
        said.contains("--secret") && !said.contains("hush"),
        "{said}"
    );
    let said = verify(&["--secret-file", "nowhere"], b"").bad();
    assert!(said.contains("nowhere"), "{said}");
    assert_eq!(verify(&[], b"").code, Some(2));
    let bare = verify(&["--secret", &secret], b"Host: x\n\n{}");
    assert_eq!(bare.code, Some(1));
    assert!(
        bare.out.contains("the header X-Signature is missing"),
        "{bare:?}"
    );
}

#[test]
fn a_receiver_without_secrets_says_that_it_does_not_verify() {
    let directory = tempfile::tempdir().unwrap();
    let listen = ["webhook", "listen", "--port", "0"];
    let receiver = Running::start(tintype(directory.path(), &listen));
    let url = receiver.after("Listening at");
    let said = receiver.after("Not verifying");
    assert!(said.contains("--secret"), "{said}");
    let port = url.trim_end_matches('/').rsplit(':').next().unwrap();
    let taken = ["webhook", "listen", "--port", port];
    let said = run(tintype(directory.path(), &taken), b"").bad();
    assert!(said.contains("choose another port"), "{said}");
    assert_eq!(receiver.stop(), Some(0));
}

#[test]
fn a_call_without_an_answer_says_whether_it_may_have_arrived() {
    let directory = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let generate = |words: &[&str]| {
        let fixed = ["generate", "a fox", "--server", &server, "--key", "tt_x"];
        run(tintype(directory.path(), &[&fixed, words].concat()), b"").bad()
    };
    let deposit = || {
        let words = [
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
        run(tintype(directory.path(), &words), b"").bad()
    };
    // Takes two calls and answers none of them.
    let taking = std::thread::spawn(move || {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4_096]);
        }
    });
    let said = generate(&[]);
    assert!(said.contains("may have arrived"), "{said}");
    assert!(said.contains("--idempotency-key "), "{said}");
    let said = generate(&["--idempotency-key", "mine"]);
    assert!(said.contains("--idempotency-key mine"), "{said}");
    taking.join().unwrap();
    // Now no server listens there.
    let said = generate(&[]);
    assert!(said.contains("did not arrive"), "{said}");
    assert!(!said.contains("--idempotency-key"), "{said}");
    let said = deposit();
    assert!(said.contains("tintype serve"), "{said}");
    assert!(!said.contains("may have executed"), "{said}");
}
