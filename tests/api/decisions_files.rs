//! Decisions 3: download URLs of the local store.

use crate::support::sample_images::{png, tiny_png};
use crate::support::{Customer, Server};
use image::GenericImageView as _;
use std::fs::File;
use std::time::{Duration, SystemTime};

/// A server with a done job: its owner, its id, and the request target of its image.
fn server_with_done_job() -> (Server, Customer, String, String) {
    let server = Server::start();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    let seen = server.job_once(&customer, &job, "done");
    let url = seen["result"]["image_url"].as_str().unwrap();
    let prefix = format!("http://{}", server.address);
    let target = url.strip_prefix(&prefix).unwrap().to_owned();
    (server, customer, job, target)
}

#[test]
fn a_signed_url_consists_of_key_expiry_and_signature() {
    let (server, _, job, target) = server_with_done_job();
    let (path, query) = target.split_once('?').unwrap();
    assert_eq!(path, format!("/files/{}", server.result_key(&job)));
    let (expires, signature) = query.split_once('&').unwrap();
    assert!(
        expires
            .strip_prefix("expires=")
            .unwrap()
            .parse::<u64>()
            .is_ok()
    );
    let signature = signature.strip_prefix("signature=").unwrap();
    let lower_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    assert!(signature.len() == 64 && signature.bytes().all(lower_hex));
}

#[test]
fn a_download_has_its_headers() {
    let (server, _, job, target) = server_with_done_job();
    let answer = server.get(&target).expect(200);
    assert_eq!(answer.body, tiny_png());
    let length = tiny_png().len().to_string();
    assert_eq!(answer.header("content-type"), Some("image/png"));
    assert_eq!(answer.header("content-length"), Some(length.as_str()));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(answer.header("accept-ranges"), Some("bytes"));
    assert!(
        answer
            .header("cache-control")
            .unwrap()
            .starts_with("private")
    );
    let disposition = answer.header("content-disposition").unwrap();
    assert!(
        disposition.starts_with("inline; filename="),
        "{disposition}"
    );
    let key = server.result_key(&job);
    assert!(disposition.contains(key.trim_start_matches("results/")));
    let tag = answer.header("etag").unwrap();
    let again = server.get(&target).header("If-None-Match", tag).expect(304);
    assert_eq!(again.header("etag"), Some(tag));
    let head = server.call("HEAD", &target).expect(200);
    assert_eq!(head.header("content-length"), Some(length.as_str()));
}

#[test]
fn ranges_can_be_requested() {
    let (server, _, _, target) = server_with_done_job();
    let (whole, size) = (tiny_png(), tiny_png().len());
    for (range, part) in [
        ("bytes=0-3", 0..4),
        ("bytes=4-", 4..size),
        ("bytes=-5", size - 5..size),
    ] {
        let answer = server.get(&target).header("Range", range).expect(206);
        assert_eq!(answer.body, whole[part.clone()]);
        let expected = format!("bytes {}-{}/{size}", part.start, part.end - 1);
        assert_eq!(answer.header("content-range"), Some(expected.as_str()));
    }
    let range = format!("bytes={size}-");
    let answer = server
        .get(&target)
        .header("Range", &range)
        .refused(416, "range_not_satisfiable");
    assert_eq!(
        answer.header("content-range"),
        Some(format!("bytes */{size}").as_str())
    );
}

#[test]
fn an_address_that_was_changed_is_403() {
    let (server, _, job, target) = server_with_done_job();
    let (path, query) = target.split_once('?').unwrap();
    let (expires, signature) = query.split_once('&').unwrap();
    let other = path.replace(&job, &uuid::Uuid::now_v7().to_string());
    let cut = &signature[..signature.len() - 1];
    let upper = signature.to_uppercase().replace("SIGNATURE", "signature");
    let mut changed = vec![
        path.to_owned(),
        format!("{path}?"),
        format!("{path}?{expires}"),
        format!("{path}?{signature}"),
        format!("{path}?{expires}1&{signature}"),
        format!("{path}?expires=99999999999&{signature}"),
        format!("{path}?{expires}&{cut}"),
        format!("{path}?{expires}&{signature}0"),
        format!("{path}?{expires}&signature="),
        format!("{other}?{query}"),
        format!("/files/words/x.json?{query}"),
        format!("/files/?{query}"),
        format!("{path}/../x?{query}"),
    ];
    if upper != signature {
        changed.push(format!("{path}?{expires}&{upper}"));
    }
    for target in changed {
        server.get(&target).refused(403, "invalid_signature");
    }
}

#[test]
fn an_address_ends_after_24_hours() {
    let (server, customer, job, target) = server_with_done_job();
    server.clock.advance(Duration::from_secs(86_400));
    server.get(&target).expect(200);
    server.clock.advance(Duration::from_secs(2));
    server.get(&target).refused(403, "url_expired");
    let fresh = server.job(&customer, &job);
    assert_ne!(
        fresh["result"]["image_url"],
        format!("http://{}{target}", server.address)
    );
}

#[test]
fn a_deleted_image_is_410_and_its_job_stays_done() {
    let (server, customer, job, target) = server_with_done_job();
    std::fs::remove_file(server.objects().join(server.result_key(&job))).unwrap();
    server.get(&target).refused(410, "gone");
    assert_eq!(server.job(&customer, &job)["status"], "done");
}

#[test]
fn a_signed_url_survives_a_restart() {
    let options = crate::support::Options::new().on_disk();
    let server = Server::with(options);
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    let seen = server.job_once(&customer, &job, "done");
    let url = seen["result"]["image_url"].as_str().unwrap().to_owned();
    let target = url
        .split_once(&server.address.to_string())
        .unwrap()
        .1
        .to_owned();
    let server = server.restart();
    server.get(&target).expect(200);
}

#[test]
fn a_view_that_cannot_be_stored_is_sent_nevertheless() {
    let (server, _, job, target) = server_with_done_job();
    let key = server.result_key(&job).replace("results/", "thumbnails/");
    let stored = server.objects().join(key.replace(".png", "-512.jpg"));
    // A file cannot replace a directory.
    std::fs::create_dir_all(stored.join("full")).unwrap();
    let answer = server.get(&format!("{target}&width=512")).expect(200);
    assert_eq!(answer.header("content-type"), Some("image/jpeg"));
    assert!(image::load_from_memory(&answer.body).is_ok());
}

#[test]
fn decisions_3_a_thumbnail_has_the_signature_of_its_image() {
    let (server, _, job, target) = server_with_done_job();
    let image = server.objects().join(server.result_key(&job));
    std::fs::write(&image, png(900, 600)).unwrap();
    for (query, kind, suffix, size) in [
        ("width=512", "image/jpeg", "512.jpg", (512, 341)),
        (
            "width=256&format=webp",
            "image/webp",
            "256.webp",
            (256, 171),
        ),
        ("format=jpeg", "image/jpeg", "1024.jpg", (900, 600)),
    ] {
        let address = format!("{target}&{query}");
        let first = server.get(&address).expect(200);
        assert_eq!(first.header("content-type"), Some(kind));
        let cache = first.header("cache-control").unwrap();
        assert!(cache.starts_with("private, max-age="), "{cache}");
        assert_eq!(first.header("x-content-type-options"), Some("nosniff"));
        let seen = image::load_from_memory(&first.body).unwrap().dimensions();
        assert_eq!(seen, size, "{query}");
        // The service creates a thumbnail once and serves the stored copy afterwards.
        let key = server.result_key(&job);
        let stem = key.trim_start_matches("results/").trim_end_matches(".png");
        let stored = server.objects().join(format!("thumbnails/{stem}-{suffix}"));
        assert_eq!(std::fs::read(&stored).unwrap(), first.body);
        std::fs::write(&stored, b"stored").unwrap();
        assert_eq!(server.get(&address).expect(200).body, b"stored");
        let head = server.call("HEAD", &address).expect(200);
        assert_eq!(head.header("content-length"), Some("6"));
        let part = server
            .get(&address)
            .header("Range", "bytes=1-2")
            .expect(206);
        assert_eq!(part.body, b"to");
        let tag = part.header("etag").unwrap();
        server
            .get(&address)
            .header("If-None-Match", tag)
            .expect(304);
        // A job that runs again replaces its image, and a view of the first one is older.
        let replaced = SystemTime::now() + Duration::from_secs(60);
        let file = File::options().write(true).open(&image).unwrap();
        file.set_modified(replaced).unwrap();
        assert_eq!(server.get(&address).expect(200).body, first.body);
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
    for (query, fields) in [
        ("width=513", &["width"][..]),
        ("width=512&width=512", &["width"]),
        ("width=0&format=png", &["width", "format"]),
    ] {
        server.get(&format!("{target}&{query}")).invalid(fields);
    }
    // Without a valid signature the answer reveals nothing, not even a fault of the query.
    for query in ["width=512", "width=x"] {
        let (begin, last) = target.split_at(target.len() - 1);
        let other = if last == "0" { "1" } else { "0" };
        server
            .get(&format!("{begin}{other}&{query}"))
            .refused(403, "invalid_signature");
    }
    server
        .get(&format!("{target}&size=1"))
        .refused(403, "invalid_signature");
    // Thumbnails are unavailable once the image is gone.
    std::fs::remove_file(&image).unwrap();
    server
        .get(&format!("{target}&width=512"))
        .refused(410, "gone");
    server.clock.advance(Duration::from_secs(86_402));
    server
        .get(&format!("{target}&width=512"))
        .refused(403, "url_expired");
}
