//! Backups in a bucket, by the real binary, against an S3 server that checks every signature.

use super::s3::S3;
use super::{ACCESS_KEY, SECRET_KEY};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs the binary on a data directory; the S3 server runs on this thread's runtime meanwhile.
pub async fn run(s3: &S3, dir: &Path, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tintype"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("TINTYPE") || name.starts_with("AWS") {
            command.env_remove(name);
        }
    }
    command
        .args(arguments)
        .current_dir(dir)
        .env("AWS_ACCESS_KEY_ID", ACCESS_KEY)
        .env("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
        .env("AWS_ENDPOINT_URL", &s3.endpoint)
        .env("AWS_ALLOW_HTTP", "true")
        .stdin(Stdio::null());
    let ended = tokio::task::spawn_blocking(move || command.output());
    let Output {
        status,
        stdout,
        stderr,
    } = ended.await.unwrap().unwrap();
    let output = [stdout, stderr].concat();
    (status.success(), String::from_utf8(output).unwrap())
}

#[tokio::test]
async fn a_backup_in_a_bucket_is_checked_restored_and_added_to() {
    let (s3, dir) = (S3::start().await, tempfile::tempdir().unwrap());
    let bucket = "s3://pictures/kept/here";
    let well = async |arguments: &[&str]| {
        let (well, output) = run(&s3, dir.path(), arguments).await;
        assert!(well, "{arguments:?}: {output}");
        output
    };
    let generate = ["generate", "a fox", "--tier", "fast", "--data-dir", "data"];
    well(&generate).await;
    let first = well(&["backup", bucket, "--data-dir", "data"]).await;
    assert!(first.contains("1 newly copied"), "{first}");
    assert!(!first.contains(SECRET_KEY));
    assert!(first.contains("omitted: key files"), "{first}");
    let key_files = || {
        let backups = s3.dir.path().join("pictures/kept/here/backups");
        let backups = std::fs::read_dir(backups).unwrap();
        let backups = backups.map(|it| it.unwrap().path().join("keys"));
        backups.filter(|it| it.exists()).count()
    };
    assert_eq!(key_files(), 0);
    well(&generate).await;
    let second = well(&["backup", bucket, "--data-dir", "data"]).await;
    assert!(
        second.contains("images: 2 (") && second.contains("1 newly copied"),
        "{second}"
    );
    let checked = well(&["verify", "--backup", bucket]).await;
    assert!(checked.contains("2 images") && checked.contains("all invariants hold"));
    well(&["restore", bucket, "--data-dir", "there"]).await;
    let verified = well(&["verify", "--data-dir", "there"]).await;
    assert!(verified.contains("2 images"), "{verified}");
    let signing_key = |place: &str| std::fs::read(dir.path().join(place).join("file-signing-key"));
    assert_ne!(signing_key("there").ok(), signing_key("data").ok());
    let whole = well(&["backup", bucket, "--data-dir", "data", "--with-keys"]).await;
    assert!(whole.contains("key files: "), "{whole}");
    assert_eq!(key_files(), 1);
    well(&["restore", bucket, "--data-dir", "whole"]).await;
    assert_eq!(signing_key("whole").unwrap(), signing_key("data").unwrap());

    let image = std::fs::read_dir(s3.dir.path().join("pictures/kept/here/pictures/results"));
    let image = image.unwrap().next().unwrap().unwrap().path();
    std::fs::write(&image, b"something else").unwrap();
    let (well, output) = run(&s3, dir.path(), &["verify", "--backup", bucket]).await;
    let name = image.file_name().unwrap().to_str().unwrap();
    assert!(!well && output.contains(name), "{output}");
}

#[tokio::test]
async fn a_missing_bucket_of_a_backup_is_named() {
    let (s3, dir) = (S3::start().await, tempfile::tempdir().unwrap());
    let generate = ["generate", "a fox", "--tier", "fast", "--data-dir", "data"];
    assert!(run(&s3, dir.path(), &generate).await.0);
    let backup = ["backup", "s3://elsewhere", "--data-dir", "data"];
    let (well, output) = run(&s3, dir.path(), &backup).await;
    assert!(!well && output.contains("s3://elsewhere"), "{output}");
}

/// The bucket may be what failed.
#[tokio::test]
async fn a_restore_replaces_a_damaged_image_in_the_bucket() {
    let (s3, dir) = (S3::start().await, tempfile::tempdir().unwrap());
    let well = async |arguments: &[&str]| {
        let (well, output) = run(&s3, dir.path(), arguments).await;
        assert!(well, "{arguments:?}: {output}");
    };
    well(&["generate", "a fox", "--tier", "fast", "--data-dir", "data"]).await;
    well(&["backup", "kept", "--data-dir", "data"]).await;
    let config = dir.path().join("live.toml");
    std::fs::write(&config, "[storage]\nobjects = \"s3://pictures/live\"\n").unwrap();
    let restore = ["restore", "kept", "--config", "live.toml", "--data-dir"];
    well(&[&restore[..], &["first"]].concat()).await;
    let objects = std::fs::read_dir(s3.dir.path().join("pictures/live/results")).unwrap();
    let objects: Vec<_> = objects.map(|it| it.unwrap().path()).collect();
    assert_eq!(objects.len(), 1);
    let whole = std::fs::read(&objects[0]).unwrap();
    let mut damaged = whole.clone();
    damaged[100] ^= 1;
    std::fs::write(&objects[0], damaged).unwrap();
    well(&[&restore[..], &["second"]].concat()).await;
    assert_eq!(std::fs::read(&objects[0]).unwrap(), whole);
}
