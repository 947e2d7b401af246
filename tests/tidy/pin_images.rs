//! The command that pins container images by digest, run with a fake Docker.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// Prints a digest that depends on the image name.
const DOCKER: &str = "#!/bin/sh\nfor last; do :; done\nprintf 'sha256:%064d\\n' \"${#last}\"\n";

fn run(deploy: &Path, docker: &str) -> (bool, String) {
    let tools = tempfile::tempdir().expect("a directory");
    let program = tools.path().join("docker");
    fs::write(&program, docker).expect("written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("executable");
    let usual = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{usual}", tools.path().display());
    let run = Command::new(deploy.join("pin-images"))
        .env("PATH", path)
        .output();
    let run = run.expect("it runs");
    (
        run.status.success(),
        String::from_utf8_lossy(&run.stderr).into_owned(),
    )
}

/// Files that name third-party images.
const FILES: [&str; 3] = [
    "Dockerfile",
    "compose.monitoring.yaml",
    "compose.nodes.yaml",
];

/// The lines of these files that name an image.
fn images(deploy: &Path) -> Vec<String> {
    let read = |name: &&str| fs::read_to_string(deploy.join(name)).expect("a file");
    let text: String = FILES.iter().map(read).collect();
    let names = |line: &&str| {
        let line = line.trim();
        let is_named = ["FROM ", "# syntax=", "image:"]
            .iter()
            .any(|it| line.starts_with(it));
        is_named && line != "image: tintype"
    };
    text.lines().filter(names).map(str::to_owned).collect()
}

#[test]
fn every_image_is_pinned_by_its_digest_and_pinning_is_idempotent() {
    let copy = tempfile::tempdir().expect("a directory");
    let deploy = copy.path();
    for name in FILES.into_iter().chain(["pin-images"]) {
        let own = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("deploy")
            .join(name);
        fs::copy(own, deploy.join(name)).expect("copied");
    }
    let before = images(deploy);
    assert_eq!(before.len(), 8, "{before:?}");
    for line in &before {
        let digest = line.split_once("@sha256:").map(|(_, rest)| rest);
        let digest = digest.and_then(|it| it.split_whitespace().next());
        let is_whole = |it: &str| it.len() == 64 && it.bytes().all(|it| it.is_ascii_hexdigit());
        assert!(
            digest.is_some_and(is_whole),
            "named by a tag that can move: {line}"
        );
    }
    assert_eq!(run(deploy, DOCKER), (true, String::new()));
    let pinned = images(deploy);
    for (was, is) in before.iter().zip(&pinned) {
        let name = was.split('@').next().expect("a name");
        assert!(is.starts_with(&format!("{name}@sha256:")), "{is}");
        assert_eq!(was.contains(" AS build"), is.contains(" AS build"));
    }
    assert!(run(deploy, DOCKER).0);
    assert_eq!(images(deploy), pinned, "pinned again");
    let (ok, said) = run(deploy, "#!/bin/sh\necho nothing\n");
    assert!(
        !ok && said.contains("gave no digest of docker/dockerfile:1"),
        "{said}"
    );
    assert_eq!(images(deploy), pinned);
}
