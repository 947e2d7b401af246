//! The download route over a real connection, for what needs one: the answer to HEAD, raw paths on the wire, and clients that
//! disconnect.

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use bytes::Bytes;
use chrono::Utc;
use tintype::objects::{FileSigningKey, ObjectStorage};
use tintype::web::images::file_download;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{DAY, http};

const KEY: &str = "results/0198c0de-0000-7000-8000-000000000001.png";

struct Server {
    address: String,
    objects: ObjectStorage,
    handle: ServerHandle,
    _dir: tempfile::TempDir,
}

/// The route as the service registers it, with its errors.
async fn file(request: HttpRequest, objects: web::Data<ObjectStorage>) -> HttpResponse {
    let outcome = file_download::respond(&request, &objects, Utc::now()).await;
    outcome.unwrap_or_else(|problem| problem.render("the-request"))
}

impl Server {
    async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let key = FileSigningKey::load_or_create(dir.path()).unwrap();
        let objects =
            ObjectStorage::open("", dir.path(), &format!("http://{address}/"), key).unwrap();
        let data = web::Data::new(objects.clone());
        let server = HttpServer::new(move || {
            App::new().app_data(data.clone()).service(
                web::resource(file_download::ROUTE)
                    .route(web::get().to(file))
                    .route(web::head().to(file)),
            )
        })
        .workers(1)
        .disable_signals()
        .listen(listener)
        .unwrap()
        .run();
        let handle = server.handle();
        actix_web::rt::spawn(server);
        Self {
            address,
            objects,
            handle,
            _dir: dir,
        }
    }

    async fn put(&self, key: &str, bytes: Vec<u8>) -> String {
        self.objects
            .put(key, Bytes::from(bytes), "image/png")
            .await
            .unwrap();
        self.objects.presign(key, Utc::now(), DAY).await.unwrap()
    }

    /// Sends a raw request target and reads until the server closes.
    async fn raw(&self, target: &str) -> String {
        let mut socket = TcpStream::connect(&self.address).await.unwrap();
        let request = format!("GET {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }
}

#[actix_web::test]
async fn head_full_range_and_conditional_requests_of_an_image_succeed() {
    let server = Server::start().await;
    let image: Vec<u8> = (0..300_000u32).map(|n| (n % 251) as u8).collect();
    for key in [KEY, "results/a b+c ü 画.png"] {
        let url = server.put(key, image.clone()).await;
        let client = http();
        // On one connection: the client would read a body after HEAD as the next answer.
        for _ in 0..3 {
            let head = client.head(&url).send().await.unwrap();
            assert_eq!(head.status(), 200);
            assert_eq!(head.headers()["content-length"], "300000");
            assert_eq!(head.headers()["content-type"], "image/png");
            let tag = head.headers()["etag"].clone();
            let whole = client.get(&url).send().await.unwrap();
            assert_eq!(whole.headers()["content-length"], "300000");
            assert_eq!(whole.headers()["etag"], tag);
            assert_eq!(whole.bytes().await.unwrap(), image);
            let range = ("range", "bytes=100000-200000");
            let part = client
                .get(&url)
                .header(range.0, range.1)
                .send()
                .await
                .unwrap();
            assert_eq!(part.status(), 206);
            assert_eq!(part.headers()["content-length"], "100001");
            assert_eq!(part.bytes().await.unwrap(), image[100_000..=200_000]);
            let known = client.get(&url).header("if-none-match", tag);
            assert_eq!(known.send().await.unwrap().status(), 304);
        }
    }
    server.handle.stop(false).await;
}

#[actix_web::test]
async fn an_empty_file_is_an_empty_answer() {
    let server = Server::start().await;
    let url = server.put(KEY, Vec::new()).await;
    let answer = http().get(&url).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-length"], "0");
    assert!(answer.bytes().await.unwrap().is_empty());
    server.handle.stop(false).await;
}

#[actix_web::test]
async fn no_request_path_escapes_the_store() {
    let server = Server::start().await;
    let url = server.put(KEY, b"image".to_vec()).await;
    let query = url.split_once('?').unwrap().1;
    for path in [
        "/files/../file-signing-key",
        "/files/%2e%2e/file-signing-key",
        "/files/%2E%2E%2Ffile-signing-key",
        "/files/..%5cfile-signing-key",
        "/files/results/../../file-signing-key",
        "/files//etc/passwd",
        "/files/%2fetc%2fpasswd",
        "/files/results%2f0198c0de-0000-7000-8000-000000000001.png",
        "/files/results/0198c0de-0000-7000-8000-000000000001.png%00",
        "/files/results//0198c0de-0000-7000-8000-000000000001.png",
        "/files/results/./0198c0de-0000-7000-8000-000000000001.png",
        "/files/results/%252e%252e/x",
        "/files/%ff%fe",
        "/files/",
    ] {
        let answer = server.raw(&format!("{path}?{query}")).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{path}: {answer}");
        assert!(
            answer.contains("\"code\":\"invalid_signature\""),
            "{path}: {answer}"
        );
    }
    let target = format!("/files/{KEY}?{query}");
    assert!(server.raw(&target).await.ends_with("\r\n\r\nimage"));
    server.handle.stop(false).await;
}

#[actix_web::test]
async fn clients_that_disconnect_do_not_affect_the_server() {
    let server = Server::start().await;
    let url = server.put(KEY, vec![7; 8_000_000]).await;
    let target = url.split_once(&server.address).unwrap().1;
    for _ in 0..20 {
        let mut socket = TcpStream::connect(&server.address).await.unwrap();
        let request = format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n");
        socket.write_all(request.as_bytes()).await.unwrap();
        socket.read_u8().await.unwrap();
    }
    let whole = http().get(&url).send().await.unwrap();
    assert_eq!(whole.bytes().await.unwrap().len(), 8_000_000);
    server.handle.stop(false).await;
}
