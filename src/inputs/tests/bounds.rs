//! Limits of bytes and time, which apply to all entries together and take effect immediately.

use super::{
    sample_images::*,
    server::{Act, Server, head, ok},
    support::*,
};
use crate::inputs::MemoryBudget;
use crate::inputs::limits::InputLimits;
use std::{sync::atomic::Ordering, time::Duration};
use tintype_imaging::MAX_SIDE;
use tintype_storage::domain::ids::AccountId;
use tokio::sync::watch;
use uuid::Uuid;

fn at_most(max_total_bytes: u64) -> InputLimits {
    InputLimits {
        max_total_bytes,
        ..limits()
    }
}

fn within(timeout: Duration) -> InputLimits {
    InputLimits {
        timeout,
        ..limits()
    }
}

const TOO_MUCH: &str = "input_images_urls must not exceed 14000 bytes over all images";

/// The limit is 14 images of 1,000 bytes each, with and without a declared length.
#[actix_web::test]
async fn fourteen_images_may_have_the_limit_and_not_a_byte_more() {
    let server = Server::start(|path| match path {
        "/declared" => ok(&png_of(1_000)),
        "/declared+1" => ok(&png_of(1_001)),
        "/open" => head("HTTP/1.1 200 OK", [Act::Send(png_of(1_000))]),
        _ => head("HTTP/1.1 200 OK", [Act::Send(png_of(1_001))]),
    })
    .await;
    for (usual, larger) in [("/declared", "/declared+1"), ("/open", "/open+1")] {
        let mut urls = vec![server.url(usual); 14];
        let images = run(&urls, &at_most(14_000)).await.unwrap();
        assert_eq!(images.iter().map(|image| image.bytes).sum::<u64>(), 14_000);
        urls[7] = server.url(larger);
        assert_eq!(faults(&urls, &at_most(14_000)).await, TOO_MUCH);
    }
}

#[actix_web::test]
async fn a_declared_length_past_the_limit_is_not_read_at_all() {
    let server =
        Server::start(|_| head("HTTP/1.1 200 OK\nContent-Length: 14001", [Act::Hang])).await;
    assert_eq!(faults(&[server.url("/")], &at_most(14_000)).await, TOO_MUCH);
    let server = Server::start(|path| {
        let length = if path == "/a" { 7_000 } else { 7_001 };
        head(
            &format!("HTTP/1.1 200 OK\nContent-Length: {length}"),
            [Act::Hang],
        )
    })
    .await;
    assert_eq!(
        faults(&[server.url("/a"), server.url("/b")], &at_most(14_000)).await,
        TOO_MUCH
    );
    let server = Server::start(|_| {
        head(
            "HTTP/1.1 200 OK\nContent-Length: 9223372036854775807",
            [Act::Hang],
        )
    })
    .await;
    assert_eq!(
        faults(&vec![server.url("/"); 3], &at_most(14_000)).await,
        TOO_MUCH
    );
}

/// Reading stops immediately: an endless body costs at most the limit plus the kernel's buffers.
#[actix_web::test]
async fn a_body_without_an_end_is_cut_off() {
    let endless = || {
        [
            Act::Send(png(3, 2)[..33].to_vec()),
            Act::Endless(vec![0; 1 << 16]),
        ]
    };
    let server = Server::start(move |path| match path {
        "/chunked" => {
            let chunk = [b"10000\r\n".as_slice(), &vec![0; 1 << 16], b"\r\n"].concat();
            let first = [b"21\r\n".as_slice(), &png(3, 2)[..33], b"\r\n"].concat();
            head(
                "HTTP/1.1 200 OK\nTransfer-Encoding: chunked",
                [Act::Send(first), Act::Endless(chunk)],
            )
        }
        _ => head("HTTP/1.1 200 OK", endless()),
    })
    .await;
    for path in ["/", "/chunked"] {
        server.poured.store(0, Ordering::SeqCst);
        assert_eq!(
            faults(&[server.url(path)], &at_most(14_000)).await,
            TOO_MUCH
        );
        server.wait_until_idle().await;
        let poured = server.poured.load(Ordering::SeqCst);
        assert!(poured < 16 << 20, "{poured} bytes were taken");
    }
}

/// One entry above the limit ends the others.
#[actix_web::test]
async fn the_limit_ends_all_entries() {
    let server = Server::start(|path| match path {
        "/hang" => head("HTTP/1.1 200 OK", [Act::Send(png(3, 2)), Act::Hang]),
        _ => head("HTTP/1.1 200 OK", [Act::Send(png_of(14_001))]),
    })
    .await;
    let urls = [
        server.url("/hang"),
        server.url("/large"),
        server.url("/hang"),
    ];
    assert_eq!(faults(&urls, &at_most(14_000)).await, TOO_MUCH);
    server.wait_until_idle().await;
}

#[actix_web::test]
async fn the_error_after_the_deadline_names_each_incomplete_entry() {
    let server = Server::start(|path| match path {
        "/good" => ok(&png(3, 2)),
        "/silent" => vec![Act::Hang],
        "/stalled" => head(
            "HTTP/1.1 200 OK\nContent-Length: 1000",
            [Act::Send(png(3, 2)), Act::Hang],
        ),
        _ => {
            let lines = "HTTP/1.1 200 OK\nContent-Length: 1000000";
            head(
                lines,
                [
                    Act::Send(png(3, 2)),
                    Act::Drip(vec![0; 1_000_000], Duration::from_millis(50)),
                ],
            )
        }
    })
    .await;
    let urls = ["/good", "/silent", "/good", "/stalled", "/drip"].map(|path| server.url(path));
    let text = faults(&urls, &within(Duration::from_millis(1_500))).await;
    insta::assert_snapshot!(text, @r"
    input_images_urls[1] was not complete after 1.5 seconds
    input_images_urls[3] was not complete after 1.5 seconds
    input_images_urls[4] was not complete after 1.5 seconds
    ");
    server.wait_until_idle().await;
}

#[actix_web::test]
async fn every_fault_found_before_the_deadline_is_reported() {
    let server = Server::start(|path| match path {
        "/404" => head("HTTP/1.1 404 Not Found\nContent-Length: 0", []),
        _ => vec![Act::Hang],
    })
    .await;
    let mut urls = ["/hang", "/404", "/hang", "/404"]
        .map(|path| server.url(path))
        .to_vec();
    urls.extend(["http://10.0.0.1/", "ftp://example.com/"].map(str::to_owned));
    let text = faults(&urls, &within(Duration::from_millis(2_500))).await;
    insta::assert_snapshot!(text, @r"
    input_images_urls[0] was not complete after 2.5 seconds
    input_images_urls[1] returned 404 Not Found
    input_images_urls[2] was not complete after 2.5 seconds
    input_images_urls[3] returned 404 Not Found
    input_images_urls[4] is not at a public address
    input_images_urls[5] must start with http:// or https://
    ");
}

#[actix_web::test]
async fn images_with_too_many_pixels_are_rejected_by_their_header() {
    let bombs = [
        (png(100_000, 100_000), "100000 x 100000"),
        (png(MAX_SIDE + 1, 1), "16385 x 1"),
        (png(16_000, 16_000), "16000 x 16000"),
        (png(5_001, 5_000), "5001 x 5000"),
        (jpeg(65_535, 65_535), "65535 x 65535"),
        (gif(65_535, 65_535), "65535 x 65535"),
        (
            riff(&[(b"VP8X", vp8x(1 << 24, 1 << 24)), (b"VP8 ", vp8(1, 1))]),
            "16777216 x 16777216",
        ),
        (webp(16_383, 16_383), "16383 x 16383"),
        (heif(b"avif", u32::MAX, u32::MAX), "4294967295 x 4294967295"),
    ];
    let bodies: Vec<_> = bombs.iter().map(|(image, _)| image.clone()).collect();
    let server = Server::start(move |path| ok(&bodies[path[1..].parse::<usize>().unwrap()])).await;
    let urls: Vec<_> = (0..bombs.len())
        .map(|index| server.url(&format!("/{index}")))
        .collect();
    let text = faults(&urls, &limits()).await;
    for (index, (line, (image, size))) in text.lines().zip(&bombs).enumerate() {
        assert!(image.len() < 200, "a bomb is small");
        let start = format!("input_images_urls[{index}] is too large: {size} pixels");
        assert!(line.starts_with(&start), "{line}");
    }
    assert_eq!(text.lines().count(), bombs.len());
}

/// `Content-Length` does not frame a chunked body, so the memory of the image is that of an unknown length.
#[actix_web::test]
async fn hostile_68_a_chunked_body_that_also_declares_a_length_takes_the_memory_of_a_large_image() {
    const BUDGET: u64 = 100 << 20;
    let (open, gate) = watch::channel(false);
    let server = Server::start(move |_| {
        let image = png(3, 2);
        let chunk = [format!("{:x}\r\n", image.len()).as_bytes(), &image, b"\r\n"].concat();
        head(
            "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nContent-Length: 1",
            [
                Act::Send(chunk),
                Act::Gate(gate.clone()),
                Act::Send(b"0\r\n\r\n".to_vec()),
            ],
        )
    })
    .await;
    let budget = MemoryBudget::new(BUDGET);
    let limits = InputLimits {
        memory: budget.of(AccountId(Uuid::nil()), Duration::MAX),
        ..limits()
    };
    let (egress, prefix, urls) = (egress(), prefix(), [server.url("/")]);
    let ingestion = ingest(&egress, memory(), &prefix, &urls, &limits);
    let reserved = async {
        eventually("memory is reserved", async || budget.free() < BUDGET).await;
        let taken = BUDGET - budget.free();
        open.send(true).unwrap();
        taken
    };
    let (images, taken) = tokio::join!(ingestion, reserved);
    assert_eq!(images.unwrap().len(), 1);
    assert!(taken > 5 << 20, "{taken}");
    assert_eq!(budget.free(), BUDGET);
}
