//! Valid, wrong and broken responses of servers.

use super::{
    sample_images::*,
    server::{Act, Server, head, ok},
    support::*,
};
use std::time::Duration;

#[actix_web::test]
async fn every_image_kind_is_accepted_regardless_of_its_content_type() {
    let all = one_of_each();
    let bodies: Vec<_> = all.iter().map(|(_, image)| image.clone()).collect();
    let server = Server::start(move |path| {
        let image = &bodies[path[1..].parse::<usize>().unwrap()];
        let lines = format!(
            "HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: {}",
            image.len()
        );
        head(&lines, [Act::Send(image.clone())])
    })
    .await;
    let urls: Vec<_> = (0..all.len())
        .map(|index| server.url(&format!("/{index}")))
        .collect();
    let images = run(&urls, &limits()).await.unwrap();
    for (index, (image, (kind, bytes))) in images.iter().zip(&all).enumerate() {
        assert_eq!(image.bytes, bytes.len() as u64);
        assert_eq!((image.width, image.height), (300, 200));
        assert_eq!(
            image.key,
            format!("inputs/job/{index}.{}", kind.extension())
        );
    }
}

#[actix_web::test]
async fn requests_contain_only_the_headers_of_a_plain_client() {
    let server = Server::start(|_| ok(&png(3, 2))).await;
    run(&[server.url("/a?b=c#d")], &limits()).await.unwrap();
    let request = server.requests.lock()[0].to_lowercase();
    let port = server.address.port();
    assert!(request.starts_with("get /a?b=c http/1.1\r\n"), "{request}");
    for line in [
        format!("host: pictures.example:{port}"),
        format!("user-agent: tintype/{}", env!("CARGO_PKG_VERSION")),
        "accept-encoding: identity".to_owned(),
        "connection: close".to_owned(),
    ] {
        assert_eq!(
            request.matches(&format!("\r\n{line}\r\n")).count(),
            1,
            "{line} in {request}"
        );
    }
    for name in ["cookie", "authorization", "referer", "x-forwarded"] {
        assert!(!request.contains(name), "{request}");
    }
}

#[actix_web::test]
async fn bytes_are_stored_unchanged_and_dimensions_follow_the_orientation() {
    let image = jpeg_with(300, 200, &[app1(&exif(8))]);
    let body = image.clone();
    let server = Server::start(move |_| ok(&body)).await;
    let store = memory();
    let urls = [server.url("/")];
    let images = ingest(&egress(), store.clone(), &prefix(), &urls, &limits())
        .await
        .unwrap();
    assert_eq!((images[0].width, images[0].height), (200, 300));
    let stored = object_store::ObjectStoreExt::get(&store, &"inputs/job/0.jpg".into())
        .await
        .unwrap();
    assert_eq!(stored.bytes().await.unwrap(), image);
}

#[actix_web::test]
async fn the_same_url_fourteen_times_is_fetched_fourteen_times() {
    let server = Server::start(|_| ok(&png(3, 2))).await;
    let images = run(&vec![server.url("/"); 14], &limits()).await.unwrap();
    assert_eq!(images.len(), 14);
    assert_eq!(images[13].key, "inputs/job/13.png");
    assert_eq!(server.count(), 14);
}

#[actix_web::test]
async fn entries_are_fetched_concurrently() {
    // The server responds only after all requests have arrived.
    let (open, gate) = tokio::sync::watch::channel(false);
    let server = Server::start(move |_| {
        let mut acts = vec![Act::Gate(gate.clone())];
        acts.extend(ok(&png(3, 2)));
        acts
    })
    .await;
    let urls = vec![server.url("/"); 14];
    let limits = limits();
    let all_there = async {
        eventually("14 requests at once", async || server.count() == 14).await;
        open.send(true).unwrap();
    };
    let (outcome, ()) = tokio::join!(run(&urls, &limits), all_there);
    assert_eq!(outcome.unwrap().len(), 14);
}

#[actix_web::test]
async fn bodies_without_a_length_end_with_the_connection_or_the_last_chunk() {
    let image = png(3, 2);
    let server = Server::start(move |path| match path {
        "/close" => head("HTTP/1.1 200 OK", [Act::Send(image.clone())]),
        "/old" => head("HTTP/1.0 200 OK", [Act::Send(image.clone())]),
        _ => {
            let mut body = Vec::new();
            for byte in &image {
                body.extend_from_slice(&[b'1', b'\r', b'\n', *byte, b'\r', b'\n']);
            }
            body.extend_from_slice(b"0\r\n\r\n");
            head(
                "HTTP/1.1 200 OK\nTransfer-Encoding: chunked",
                [Act::Send(body)],
            )
        }
    })
    .await;
    let urls = ["/close", "/old", "/chunked"].map(|path| server.url(path));
    for image in run(&urls, &limits()).await.unwrap() {
        assert_eq!((image.width, image.height), (3, 2));
    }
}

#[actix_web::test]
async fn every_faulty_entry_is_named_with_its_fault() {
    let server = Server::start(|path| match path {
        "/good" => ok(&png(3, 2)),
        "/404" => head(
            "HTTP/1.1 404 Not Found\nContent-Length: 3",
            [Act::Send(b"no!".to_vec())],
        ),
        "/500" => head("HTTP/1.1 500 Oops\nContent-Length: 0", []),
        "/204" => head("HTTP/1.1 204 No Content", []),
        "/206" => head("HTTP/1.1 206 Partial Content\nContent-Length: 0", []),
        "/304" => head("HTTP/1.1 304 Not Modified", []),
        "/html" => ok(b"<!DOCTYPE html><title>Sign in</title>"),
        "/svg" => {
            ok(b"<svg xmlns='http://www.w3.org/2000/svg'><image href='file:///etc/passwd'/></svg>")
        }
        "/tiff" => ok(b"II*\0\x08\0\0\0\0\0\0\0\0\0\0\0"),
        "/empty" => ok(b""),
        "/short" => ok(&png(3, 2)[..20]),
        "/damaged" => ok(b"\xff\xd8\xff\xe0\0\0\0\0\0\0\0\0\0\0"),
        "/gzip" => head(
            "HTTP/1.1 200 OK\nContent-Encoding: gzip",
            [Act::Send(png(3, 2))],
        ),
        "/bomb" => ok(&png(100_000, 100_000)),
        "/flat" => ok(&jpeg(65_535, 0)),
        _ => unreachable!(),
    })
    .await;
    // More entries than one request may have, so two ingestions.
    let first = [
        "/good", "/404", "/500", "/204", "/206", "/304", "/html", "/svg",
    ];
    let second = [
        "/tiff", "/empty", "/good", "/short", "/damaged", "/gzip", "/bomb", "/flat",
    ];
    let faults_of =
        async |paths: [&str; 8]| faults(&paths.map(|path| server.url(path)), &limits()).await;
    insta::assert_snapshot!(faults_of(first).await, @r"
    input_images_urls[1] returned 404 Not Found
    input_images_urls[2] returned 500 Internal Server Error
    input_images_urls[3] returned 204 No Content
    input_images_urls[4] returned 206 Partial Content
    input_images_urls[5] returned 304 Not Modified
    input_images_urls[6] is not a PNG, JPEG, WebP, GIF, HEIC or AVIF image, judging by its bytes
    input_images_urls[7] is not a PNG, JPEG, WebP, GIF, HEIC or AVIF image, judging by its bytes
    ");
    insta::assert_snapshot!(faults_of(second).await, @r"
    input_images_urls[0] is not a PNG, JPEG, WebP, GIF, HEIC or AVIF image, judging by its bytes
    input_images_urls[1] is empty
    input_images_urls[3] is a PNG image that ends before its dimensions
    input_images_urls[4] is a JPEG image with a damaged header
    input_images_urls[5] returned a compressed body, although the request does not accept one
    input_images_urls[6] is too large: 100000 x 100000 pixels, where a side may have 16384 and the whole 25000000
    input_images_urls[7] has no pixels: its header says 65535 x 0
    ");
}

#[actix_web::test]
async fn only_the_identity_content_encoding_is_accepted() {
    let server = Server::start(|path| {
        let lines = match path {
            "/identity" => "HTTP/1.1 200 OK\nContent-Encoding: Identity\nContent-Length: 75",
            "/none" => "HTTP/1.1 200 OK\nContent-Encoding:\nContent-Length: 75",
            "/br" => "HTTP/1.1 200 OK\nContent-Encoding: br",
            "/chain" => "HTTP/1.1 200 OK\nContent-Encoding: identity\nContent-Encoding: gzip",
            _ => "HTTP/1.1 200 OK\nContent-Encoding: gzip, identity",
        };
        head(lines, [Act::Send(png_of(75))])
    })
    .await;
    let good = ["/identity", "/none"].map(|path| server.url(path));
    assert_eq!(run(&good, &limits()).await.unwrap()[0].bytes, 75);
    let compressed = "returned a compressed body, although the request does not accept one";
    for path in ["/br", "/chain", "/list"] {
        let text = faults(&[server.url(path)], &limits()).await;
        assert_eq!(text, format!("input_images_urls[0] {compressed}"), "{path}");
    }
}

#[actix_web::test]
async fn a_response_that_breaks_off_is_a_fault() {
    let image = png(3, 2);
    let half = image[..image.len() / 2].to_vec();
    let server = Server::start(move |path| match path {
        // Fewer bytes than declared, then a clean close.
        "/lying" => head(
            "HTTP/1.1 200 OK\nContent-Length: 1000",
            [Act::Send(image.clone())],
        ),
        "/reset" => head(
            "HTTP/1.1 200 OK\nContent-Length: 1000",
            [Act::Send(half.clone()), Act::Reset],
        ),
        "/chunked" => head(
            "HTTP/1.1 200 OK\nTransfer-Encoding: chunked",
            [Act::Send(b"3\r\nabc\r\n".to_vec())],
        ),
        "/garbled" => head(
            "HTTP/1.1 200 OK\nTransfer-Encoding: chunked",
            [Act::Send(b"ffffffffffffffffff\r\nabc\r\n".to_vec())],
        ),
        _ => head("HTTP/1.1 200 OK\nContent-Length: 1000", [Act::Reset]),
    })
    .await;
    for path in ["/lying", "/reset", "/chunked", "/garbled", "/at-once"] {
        let text = faults(&[server.url(path)], &limits()).await;
        assert_eq!(
            text, "input_images_urls[0] closed the connection before the image was complete",
            "{path}"
        );
    }
}

#[actix_web::test]
async fn a_response_that_is_not_http_is_a_fault() {
    let server = Server::start(|path| match path {
        "/silent" => vec![],
        "/reset" => vec![Act::Reset],
        "/ssh" => vec![Act::Send(b"SSH-2.0-OpenSSH_9.9\r\n".to_vec())],
        "/two-lengths" => head("HTTP/1.1 200 OK\nContent-Length: 5\nContent-Length: 6", []),
        "/negative" => head("HTTP/1.1 200 OK\nContent-Length: -1", []),
        "/huge-head" => head(&format!("HTTP/1.1 200 OK\nX: {}", "x".repeat(200_000)), []),
        _ => vec![Act::Endless(b"x".repeat(1 << 16))],
    })
    .await;
    let paths = [
        "/silent",
        "/reset",
        "/ssh",
        "/two-lengths",
        "/negative",
        "/huge-head",
        "/endless",
    ];
    for path in paths {
        let text = faults(&[server.url(path)], &limits()).await;
        let expected =
            "could not be fetched: its host closed the connection early or did not send valid HTTP";
        assert_eq!(text, format!("input_images_urls[0] {expected}"), "{path}");
    }
}

#[actix_web::test]
async fn all_malformed_urls_are_named_and_hide_no_fault_of_other_urls() {
    let server = Server::start(|_| ok(&png(3, 2))).await;
    let urls = [
        server.url("/"),
        "ftp://example.com/".to_owned(),
        format!("http://127.0.0.2:{}/", server.address.port()),
        "http://user@example.com/".to_owned(),
        "http://[::1]:1/".to_owned(),
        format!("http://example.com/{}", "x".repeat(1 << 16)),
    ];
    insta::assert_snapshot!(faults(&urls, &limits()).await, @r"
    input_images_urls[1] must start with http:// or https://
    input_images_urls[2] is not at a public address
    input_images_urls[3] must not contain a user name or password
    input_images_urls[4] is not at a public address
    input_images_urls[5] must be 1 to 2048 characters long
    ");
    // The valid URL is fetched too, so that its fault would be reported as well.
    assert_eq!(server.count(), 1);
}

#[actix_web::test]
async fn hosts_that_cannot_be_reached_are_faults() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let text = faults(&[format!("http://pictures.example:{port}/")], &limits()).await;
    let expected = "could not be fetched: its host could not be reached: connection refused";
    assert_eq!(text, format!("input_images_urls[0] {expected}"));
}

#[actix_web::test]
async fn a_slow_server_is_waited_for_within_the_time() {
    let image = png(3, 2);
    let length = image.len();
    let server = Server::start(move |_| {
        let lines = format!("HTTP/1.1 200 OK\nContent-Length: {length}");
        head(&lines, [Act::Drip(image.clone(), Duration::from_millis(1))])
    })
    .await;
    assert_eq!(
        run(&[server.url("/")], &limits()).await.unwrap()[0].bytes,
        length as u64
    );
}

#[actix_web::test]
async fn an_empty_list_of_urls_gives_no_images() {
    assert_eq!(run(&[], &limits()).await.unwrap(), []);
}

#[test]
fn image_kinds_have_their_common_names() {
    let names =
        one_of_each().map(|(kind, _)| [kind.mime(), kind.extension(), kind.name()].join(" "));
    let expected = [
        "image/png png PNG",
        "image/jpeg jpg JPEG",
        "image/webp webp WebP",
        "image/gif gif GIF",
        "image/heic heic HEIC",
        "image/avif avif AVIF",
    ];
    assert_eq!(names, expected);
}
