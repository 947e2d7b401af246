//! The store against an S3 server that verifies SigV4, in headers and in presigned URLs.

use bytes::Bytes;
use chrono::{TimeDelta, Utc};
use futures_util::TryStreamExt;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutMultipartOptions, PutPayload};
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tintype::objects::{ObjectError, ObjectStorage, RESULTS};
use tokio::net::TcpListener;

use super::{ACCESS_KEY, DAY, Duration, SECRET_KEY, http, open};

const KEY: &str = "results/0198c0de-0000-7000-8000-000000000001.png";

/// A server with the bucket `pictures`, whose objects are files below `dir`.
pub struct S3 {
    pub endpoint: String,
    pub dir: tempfile::TempDir,
    calls: Arc<Mutex<Calls>>,
}

#[derive(Default)]
struct Calls {
    made: Vec<String>,
    /// Calls, each with the number of its first ones that are answered. Later ones are denied.
    limits: HashMap<String, usize>,
}

impl Calls {
    /// Records a call. Is it answered?
    fn admits(&mut self, call: String) -> bool {
        self.made.push(call.clone());
        let made = self.made.iter().filter(|it| **it == call).count();
        let limit = self.limits.get(&call);
        limit.is_none_or(|answered| made <= *answered)
    }
}

impl S3 {
    pub async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("pictures")).unwrap();
        let files = s3s_fs::FileSystem::new(dir.path()).unwrap();
        let mut builder = S3ServiceBuilder::new(files);
        builder.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        let service = builder.build();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let calls = Arc::new(Mutex::new(Calls::default()));
        let recorded = Arc::clone(&calls);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (service, calls) = (service.clone(), Arc::clone(&recorded));
                let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
                    let call = format!("{} {}", request.method(), request.uri().path());
                    let is_admitted = calls.lock().unwrap().admits(call);
                    let answer = is_admitted.then(|| Service::call(&service, request));
                    async {
                        match answer {
                            Some(answer) => answer.await,
                            None => {
                                let mut denied = hyper::Response::new(s3s::Body::empty());
                                *denied.status_mut() = hyper::StatusCode::FORBIDDEN;
                                Ok(denied)
                            }
                        }
                    }
                });
                tokio::spawn(async move {
                    let http = Builder::new(TokioExecutor::new());
                    let _ = http.serve_connection(TokioIo::new(socket), service).await;
                });
            }
        });
        Self {
            endpoint,
            dir,
            calls,
        }
    }

    /// Denies a call, such as `GET /pictures/results/a.png`, after it was answered so often. Forgets the calls before.
    pub fn deny_after(&self, answered: usize, call: String) {
        *self.calls.lock().unwrap() = Calls {
            made: Vec::new(),
            limits: HashMap::from([(call, answered)]),
        };
    }

    /// Denies these calls from the first one on. Forgets the calls before.
    pub fn deny(&self, calls: impl IntoIterator<Item = String>) {
        *self.calls.lock().unwrap() = Calls {
            made: Vec::new(),
            limits: calls.into_iter().map(|it| (it, 0)).collect(),
        };
    }

    /// The calls since the last one of this method, in order. Admits all calls again.
    pub fn take_calls(&self) -> Vec<String> {
        std::mem::take(&mut *self.calls.lock().unwrap()).made
    }

    fn open(&self, objects: &str) -> ObjectStorage {
        open(objects, &self.endpoint, &[]).unwrap()
    }

    fn has(&self, path: &str) -> bool {
        self.dir.path().join("pictures").join(path).is_file()
    }
}

async fn status(url: &str) -> u16 {
    http().get(url).send().await.unwrap().status().as_u16()
}

async fn keys(objects: &ObjectStorage, prefix: &str) -> Vec<String> {
    let listed = objects
        .list(prefix)
        .map_ok(|meta| meta.location.to_string());
    let mut keys: Vec<_> = listed.try_collect().await.unwrap();
    keys.sort();
    keys
}

#[tokio::test]
async fn objects_are_written_read_listed_and_deleted_below_the_prefix() {
    let s3 = S3::start().await;
    for (address, prefix) in [("s3://pictures", ""), ("s3://pictures/a/b/", "a/b/")] {
        let objects = s3.open(address);
        objects.probe().await.unwrap();
        let image = Bytes::from_static(b"image");
        for key in [KEY, "results/b c.png", "inputs/größe/0"] {
            objects.put(key, image.clone(), "image/png").await.unwrap();
            assert!(s3.has(&format!("{prefix}{key}")), "{address} {key}");
            assert_eq!(objects.get(key).await.unwrap(), image);
            assert_eq!(objects.head(key).await.unwrap().size, 5);
        }
        assert_eq!(keys(&objects, "results").await, [KEY, "results/b c.png"]);
        objects.delete(KEY).await.unwrap();
        objects.delete(KEY).await.unwrap();
        assert!(!s3.has(&format!("{prefix}{KEY}")));
        let missing = objects.get(KEY).await;
        assert!(
            matches!(missing, Err(ObjectError::NotFound { .. })),
            "{missing:?}"
        );
    }
}

#[tokio::test]
async fn a_presigned_address_works_without_credentials_and_for_that_object_alone() {
    let s3 = S3::start().await;
    let objects = s3.open("s3://pictures/tintype");
    let other = KEY.replace("0001", "0002");
    for key in [KEY, other.as_str(), "results/a b ü.png"] {
        let bytes = Bytes::from(key.to_owned());
        objects.put(key, bytes, "image/png").await.unwrap();
        let url = objects.presign(key, Utc::now(), DAY).await.unwrap();
        assert!(!url.contains(SECRET_KEY));
        let answer = http().get(&url).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{key}");
        assert_eq!(answer.headers()["content-type"], "image/png");
        let disposition = answer.headers()["content-disposition"].to_str().unwrap();
        assert!(
            disposition.starts_with("inline; filename="),
            "{disposition}"
        );
        assert_eq!(answer.text().await.unwrap(), key);
    }
    let url = objects.presign(KEY, Utc::now(), DAY).await.unwrap();
    let (unsigned, signature) = url.split_once("X-Amz-Signature=").unwrap();
    let flipped = if signature.starts_with('0') { "1" } else { "0" };
    for (what, changed) in [
        ("other key", url.replace("0001", "0002")),
        (
            "other time",
            url.replace("X-Amz-Expires=86400", "X-Amz-Expires=86401"),
        ),
        (
            "signature",
            format!("{unsigned}X-Amz-Signature={flipped}{}", &signature[1..]),
        ),
        (
            "no address at all",
            url.split_once('?').unwrap().0.to_owned(),
        ),
    ] {
        assert_ne!(changed, url, "{what}");
        assert_eq!(status(&changed).await, 403, "{what}");
    }
    let removal = http().delete(&url).send().await.unwrap();
    assert_eq!(removal.status(), 403);
    assert!(s3.has(&format!("tintype/{KEY}")));
}

#[tokio::test]
async fn a_presigned_address_expires() {
    let s3 = S3::start().await;
    let objects = s3.open("s3://pictures");
    objects
        .put(KEY, Bytes::from_static(b"x"), "image/png")
        .await
        .unwrap();
    let second = Duration::from_secs(1);
    let url = objects.presign(KEY, Utc::now(), second).await.unwrap();
    for _ in 0..100 {
        match status(&url).await {
            403 => return,
            other => assert_eq!(other, 200),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("an address for one second still works");
}

#[tokio::test]
async fn a_streamed_upload_arrives_below_the_prefix_with_its_type() {
    let s3 = S3::start().await;
    let objects = s3.open("s3://pictures/tintype");
    let options = PutMultipartOptions {
        attributes: objects.attributes("inputs/job/0", "image/webp"),
        ..PutMultipartOptions::default()
    };
    let location = Path::parse("inputs/job/0").unwrap();
    let store = objects.store();
    let mut upload = store.put_multipart_opts(&location, options).await.unwrap();
    let part = vec![7; 5 * 1_024 * 1_024];
    upload.put_part(PutPayload::from(part)).await.unwrap();
    upload.put_part(PutPayload::from("end")).await.unwrap();
    upload.complete().await.unwrap();
    assert!(s3.has("tintype/inputs/job/0"));
    let meta = store.head(&location).await.unwrap();
    assert_eq!(meta.size, 5 * 1_024 * 1_024 + 3);
    assert!(objects.get("inputs/job/0").await.unwrap().ends_with(b"end"));
}

#[tokio::test]
async fn a_missing_bucket_is_named_at_start_up() {
    let s3 = S3::start().await;
    let objects = s3.open("s3://no-such-bucket/x");
    let error = objects.probe().await.unwrap_err();
    assert!(
        matches!(error, ObjectError::MissingBucket { .. }),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains("storage.objects = \"s3://no-such-bucket/x\""),
        "{text}"
    );
}

#[tokio::test]
async fn wrong_credentials_are_a_fault_that_shows_no_secret() {
    let s3 = S3::start().await;
    let wrong = [("AWS_SECRET_ACCESS_KEY", "another-secret")];
    let objects = open("s3://pictures", &s3.endpoint, &wrong).unwrap();
    let put = objects.put(KEY, Bytes::new(), "image/png").await;
    for error in [put.unwrap_err(), objects.probe().await.unwrap_err()] {
        assert!(matches!(error, ObjectError::Store { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("s3://pictures"), "{text}");
        assert!(!text.contains("secret"), "{text}");
        assert!(text.len() < 700, "{text}");
    }
}

#[tokio::test]
async fn expired_results_are_removed_from_the_bucket() {
    let s3 = S3::start().await;
    let objects = s3.open("s3://pictures/tintype");
    for n in 0..5 {
        let key = format!("results/0198c0de-0000-7000-8000-00000000000{n}.png");
        objects
            .put(&key, Bytes::from_static(b"x"), "image/png")
            .await
            .unwrap();
    }
    objects
        .put("inputs/a", Bytes::from_static(b"x"), "image/png")
        .await
        .unwrap();
    let (past, future) = (TimeDelta::hours(-1), TimeDelta::hours(1));
    assert_eq!(
        objects
            .expire(RESULTS, Utc::now() + past, 10)
            .await
            .unwrap(),
        0
    );
    assert_eq!(
        objects
            .expire(RESULTS, Utc::now() + future, 3)
            .await
            .unwrap(),
        3
    );
    assert_eq!(keys(&objects, "results").await.len(), 2);
    assert_eq!(
        objects
            .expire(RESULTS, Utc::now() + future, 3)
            .await
            .unwrap(),
        2
    );
    assert_eq!(keys(&objects, "").await, ["inputs/a"]);
}
