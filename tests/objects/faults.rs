//! Failing stores: each failure becomes an error after a few tries, never a long wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use chrono::Utc;
use futures_util::future::join_all;
use tintype::objects::{FileSigningKey, ObjectError, ObjectStorage, RESULTS};
use tintype_egress::testing::server::{
    ReceivedRequest, Reply, ScriptedServer, response, unreachable_url,
};

use super::{DAY, Duration, open};

/// The first try and the retries that the store is allowed.
const MAX_TRIES: usize = 7;

/// A test that takes longer hangs. The product's own limits are well below.
const PATIENCE: Duration = Duration::from_secs(60);

const NO_BUCKET: &str = "<Error><Code>NoSuchBucket</Code><Message>The specified bucket does not exist</Message></Error>";

const EMPTY_LIST: &str = "<EnumerationResults><Blobs /><NextMarker /></EnumerationResults>";

const EMPTY_S3_LIST: &str = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";

/// The reaction of a failing store to a request.
#[derive(Clone, Copy)]
enum Fault {
    /// Answers with this status line and an empty body.
    Answers(&'static str),
    /// Answers as S3 does for a missing bucket.
    HasNoBucket,
    /// Answers as Azure does for an empty list.
    ListsNothing,
    /// Answers lists as S3 does, and refuses everything else.
    RefusesWrites,
    /// Answers lists as S3 does, and nothing else.
    HoldsWrites,
    /// Serves an object, a piece with each response, and closes the connection before the end.
    CutsOff,
    /// Reads the request and closes the connection.
    HangsUp,
    /// Reads the request and never answers.
    Silent,
}

/// A listening store that fails, with a count of its requests.
struct Failing {
    endpoint: String,
    fault: Fault,
    requests: Arc<AtomicUsize>,
    _server: ScriptedServer,
}

impl Failing {
    fn start(fault: Fault) -> Self {
        let requests = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&requests);
        let server = ScriptedServer::start(move |request| {
            counter.fetch_add(1, Ordering::SeqCst);
            fail(request, fault)
        });
        Self {
            endpoint: server.url(""),
            fault,
            requests,
            _server: server,
        }
    }

    fn open(&self) -> ObjectStorage {
        let timeout: &[_] = match self.fault {
            Fault::Silent => &[("AWS_TIMEOUT", "300ms")],
            _ => &[],
        };
        open("s3://pictures", &self.endpoint, timeout).unwrap()
    }
}

fn fail(request: &ReceivedRequest, fault: Fault) -> Reply {
    Reply::Raw(match fault {
        Fault::Answers(status) => response(status, "", b""),
        Fault::HasNoBucket => response("404 Not Found", "", NO_BUCKET.as_bytes()),
        Fault::ListsNothing => response("200 OK", "", EMPTY_LIST.as_bytes()),
        Fault::RefusesWrites | Fault::HoldsWrites if request.method == "GET" => {
            response("200 OK", "", EMPTY_S3_LIST.as_bytes())
        }
        Fault::RefusesWrites => response("403 Forbidden", "", b""),
        Fault::CutsOff => cut_off(request),
        Fault::HangsUp => Vec::new(),
        Fault::Silent | Fault::HoldsWrites => return Reply::Silence,
    })
}

const OBJECT_BYTES: usize = 12_000;
const PIECE_BYTES: usize = 1_000;

fn cut_off(request: &ReceivedRequest) -> Vec<u8> {
    let range = request.header("range");
    let from = range.and_then(|it| it.strip_prefix("bytes=")?.split('-').next()?.parse().ok());
    let status = match from {
        Some(from) => format!(
            "206 Partial Content\r\ncontent-range: bytes {from}-{}/{OBJECT_BYTES}",
            OBJECT_BYTES - 1
        ),
        None => "200 OK".to_owned(),
    };
    let length = OBJECT_BYTES - from.unwrap_or(0);
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {length}\r\netag: \"a\"\r\nlast-modified: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n"
    );
    let piece = vec![7; PIECE_BYTES.min(length)];
    [head.as_bytes(), &piece].concat()
}

/// An operation, its error, and the number of requests that the store got for it.
type Outcome = (&'static str, ObjectError, usize);

/// Runs every operation concurrently, each against its own failing store.
async fn try_all(fault: Fault) -> Vec<Outcome> {
    let operations = ["put", "get", "head", "delete", "probe", "expire"];
    join_all(operations.map(|operation| try_one(operation, fault))).await
}

async fn try_one(operation: &'static str, fault: Fault) -> Outcome {
    let failing = Failing::start(fault);
    let objects = failing.open();
    let key = "results/a.png";
    let call = async {
        match operation {
            "put" => objects.put(key, Bytes::from("image"), "image/png").await,
            "get" => objects.get(key).await.map(drop),
            "head" => objects.head(key).await.map(drop),
            "delete" => objects.delete(key).await,
            "probe" => objects.probe().await,
            _ => objects.expire(RESULTS, Utc::now(), 10).await.map(drop),
        }
    };
    let outcome = tokio::time::timeout(PATIENCE, call).await;
    let error = outcome.expect(operation).expect_err(operation);
    (operation, error, failing.requests.load(Ordering::SeqCst))
}

async fn assert_store_fault(fault: Fault, tries: std::ops::RangeInclusive<usize>) {
    for (operation, error, tried) in try_all(fault).await {
        assert!(
            matches!(error, ObjectError::Store { .. }),
            "{operation}: {error}"
        );
        assert!(tries.contains(&tried), "{operation} took {tried} tries");
        assert!(error.to_string().contains("s3://pictures"), "{error}");
    }
}

#[tokio::test]
async fn a_store_that_returns_500_is_an_error_after_a_few_tries() {
    assert_store_fault(
        Fault::Answers("500 Internal Server Error"),
        MAX_TRIES..=MAX_TRIES,
    )
    .await;
}

#[tokio::test]
async fn a_store_that_returns_slow_down_is_an_error_after_a_few_tries() {
    assert_store_fault(Fault::Answers("503 Slow Down"), MAX_TRIES..=MAX_TRIES).await;
}

#[tokio::test]
async fn a_store_that_denies_access_is_called_once() {
    assert_store_fault(Fault::Answers("403 Forbidden"), 1..=1).await;
}

#[tokio::test]
async fn a_store_that_closes_the_connection_is_an_error_after_a_few_tries() {
    assert_store_fault(Fault::HangsUp, 1..=MAX_TRIES).await;
}

#[tokio::test]
async fn a_store_that_does_not_respond_is_an_error_after_the_timeout() {
    assert_store_fault(Fault::Silent, 1..=MAX_TRIES).await;
}

#[tokio::test]
async fn an_unreachable_store_is_an_error() {
    let objects = open("s3://pictures", &unreachable_url(), &[]).unwrap();
    let put = objects.put("results/a.png", Bytes::new(), "image/png");
    let put = tokio::time::timeout(PATIENCE, put).await.unwrap();
    assert!(matches!(put, Err(ObjectError::Store { .. })), "{put:?}");
    // Presigning a URL does not call the store.
    let signed = objects.presign("results/a.png", Utc::now(), DAY).await;
    assert!(signed.is_ok(), "{signed:?}");
}

#[tokio::test]
async fn without_credentials_the_error_names_the_variables() {
    let key = FileSigningKey::from_bytes(&[7; 32]);
    let role = ("AWS_METADATA_ENDPOINT".to_owned(), unreachable_url());
    let nowhere = std::path::Path::new("/nonexistent");
    let objects = ObjectStorage::open_with("s3://pictures", nowhere, "", key, [role]).unwrap();
    let probe = tokio::time::timeout(PATIENCE, objects.probe()).await;
    let error = probe.unwrap().unwrap_err();
    assert!(error.reason().contains("no credentials"), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("AWS_ACCESS_KEY_ID"), "{text}");
    assert!(text.contains("AWS_SECRET_ACCESS_KEY"), "{text}");
}

/// Every job would be charged, and no caller would get its image.
#[tokio::test]
async fn credentials_that_cannot_sign_a_url_are_a_fault_of_the_probe() {
    let failing = Failing::start(Fault::ListsNothing);
    let account = [
        ("AZURE_STORAGE_ACCOUNT_NAME", "pictures"),
        ("AZURE_STORAGE_ENDPOINT", &failing.endpoint),
        ("AZURE_ALLOW_HTTP", "true"),
    ];
    let with = |credentials| {
        let variables = [&account[..], &[credentials]].concat();
        open("az://pictures", "", &variables).unwrap()
    };
    let key = with(("AZURE_STORAGE_ACCOUNT_KEY", "c2VjcmV0"));
    key.probe().await.unwrap();
    let token = with(("AZURE_STORAGE_SAS_TOKEN", "sv=2024-11-04&sp=rwdl&sig=hush"));
    let error = token.probe().await.unwrap_err();
    assert!(error.reason().contains("cannot sign"), "{error:?}");
    assert!(!error.to_string().contains("hush"), "{error}");
}

/// Each job would cost a call of its backend, and lose its image.
#[tokio::test]
async fn after_a_refused_write_the_probe_of_a_bucket_writes() {
    let failing = Failing::start(Fault::RefusesWrites);
    let objects = failing.open();
    objects.probe().await.unwrap();
    let put = objects.put("results/a.png", Bytes::from("image"), "image/png");
    put.await.unwrap_err();
    objects.report_refused_write(5);
    assert!(!objects.is_usable());
    let error = objects.probe().await.unwrap_err();
    assert!(error.to_string().contains("writing \"results/0"), "{error}");
    assert!(!objects.is_usable());
}

#[tokio::test]
async fn a_store_that_does_not_take_the_object_of_a_probe_in_time_is_called_too_slow() {
    let failing = Failing::start(Fault::HoldsWrites);
    let objects = open("s3://pictures", &failing.endpoint, &[]).unwrap();
    objects.report_refused_write(5);
    let error = objects.probe().await.unwrap_err();
    assert!(error.reason().contains("too slow"), "{error:?}");
    assert!(!objects.is_usable());
}

/// The same holds for a slow reader, for whom the client ends each request after its timeout.
#[tokio::test]
async fn a_read_continues_for_as_long_as_each_request_brings_bytes() {
    let failing = Failing::start(Fault::CutsOff);
    let objects = open("s3://pictures", &failing.endpoint, &[]).unwrap();
    let read = tokio::time::timeout(PATIENCE, objects.get("results/a.png")).await;
    assert_eq!(read.unwrap().unwrap(), vec![7_u8; OBJECT_BYTES]);
    let requests = failing.requests.load(Ordering::SeqCst);
    assert_eq!(requests, OBJECT_BYTES / PIECE_BYTES);
    assert!(requests > MAX_TRIES);
}

#[tokio::test]
async fn reading_an_object_that_the_store_has_lost_is_a_not_found_error() {
    let failing = Failing::start(Fault::Answers("404 Not Found"));
    let objects = failing.open();
    let got = objects.get("results/a.png").await;
    assert!(matches!(got, Err(ObjectError::NotFound { .. })), "{got:?}");
    let head = objects.head("results/a.png").await;
    assert!(
        matches!(head, Err(ObjectError::NotFound { .. })),
        "{head:?}"
    );
}

#[tokio::test]
async fn a_missing_bucket_is_distinguished_from_a_missing_object() {
    for (operation, error, tried) in try_all(Fault::HasNoBucket).await {
        // The answer to HEAD has no body in which S3 could give a reason beyond "not found".
        if operation != "head" {
            assert!(
                matches!(error, ObjectError::MissingBucket { .. }),
                "{operation}: {error}"
            );
        }
        assert_eq!(tried, 1, "{operation}");
    }
}
