//! `check-config`

use crate::postgres::SECRET;
use crate::test_directory::{BINARY, CommandOutput, TestDirectory};
use std::fs;

fn check(place: &TestDirectory, arguments: &[&str]) -> CommandOutput {
    let mut command = place.command(BINARY);
    let output = command.arg("check-config").args(arguments).output();
    CommandOutput::of(output.expect("the binary"))
}

#[test]
fn the_effective_configuration_is_printed_with_secrets_masked() {
    let place = TestDirectory::with(&[
        ("JOBS__MAX_RUNS", "7"),
        (
            "ADMIN__TOKEN",
            "a-token-of-the-operator-that-nobody-may-see",
        ),
    ]);
    let text = "[backends.google]\nkind = \"gemini\"\nbase_url = \"http://127.0.0.1:9\"\napi_key = \"a-key-that-nobody-may-see\"\n";
    fs::write(place.path("mine.toml"), text).expect("a file");
    let checked = check(&place, &["--config", "mine.toml"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    for line in [
        "max_runs = 7",
        "[backends.google]",
        "listen = \"127.0.0.1:8080\"",
    ] {
        assert!(checked.out.contains(line), "{line}: {}", checked.out);
    }
    assert!(!checked.out.contains("nobody-may-see"), "{}", checked.out);
    let (warnings, unused) = (&checked.err, "warning: no model uses the backend `google`");
    assert!(warnings.starts_with(unused), "{warnings}");
    assert_eq!(warnings.lines().count(), 1, "{warnings}");
}

#[test]
fn every_fault_is_listed() {
    let place = TestDirectory::with(&[("JOBS__MAX_RUNS", "0")]);
    let text = "[server]\nlisten = \"nowhere\"\nworkers = \"many\"\n[colour]\nred = 1\n";
    fs::write(place.path("config.toml"), text).expect("a file");
    let checked = check(&place, &[]);
    assert_eq!((checked.code, checked.out.as_str()), (Some(1), ""));
    for word in [
        "server.listen",
        "server.workers",
        "colour",
        "max_runs",
        "config.toml",
    ] {
        assert!(checked.err.contains(word), "{word}: {}", checked.err);
    }
}

#[test]
fn files_that_a_server_would_refuse_are_faults() {
    let database = "postgres://127.0.0.1:9/x?sslmode=verify-full&sslrootcert=/nowhere/roots.pem";
    let mut place = TestDirectory::with(&[
        ("STORAGE__URL", database),
        ("STORAGE__OBJECTS", "gs://pictures"),
        ("CLUSTER__SECRET", SECRET),
    ]);
    let credentials = place.path("credentials.json");
    fs::write(&credentials, "{}").expect("a file");
    place.set_variable(
        "GOOGLE_SERVICE_ACCOUNT",
        credentials.to_str().expect("a path"),
    );
    let checked = check(&place, &[]);
    checked.assert_fault(&["sslrootcert `/nowhere/roots.pem`", "gs://pictures"]);
    assert!(checked.out.contains("gs://pictures"), "{checked:?}");
}
