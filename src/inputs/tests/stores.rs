//! Failing object stores, and their distinction from failing fetches.

use super::{
    sample_images::*,
    server::{Act, Server, head, ok},
    support::*,
};
use crate::inputs::limits::InputLimits;
use crate::inputs::upload::discard;
use crate::inputs::{IngestError, MemoryBudget, StoreFault};
use async_trait::async_trait;
use futures_util::{FutureExt, stream::BoxStream};
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
    memory::InMemory, path::Path,
};
use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};
use tintype_storage::domain::ids::AccountId;
use uuid::Uuid;

/// The point at which a store fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    Nothing,
    Put,
    /// Stores the object and then reports an error.
    PutAfterAll,
    Begin,
    /// The n-th part, counted from 0.
    Part(usize),
    Complete,
    /// Never answers a put.
    PutHangs,
}

/// An in-memory store that fails at the given point, and records the start and end of uploads.
#[derive(Debug)]
pub(super) struct Failing {
    inner: InMemory,
    at: At,
    log: Arc<Mutex<Vec<&'static str>>>,
}

impl Failing {
    pub fn at(at: At) -> Arc<Self> {
        Arc::new(Self {
            inner: InMemory::new(),
            at,
            log: Arc::default(),
        })
    }

    pub fn log(&self) -> Vec<&'static str> {
        self.log.lock().clone()
    }
}

impl std::fmt::Display for Failing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("failing store")
    }
}

fn broken() -> Error {
    Error::Generic {
        store: "failing store",
        source: "500 Internal Server Error".into(),
    }
}

#[async_trait]
impl ObjectStore for Failing {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        opts: PutOptions,
    ) -> Result<PutResult> {
        match self.at {
            At::Put => return Err(broken()),
            At::PutHangs => {
                self.log.lock().push("put");
                std::future::pending().await
            }
            _ => {}
        }
        let result = self.inner.put_opts(location, payload, opts).await?;
        if self.at == At::PutAfterAll {
            Err(broken())
        } else {
            Ok(result)
        }
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        if self.at == At::Begin {
            return Err(broken());
        }
        self.log.lock().push("begin");
        Ok(Box::new(FailingUpload {
            inner: self.inner.put_multipart_opts(location, opts).await?,
            at: self.at,
            parts: 0,
            log: Arc::clone(&self.log),
        }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.inner.get_opts(location, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

#[derive(Debug)]
struct FailingUpload {
    inner: Box<dyn MultipartUpload>,
    at: At,
    parts: usize,
    log: Arc<Mutex<Vec<&'static str>>>,
}

#[async_trait]
impl MultipartUpload for FailingUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let part = self.parts;
        self.parts += 1;
        self.log.lock().push("part");
        if self.at == At::Part(part) {
            return async { Err(broken()) }.boxed();
        }
        self.inner.put_part(data)
    }

    async fn complete(&mut self) -> Result<PutResult> {
        if self.at == At::Complete {
            return Err(broken());
        }
        self.log.lock().push("complete");
        self.inner.complete().await
    }

    async fn abort(&mut self) -> Result<()> {
        self.log.lock().push("abort");
        self.inner.abort().await
    }
}

/// 12 MB, which makes three parts.
const LARGE: usize = 12_000_000;

async fn large_server() -> Server {
    let large = png_of(LARGE);
    Server::start(move |path| match path {
        "/large" => ok(&large),
        "/404" => head("HTTP/1.1 404 Not Found\nContent-Length: 0", []),
        "/cut" => {
            let lines = format!("HTTP/1.1 200 OK\nContent-Length: {}", LARGE + 1);
            head(&lines, [Act::Send(large.clone())])
        }
        _ => ok(&png(3, 2)),
    })
    .await
}

#[actix_web::test]
async fn every_store_failure_is_a_storage_error_and_leaves_no_object() {
    let server = large_server().await;
    let small = vec![server.url("/small"); 3];
    let mixed = vec![
        server.url("/small"),
        server.url("/large"),
        server.url("/small"),
    ];
    for (at, urls) in [
        (At::Put, &small),
        (At::PutAfterAll, &small),
        (At::Begin, &mixed),
        (At::Part(0), &mixed),
        (At::Part(1), &mixed),
        (At::Part(2), &mixed),
        (At::Complete, &mixed),
    ] {
        let failing = Failing::at(at);
        let store: Arc<dyn ObjectStore> = failing.clone();
        let error = ingest(&egress(), store.clone(), &prefix(), urls, &limits())
            .await
            .unwrap_err();
        assert!(
            matches!(error, IngestError::Store(StoreFault::Failed(_))),
            "{at:?}: {error}"
        );
        assert!(
            error.to_string().contains("500 Internal Server Error"),
            "{error}"
        );
        assert_eq!(keys(&store).await, [""; 0], "{at:?}");
        let log = failing.log();
        assert_eq!(
            log.iter().filter(|entry| **entry == "begin").count(),
            log.iter().filter(|entry| **entry == "abort").count(),
            "{at:?}: {log:?}"
        );
    }
}

#[actix_web::test]
async fn a_large_image_is_stored_completely_by_a_multipart_upload() {
    let server = large_server().await;
    let failing = Failing::at(At::Nothing);
    let store: Arc<dyn ObjectStore> = failing.clone();
    let urls = [server.url("/large")];
    let images = ingest(&egress(), store.clone(), &prefix(), &urls, &limits())
        .await
        .unwrap();
    assert_eq!(images[0].bytes, LARGE as u64);
    assert_eq!(failing.log(), ["begin", "part", "part", "part", "complete"]);
    let stored = object_store::ObjectStoreExt::get(&store, &Path::from(images[0].key.as_str()))
        .await
        .unwrap();
    assert_eq!(stored.bytes().await.unwrap(), png_of(LARGE));
    discard(store.as_ref(), &images).await;
    assert_eq!(keys(&store).await, [""; 0]);
    // Discarding an already deleted image is not an error.
    discard(store.as_ref(), &images).await;
}

#[actix_web::test]
async fn a_failed_fetch_removes_the_objects_of_the_other_fetches() {
    let server = large_server().await;
    for bad in ["/404", "/cut"] {
        let failing = Failing::at(At::Nothing);
        let store: Arc<dyn ObjectStore> = failing.clone();
        let urls = ["/small", "/large", bad].map(|path| server.url(path));
        let error = ingest(&egress(), store.clone(), &prefix(), &urls, &limits())
            .await
            .unwrap_err();
        assert!(
            matches!(error, IngestError::Invalid(ref faults) if faults.entries.len() == 1),
            "{error}"
        );
        assert_eq!(keys(&store).await, [""; 0], "{bad}");
    }
}

#[actix_web::test]
async fn a_store_that_misses_the_deadline_is_not_blamed_on_the_urls() {
    let server = large_server().await;
    let store: Arc<dyn ObjectStore> = Failing::at(At::PutHangs);
    let limits = InputLimits {
        timeout: Duration::from_secs(1),
        ..limits()
    };
    let urls = [server.url("/small")];
    let error = ingest(&egress(), store, &prefix(), &urls, &limits)
        .await
        .unwrap_err();
    assert!(
        matches!(error, IngestError::Store(StoreFault::TimedOut)),
        "{error}"
    );
}

#[actix_web::test]
async fn a_deadline_that_is_missed_for_memory_is_not_blamed_on_the_store() {
    let server = large_server().await;
    let store: Arc<dyn ObjectStore> = Failing::at(At::PutHangs);
    // Memory for one small image per account at a time.
    let memory = MemoryBudget::new(200_000).of(AccountId(Uuid::nil()), Duration::MAX);
    let limits = InputLimits {
        timeout: Duration::from_secs(1),
        memory,
        ..limits()
    };
    let urls = ["/small", "/small"].map(|path| server.url(path));
    let error = ingest(&egress(), store, &prefix(), &urls, &limits)
        .await
        .unwrap_err();
    assert!(
        matches!(error, IngestError::MemoryUnavailable(_)),
        "{error}"
    );
}

#[actix_web::test]
async fn a_failed_ingestion_leaves_no_file_on_disk() {
    use object_store::local::LocalFileSystem;
    let server = large_server().await;
    let directory = tempfile::tempdir().unwrap();
    let local = LocalFileSystem::new_with_prefix(directory.path())
        .unwrap()
        .with_automatic_cleanup(true);
    let store: Arc<dyn ObjectStore> = Arc::new(local);
    let good = ["/small", "/large"].map(|path| server.url(path));
    let images = ingest(&egress(), store.clone(), &prefix(), &good, &limits())
        .await
        .unwrap();
    assert_eq!(keys(&store).await, ["inputs/job/0.png", "inputs/job/1.png"]);
    discard(store.as_ref(), &images).await;
    for bad in ["/404", "/cut"] {
        let urls = ["/small", "/large", bad].map(|path| server.url(path));
        ingest(&egress(), store.clone(), &prefix(), &urls, &limits())
            .await
            .unwrap_err();
        // Listings do not show staging files, so the test reads the directory itself.
        let files = || {
            let all = std::process::Command::new("find")
                .arg(directory.path())
                .args(["-type", "f"])
                .output()
                .unwrap();
            String::from_utf8(all.stdout).unwrap()
        };
        assert_eq!(files(), "", "{bad}");
    }
}

#[actix_web::test]
async fn an_unwritable_directory_is_a_storage_error() {
    use object_store::local::LocalFileSystem;
    let server = large_server().await;
    let directory = tempfile::tempdir().unwrap();
    // A file in place of a directory fails for every user, including root.
    std::fs::write(directory.path().join("inputs"), b"").unwrap();
    let store: Arc<dyn ObjectStore> =
        Arc::new(LocalFileSystem::new_with_prefix(directory.path()).unwrap());
    let urls = ["/small", "/large"].map(|path| server.url(path));
    let error = ingest(&egress(), store, &prefix(), &urls, &limits())
        .await
        .unwrap_err();
    assert!(
        matches!(error, IngestError::Store(StoreFault::Failed(_))),
        "{error}"
    );
}
