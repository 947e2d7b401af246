//! An S3 bucket on loopback, for services with their records in a database.

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use std::thread::JoinHandle;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

const ACCESS_KEY: &str = "tests";
pub const SECRET_KEY: &str = "tests-of-recovery";

/// A server with the bucket `pictures`. Dropping it stops the server.
pub struct Bucket {
    pub endpoint: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    _objects: TempDir,
}

impl Bucket {
    pub fn start() -> Self {
        let objects = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(objects.path().join("pictures")).expect("a bucket");
        let files = s3s_fs::FileSystem::new(objects.path()).expect("a file system");
        let mut builder = S3ServiceBuilder::new(files);
        builder.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        let service = builder.build();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
        listener.set_nonblocking(true).expect("not blocking");
        let (stop, stopped) = oneshot::channel();
        let serve = async move {
            let listener = TcpListener::from_std(listener).expect("a listener");
            while let Ok((socket, _)) = listener.accept().await {
                let service = service.clone();
                tokio::spawn(async move {
                    let http = Builder::new(TokioExecutor::new());
                    // A killed caller closes its connection.
                    drop(http.serve_connection(TokioIo::new(socket), service).await);
                });
            }
        };
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                tokio::select! {
                    () = serve => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            endpoint,
            stop: Some(stop),
            thread: Some(thread),
            _objects: objects,
        }
    }

    /// The environment of a service that uses it, in addition to `[storage] objects`.
    pub fn variables(&self) -> [(&'static str, &str); 5] {
        [
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY),
            ("AWS_SECRET_ACCESS_KEY", SECRET_KEY),
            ("AWS_ENDPOINT_URL", &self.endpoint),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
        ]
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // If the server panicked, the test has failed already.
            drop(thread.join());
        }
    }
}
