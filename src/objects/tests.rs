//! Tests of the whole store over a local directory.

use super::probe::PROBE_LIFETIME;
use super::*;
use futures_util::{FutureExt as _, TryStreamExt};
use object_store::PutPayload;

fn signing_key() -> FileSigningKey {
    FileSigningKey::from_bytes(&[7; 32])
}

fn local() -> (tempfile::TempDir, ObjectStorage) {
    let dir = tempfile::tempdir().unwrap();
    let objects = ObjectStorage::open("", dir.path(), "http://host/", signing_key()).unwrap();
    (dir, objects)
}

fn cloud(objects: &str, variables: &[(&str, &str)]) -> Result<ObjectStorage, ObjectError> {
    let variables = variables
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_string()));
    let nowhere = FilePath::new("/nonexistent");
    ObjectStorage::open_with(objects, nowhere, "http://host", signing_key(), variables)
}

const S3_KEYS: [(&str, &str); 2] = [
    ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
    ("AWS_SECRET_ACCESS_KEY", "hush"),
];

async fn keys(objects: &ObjectStorage, prefix: &str) -> Vec<String> {
    let listed: Vec<ObjectMeta> = objects.list(prefix).try_collect().await.unwrap();
    let mut keys: Vec<_> = listed
        .into_iter()
        .map(|meta| meta.location.to_string())
        .collect();
    keys.sort();
    keys
}

#[test]
fn only_the_access_key_of_a_user_signs_urls_for_their_whole_lifetime() {
    let warned = |bucket: &str, variables: &[(&str, &str)]| {
        let variables: Vec<_> = variables
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        backend::warning(&bucket.parse().unwrap(), &variables).is_some()
    };
    let token = [S3_KEYS[0], S3_KEYS[1], ("AWS_SESSION_TOKEN", "hush")];
    assert!(!warned("s3://bucket", &S3_KEYS));
    assert!(warned("s3://bucket", &token));
    assert!(warned("s3://bucket", &[("AWS_REGION", "eu-central-1")]));
    assert!(!warned("gs://bucket", &[]));
}

#[tokio::test]
async fn an_object_is_stored_read_listed_and_deleted() {
    let (dir, objects) = local();
    assert!(objects.is_local());
    for key in [
        "results/a.png",
        "results/b c.png",
        "inputs/job/0",
        "other/画像",
    ] {
        let bytes = Bytes::from(key.to_owned());
        objects.put(key, bytes.clone(), "image/png").await.unwrap();
        assert_eq!(objects.get(key).await.unwrap(), bytes);
        assert_eq!(objects.head(key).await.unwrap().size, bytes.len() as u64);
        assert!(dir.path().join("objects").join(key).is_file());
    }
    assert_eq!(
        keys(&objects, "results").await,
        ["results/a.png", "results/b c.png"]
    );
    assert_eq!(keys(&objects, "").await.len(), 4);
    assert!(keys(&objects, "nothing").await.is_empty());
    objects.delete("inputs/job/0").await.unwrap();
    objects.delete("inputs/job/0").await.unwrap();
    assert!(!dir.path().join("objects/inputs").exists());
    let missing = objects.get("inputs/job/0").await;
    assert!(matches!(missing, Err(ObjectError::NotFound { .. })));
    let missing = objects.head("inputs/job/0").await;
    assert!(matches!(missing, Err(ObjectError::NotFound { .. })));
}

#[tokio::test]
async fn a_second_write_replaces_the_first() {
    let (_dir, objects) = local();
    let key = "results/a.png";
    for text in ["first and longer", "second", ""] {
        objects
            .put(key, Bytes::from(text), "image/png")
            .await
            .unwrap();
        assert_eq!(objects.get(key).await.unwrap(), text);
    }
}

#[tokio::test]
async fn bad_keys_reach_no_store() {
    let (_dir, objects) = local();
    for key in ["", "../a", "/a", "a//b", "a%2e"] {
        let put = objects.put(key, Bytes::new(), "image/png").await;
        assert!(matches!(put, Err(ObjectError::InvalidKey { .. })), "{key}");
        let got = objects.get(key).await;
        assert!(matches!(got, Err(ObjectError::InvalidKey { .. })), "{key}");
        let signed = objects
            .presign(key, Utc::now(), Duration::from_secs(1))
            .await;
        assert!(
            matches!(signed, Err(ObjectError::InvalidKey { .. })),
            "{key}"
        );
    }
    let listed: Result<Vec<_>, _> = objects.list("..").try_collect().await;
    assert!(matches!(listed, Err(ObjectError::InvalidKey { .. })));
}

#[tokio::test]
async fn a_streamed_write_through_the_store_is_found_under_its_key() {
    let (_dir, objects) = local();
    let location = Path::parse("inputs/job/0").unwrap();
    let mut upload = objects.store().put_multipart(&location).await.unwrap();
    for part in ["one ", "two"] {
        upload.put_part(PutPayload::from(part)).await.unwrap();
    }
    assert!(keys(&objects, "").await.is_empty());
    upload.complete().await.unwrap();
    assert_eq!(objects.get("inputs/job/0").await.unwrap(), "one two");
}

#[tokio::test]
async fn local_addresses_begin_with_the_public_url() {
    let (_dir, objects) = local();
    let now = DateTime::from_timestamp(1_000, 0).unwrap();
    let url = objects
        .presign("results/a b.png", now, Duration::from_secs(86_400))
        .await
        .unwrap();
    let expected = "http://host/files/results/a%20b.png?expires=87400&signature=";
    assert!(url.starts_with(expected), "{url}");
    assert_eq!(url.len(), expected.len() + 64);
}

#[tokio::test]
async fn only_expired_results_are_deleted() {
    let (dir, objects) = local();
    for n in 0..5 {
        let key = format!("results/{n}.png");
        objects
            .put(&key, Bytes::from("x"), "image/png")
            .await
            .unwrap();
    }
    objects
        .put("inputs/a", Bytes::from("x"), "image/png")
        .await
        .unwrap();
    let old = std::time::SystemTime::now() - Duration::from_secs(1_000);
    for key in [
        "results/0.png",
        "results/1.png",
        "results/2.png",
        "inputs/a",
    ] {
        let path = dir.path().join("objects").join(key);
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(old).unwrap();
    }
    let limit = Utc::now() - chrono::TimeDelta::seconds(500);
    assert_eq!(objects.expire(RESULTS, limit, 0).await.unwrap(), 0);
    assert_eq!(objects.expire(RESULTS, limit, 2).await.unwrap(), 2);
    assert_eq!(objects.expire(RESULTS, limit, 2).await.unwrap(), 1);
    assert_eq!(objects.expire(RESULTS, limit, 2).await.unwrap(), 0);
    let left = keys(&objects, "").await;
    assert_eq!(left, ["inputs/a", "results/3.png", "results/4.png"]);
}

#[tokio::test(start_paused = true)]
async fn a_probe_is_shared_for_a_second() {
    let (dir, objects) = local();
    objects.recent_probe().await.unwrap();
    std::fs::remove_dir_all(dir.path()).unwrap();
    objects.recent_probe().await.unwrap();
    tokio::time::advance(PROBE_LIFETIME).await;
    let reason = objects.recent_probe().await.unwrap_err();
    assert_eq!(reason, "the object store cannot be written");
    assert!(!objects.is_usable());
}

#[tokio::test]
async fn a_probe_ends_and_is_shared_even_if_its_caller_disconnects() {
    let (dir, objects) = local();
    assert!(objects.recent_probe().now_or_never().is_none());
    let last = objects.inner.probes.last.lock().await;
    assert!(matches!(last.outcome, Some((_, Ok(())))), "{last:?}");
    let files = std::fs::read_dir(dir.path().join("objects")).unwrap();
    assert_eq!(files.count(), 0);
}

#[tokio::test]
async fn the_probe_reports_a_missing_directory() {
    let (dir, objects) = local();
    objects.probe().await.unwrap();
    std::fs::remove_dir(dir.path().join("objects")).unwrap();
    let error = objects.probe().await.unwrap_err().to_string();
    assert!(error.contains("objects"), "{error}");
}

#[tokio::test]
async fn after_a_refused_write_the_store_is_usable_once_a_probe_writes_as_much() {
    let (dir, objects) = local();
    objects.report_refused_write(5);
    assert!(!objects.is_usable());
    let obstacle = dir.path().join("objects/results");
    std::fs::write(&obstacle, "").unwrap();
    objects.probe().await.unwrap_err();
    assert!(!objects.is_usable());
    std::fs::remove_file(&obstacle).unwrap();
    objects.probe().await.unwrap();
    assert!(objects.is_usable());
    assert!(keys(&objects, "").await.is_empty());
}

/// A link that is too slow for the probe may still store the image itself.
#[tokio::test]
async fn after_a_refused_write_the_store_is_usable_once_it_takes_as_much() {
    let (_dir, objects) = local();
    objects.report_refused_write(16 << 20);
    let put = |key, bytes| objects.put(key, Bytes::from(vec![0; bytes]), "image/png");
    put("results/a.png", 1 << 20).await.unwrap();
    assert!(!objects.is_usable(), "a smaller object");
    put("inputs/a/0.png", 16 << 20).await.unwrap();
    assert!(!objects.is_usable(), "another prefix");
    put("results/a.png", 16 << 20).await.unwrap();
    assert!(objects.is_usable());
}

#[tokio::test]
async fn an_interrupted_upload_is_cleared_at_the_next_start() {
    let (dir, objects) = local();
    objects
        .put("results/a.png", Bytes::from("x"), "image/png")
        .await
        .unwrap();
    let unfinished = dir.path().join("objects/results/b.png#1");
    std::fs::write(&unfinished, "half").unwrap();
    assert_eq!(keys(&objects, "").await, ["results/a.png"]);
    assert_eq!(
        objects.remove_unfinished_uploads("", None).await.unwrap(),
        1
    );
    assert!(!unfinished.exists());
    assert_eq!(objects.get("results/a.png").await.unwrap(), "x");
}

#[test]
fn a_data_directory_that_is_a_file_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = ObjectStorage::open("", file.path(), "", signing_key())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(&file.path().display().to_string()),
        "{error}"
    );
}

#[test]
fn incomplete_credentials_are_refused_with_the_missing_name() {
    for (name, missing) in [
        ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
        ("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"),
    ] {
        let variables = [(name, "hush"), (missing, "")];
        let error = cloud("s3://bucket", &variables).unwrap_err().to_string();
        let expected =
            format!("storage.objects = \"s3://bucket\" needs the environment variable {missing}");
        assert!(error.starts_with(&expected), "{error}");
        assert!(!error.contains("hush"));
    }
    let error = cloud("az://container", &[]).unwrap_err().to_string();
    assert!(error.contains("AZURE_STORAGE_ACCOUNT_NAME"), "{error}");
}

#[test]
fn an_endpoint_without_tls_needs_permission() {
    for endpoint in ["AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AWS_ENDPOINT_URL_S3"] {
        let mut variables = S3_KEYS.to_vec();
        variables.push((endpoint, "http://127.0.0.1:9000"));
        let error = cloud("s3://bucket", &variables).unwrap_err().to_string();
        assert!(error.contains("AWS_ALLOW_HTTP"), "{error}");
        variables.push(("AWS_ALLOW_HTTP", "true"));
        cloud("s3://bucket", &variables).unwrap();
    }
}

#[test]
fn a_faulty_setting_of_a_store_is_reported_under_the_key() {
    let mut variables = S3_KEYS.to_vec();
    variables.push(("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "perhaps"));
    let error = cloud("s3://bucket", &variables).unwrap_err().to_string();
    assert!(
        error.starts_with("storage.objects = \"s3://bucket\": "),
        "{error}"
    );
    assert!(error.contains("perhaps"), "{error}");
    let variables = [("GOOGLE_SERVICE_ACCOUNT", "/nonexistent/key.json")];
    let error = cloud("gs://bucket", &variables).unwrap_err().to_string();
    assert!(error.contains("/nonexistent/key.json"), "{error}");
}

#[tokio::test]
async fn s3_addresses_carry_the_prefix_and_no_secret() {
    let objects = cloud("s3://bucket/some/prefix", &S3_KEYS).unwrap();
    assert!(!objects.is_local());
    let day = Duration::from_secs(86_400);
    let url = objects
        .presign("results/a b.png", Utc::now(), day)
        .await
        .unwrap();
    let expected = "https://s3.us-east-1.amazonaws.com/bucket/some/prefix/results/a%20b.png?";
    assert!(url.starts_with(expected), "{url}");
    assert!(url.contains("X-Amz-Expires=86400"), "{url}");
    assert!(!url.contains("hush"), "{url}");
    assert!(!format!("{objects:?}").contains("hush"));
    let long = Duration::from_secs(MAX_CLOUD_LIFETIME_SECONDS + 1);
    let error = objects.presign("a", Utc::now(), long).await.unwrap_err();
    assert!(error.to_string().contains("results.url_lifetime_seconds"));
}

#[tokio::test]
async fn azure_signs_with_the_account_key_too() {
    let key = "aHVzaA==";
    let variables = [
        ("AZURE_STORAGE_ACCOUNT_NAME", "account"),
        ("AZURE_STORAGE_ACCOUNT_KEY", key),
    ];
    let objects = cloud("az://container/prefix", &variables).unwrap();
    let day = Duration::from_secs(86_400);
    let url = objects
        .presign("results/a.png", Utc::now(), day)
        .await
        .unwrap();
    let expected = "https://account.blob.core.windows.net/container/prefix/results/a.png?";
    assert!(url.starts_with(expected), "{url}");
    assert!(url.contains("sig=") && !url.contains(key), "{url}");
}
