//! The download route over a local directory.

use super::*;
use crate::objects::{FileSigningKey, RESULTS};
use actix_web::body::to_bytes;
use actix_web::test::TestRequest;
use bytes::Bytes;
use chrono::TimeDelta;
use serde_json::Value;
use std::time::Duration;

const KEY: &str = "results/0198c0de-0000-7000-8000-000000000001.png";
const IMAGE: &[u8] = b"0123456789";

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_790_000_000, 0).unwrap()
}

struct Server {
    objects: ObjectStorage,
    dir: tempfile::TempDir,
}

impl Server {
    async fn with(stored: &[(&str, &[u8])]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let signing_key = FileSigningKey::from_bytes(&[7; 32]);
        let objects = ObjectStorage::open("", dir.path(), "", signing_key).unwrap();
        for (key, bytes) in stored {
            let bytes = Bytes::copy_from_slice(bytes);
            objects.put(key, bytes, "image/png").await.unwrap();
        }
        Self { objects, dir }
    }

    async fn address(&self, key: &str) -> String {
        let day = Duration::from_secs(86_400);
        self.objects.presign(key, now(), day).await.unwrap()
    }

    async fn get(&self, uri: &str, headers: &[(&str, &str)]) -> Response {
        self.ask(TestRequest::get(), uri, headers, now()).await
    }

    async fn ask(
        &self,
        request: TestRequest,
        uri: &str,
        headers: &[(&str, &str)],
        at: DateTime<Utc>,
    ) -> Response {
        let request = headers
            .iter()
            .fold(request.uri(uri), |request, header| {
                request.insert_header(*header)
            })
            .to_http_request();
        let response = match respond(&request, &self.objects, at).await {
            Ok(response) => response,
            Err(problem) => problem.render("the-request"),
        };
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let body = to_bytes(response.into_body()).await.unwrap();
        Response {
            status,
            headers,
            body,
        }
    }
}

struct Response {
    status: u16,
    headers: header::HeaderMap,
    body: Bytes,
}

impl Response {
    fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    fn refusal(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem: Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(problem["status"], self.status);
        assert!(problem["detail"].as_str().unwrap().len() > 10);
        assert_eq!(problem["request_id"], "the-request");
        (self.status, problem["code"].as_str().unwrap().to_owned())
    }
}

#[actix_web::test]
async fn a_valid_url_returns_the_image_and_all_headers() {
    let server = Server::with(&[(KEY, IMAGE)]).await;
    let response = server.get(&server.address(KEY).await, &[]).await;
    assert_eq!(response.status, 200);
    assert_eq!(response.body, IMAGE);
    for (name, value) in [
        ("content-type", "image/png"),
        ("accept-ranges", "bytes"),
        ("cache-control", "private, max-age=86400"),
        (
            "content-disposition",
            "inline; filename=\"0198c0de-0000-7000-8000-000000000001.png\"",
        ),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "default-src 'none'; sandbox"),
        ("content-range", ""),
    ] {
        assert_eq!(response.header(name), value, "{name}");
    }
    assert!(response.header("etag").starts_with('"'));
}

#[actix_web::test]
async fn the_remaining_lifetime_is_the_cache_lifetime() {
    let server = Server::with(&[(KEY, IMAGE)]).await;
    let uri = server.address(KEY).await;
    let day = TimeDelta::days(1);
    let second = TimeDelta::seconds(1);
    for (after, cache) in [
        (TimeDelta::hours(1), "private, max-age=82800"),
        (day - second, "private, max-age=1"),
    ] {
        let response = server
            .ask(TestRequest::get(), &uri, &[], now() + after)
            .await;
        assert_eq!(response.status, 200);
        assert_eq!(response.header("cache-control"), cache);
    }
    for after in [day, day + second] {
        let response = server
            .ask(TestRequest::get(), &uri, &[], now() + after)
            .await;
        assert_eq!(response.refusal(), (403, "url_expired".to_owned()));
        assert_eq!(response.header("cache-control"), "no-store");
    }
}

#[actix_web::test]
async fn the_signature_is_checked_before_the_time_and_the_file() {
    let server = Server::with(&[(KEY, IMAGE)]).await;
    let uri = server.address(KEY).await;
    let forged = uri.replace("signature=", "signature=0");
    let late = now() + TimeDelta::days(2);
    let invalid = (403, "invalid_signature".to_owned());
    for at in [now(), late] {
        let response = server.ask(TestRequest::get(), &forged, &[], at).await;
        assert_eq!(response.refusal(), invalid);
    }
    for uri in [
        "/files/",
        "/files/nothing",
        "/files/../../etc/passwd?expires=1&signature=x",
    ] {
        assert_eq!(server.get(uri, &[]).await.refusal(), invalid, "{uri}");
    }
    let other = uri.replace("0001.png", "0002.png");
    assert_eq!(server.get(&other, &[]).await.refusal(), invalid);
}

#[actix_web::test]
async fn a_removed_result_is_410_and_any_other_missing_key_is_404() {
    let server = Server::with(&[(KEY, IMAGE)]).await;
    let uri = server.address(KEY).await;
    server.objects.delete(KEY).await.unwrap();
    assert_eq!(
        server.get(&uri, &[]).await.refusal(),
        (410, "gone".to_owned())
    );
    let late = now() + TimeDelta::days(2);
    let response = server.ask(TestRequest::get(), &uri, &[], late).await;
    assert_eq!(response.refusal(), (403, "url_expired".to_owned()));
    for key in ["inputs/job/0", "results", "file-signing-key"] {
        let uri = server.address(key).await;
        assert_eq!(
            server.get(&uri, &[]).await.refusal(),
            (404, "not_found".to_owned())
        );
    }
}

#[actix_web::test]
async fn a_result_removed_by_retention_is_410() {
    let server = Server::with(&[(KEY, IMAGE)]).await;
    let uri = server.address(KEY).await;
    let tomorrow = Utc::now() + TimeDelta::days(1);
    assert_eq!(
        server.objects.expire(RESULTS, tomorrow, 10).await.unwrap(),
        1
    );
    assert_eq!(
        server.get(&uri, &[]).await.refusal(),
        (410, "gone".to_owned())
    );
}

#[actix_web::test]
async fn a_range_is_sent_as_partial_content() {
    let server = Server::with(&[(KEY, IMAGE)]).await;
    let uri = server.address(KEY).await;
    for (range, body, content_range) in [
        ("bytes=0-3", "0123", "bytes 0-3/10"),
        ("Bytes=2-2", "2", "bytes 2-2/10"),
        ("BYTES=-1", "9", "bytes 9-9/10"),
        ("bytes=7-", "789", "bytes 7-9/10"),
        ("bytes=7-1000", "789", "bytes 7-9/10"),
        ("bytes=-4", "6789", "bytes 6-9/10"),
        ("bytes=-100", "0123456789", "bytes 0-9/10"),
        ("bytes=0-18446744073709551615", "0123456789", "bytes 0-9/10"),
    ] {
        let response = server.get(&uri, &[("range", range)]).await;
        assert_eq!(response.status, 206, "{range}");
        assert_eq!(response.body, body, "{range}");
        assert_eq!(response.header("content-range"), content_range);
    }
}

#[actix_web::test]
async fn a_range_outside_the_file_is_refused_with_its_size() {
    let server = Server::with(&[(KEY, IMAGE)]).await;
    let uri = server.address(KEY).await;
    for range in [
        "bytes=10-",
        "bytes=10-20",
        "bytes=-0",
        "bytes=18446744073709551615-",
    ] {
        let response = server.get(&uri, &[("range", range)]).await;
        assert_eq!(
            response.refusal(),
            (416, "range_not_satisfiable".to_owned())
        );
        assert_eq!(response.header("content-range"), "bytes */10");
    }
}

#[actix_web::test]
async fn multiple_invalid_or_unknown_ranges_return_the_whole() {
    let server = Server::with(&[(KEY, IMAGE)]).await;
    let uri = server.address(KEY).await;
    for range in [
        "bytes=0-1,4-5",
        "bytes=5-2",
        "bytes=",
        "bytes=a-b",
        "bytes=--1",
        "bytes=99999999999999999999999-",
        "lines=0-1",
        "0-1",
        "",
    ] {
        let response = server.get(&uri, &[("range", range)]).await;
        assert_eq!(
            (response.status, response.body.as_ref()),
            (200, IMAGE),
            "{range}"
        );
    }
}

#[actix_web::test]
async fn a_range_of_a_changed_file_returns_the_whole() {
    let server = Server::with(&[(KEY, IMAGE)]).await;
    let uri = server.address(KEY).await;
    let tag = server.get(&uri, &[]).await.header("etag").to_owned();
    let part = ("range", "bytes=0-3");
    let response = server.get(&uri, &[part, ("if-range", &tag)]).await;
    assert_eq!(
        (response.status, response.body.as_ref()),
        (206, b"0123".as_ref())
    );
    let weak = format!("W/{tag}");
    for other in ["\"other\"", &weak, "Sat, 29 Oct 1994 19:43:31 GMT", "junk"] {
        let response = server.get(&uri, &[part, ("if-range", other)]).await;
        assert_eq!(
            (response.status, response.body.as_ref()),
            (200, IMAGE),
            "{other}"
        );
    }
}

#[actix_web::test]
async fn a_client_with_the_current_file_gets_304() {
    let server = Server::with(&[(KEY, IMAGE)]).await;
    let uri = server.address(KEY).await;
    let tag = server.get(&uri, &[]).await.header("etag").to_owned();
    let several = format!("\"a\", W/{tag}");
    for known in [tag.as_str(), &several, "*"] {
        let headers = [("if-none-match", known), ("range", "bytes=0-1")];
        let response = server.get(&uri, &headers).await;
        assert_eq!(response.status, 304, "{known}");
        assert!(response.body.is_empty());
        assert_eq!(response.header("etag"), tag);
        assert_eq!(response.header("cache-control"), "private, max-age=86400");
    }
    for unknown in ["\"a\"", "junk", ""] {
        let response = server.get(&uri, &[("if-none-match", unknown)]).await;
        assert_eq!(response.status, 200, "{unknown}");
    }
    let forged = uri.replace("signature=", "signature=0");
    let response = server.get(&forged, &[("if-none-match", "*")]).await;
    assert_eq!(response.status, 403);
}

#[actix_web::test]
async fn an_empty_file_is_served_and_has_no_parts() {
    let server = Server::with(&[(KEY, b"")]).await;
    let uri = server.address(KEY).await;
    let response = server.get(&uri, &[]).await;
    assert_eq!(
        (response.status, response.body.as_ref()),
        (200, b"".as_ref())
    );
    for range in ["bytes=0-", "bytes=0-0", "bytes=-1"] {
        let response = server.get(&uri, &[("range", range)]).await;
        assert_eq!(response.status, 416);
        assert_eq!(response.header("content-range"), "bytes */0");
    }
}

#[actix_web::test]
async fn a_file_of_many_pieces_arrives_whole() {
    let large: Vec<u8> = (0..1_000_003u32).map(|n| (n % 251) as u8).collect();
    let server = Server::with(&[(KEY, &large)]).await;
    let uri = server.address(KEY).await;
    assert_eq!(server.get(&uri, &[]).await.body, large);
    let response = server.get(&uri, &[("range", "bytes=65535-131073")]).await;
    assert_eq!(response.body, large[65_535..=131_073]);
}

#[actix_web::test]
async fn names_with_spaces_and_unicode_are_served() {
    for key in ["results/a b.png", "results/größe 画像.webp"] {
        let server = Server::with(&[(key, IMAGE)]).await;
        let uri = server.address(key).await;
        let response = server.get(&uri, &[]).await;
        assert_eq!(
            (response.status, response.body.as_ref()),
            (200, IMAGE),
            "{key}"
        );
        assert!(response.headers.get("content-disposition").is_some());
    }
}

#[actix_web::test]
async fn an_unreadable_store_is_a_server_error_without_details() {
    let server = Server::with(&[("results", IMAGE)]).await;
    // A file where a directory is expected gives an error other than "not found".
    let uri = server.address("results/a.png").await;
    let response = server.get(&uri, &[]).await;
    assert_eq!(response.refusal(), (502, "storage_unavailable".to_owned()));
    let body = String::from_utf8(response.body.to_vec()).unwrap();
    assert!(
        !body.contains(&server.dir.path().display().to_string()),
        "{body}"
    );
}

#[actix_web::test]
async fn with_a_cloud_store_the_route_responds_404() {
    let key = FileSigningKey::from_bytes(&[7; 32]);
    let variables = [
        ("AWS_ACCESS_KEY_ID".to_owned(), "id".to_owned()),
        ("AWS_SECRET_ACCESS_KEY".to_owned(), "hush".to_owned()),
    ];
    let nowhere = std::path::Path::new("/nonexistent");
    let objects = ObjectStorage::open_with("s3://bucket", nowhere, "", key, variables).unwrap();
    let local = Server::with(&[(KEY, IMAGE)]).await;
    let request = TestRequest::get()
        .uri(&local.address(KEY).await)
        .to_http_request();
    let refused = respond(&request, &objects, now()).await.unwrap_err();
    assert_eq!(refused.code, Code::NotFound);
}
