//! Measures the memory for a hostile image in a separate process.

use bytes::Bytes;
use std::process::Command;
use tintype_imaging::decoding::open_any;
use tintype_imaging::fit::{Accepts, fit};
use tintype_imaging::{DecodePermits, ImageKind};

/// The task of the child process.
const TASK: &str = "TINTYPE_IMAGING_TASK";
const SIDE: u32 = 8_000;

/// A small file with 64 million pixels of 8 bytes and a rotated orientation.
fn hostile() -> Bytes {
    let mut info = png::Info::with_size(SIDE, SIDE);
    info.color_type = png::ColorType::Rgba;
    info.bit_depth = png::BitDepth::Sixteen;
    info.exif_metadata = Some(
        b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
            .as_slice()
            .into(),
    );
    let mut file = Vec::new();
    let encoder = png::Encoder::with_info(&mut file, info).expect("an encoder");
    let mut writer = encoder.write_header().expect("a header");
    let mut stream = writer.stream_writer().expect("a stream");
    let row = vec![0x7f; SIDE as usize * 8];
    for _ in 0..SIDE {
        std::io::Write::write_all(&mut stream, &row).expect("a row");
    }
    stream.finish().expect("the end");
    writer.finish().expect("the end");
    assert!(file.len() < 4 << 20, "{} bytes", file.len());
    file.into()
}

/// The peak memory of this process, in MiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|it| it.starts_with("VmHWM:"));
    let kibibytes = line.and_then(|it| it.split_whitespace().nth(1)?.parse::<u64>().ok());
    kibibytes.expect("the peak") / 1_024
}

/// Does nothing without a task: the other tests run it in a fresh process.
#[test]
fn child() {
    let Ok(task) = std::env::var(TASK) else {
        return;
    };
    let image = hostile();
    DecodePermits::unshared(|permit| match task.as_str() {
        "fit" => {
            let accepts = Accepts {
                kinds: &[ImageKind::Png, ImageKind::Jpeg],
                max_bytes: 50_000_000,
            };
            let fitted = fit(permit, image, Some(ImageKind::Png), accepts).expect("it fits");
            assert!(fitted.bytes.len() <= accepts.max_bytes);
        }
        _ => {
            let opened = open_any(permit, &image).expect("a header");
            assert_eq!(opened.dimensions(), (SIDE, SIDE));
            let inspection = opened.inspect();
            assert!(inspection.expect("whole").single_colour);
        }
    });
    println!("peak {} MiB", peak());
}

fn peak_of(task: &str) -> u64 {
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "child", "--nocapture"])
        .env(TASK, task)
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    let line = text.lines().find_map(|it| it.split_once("peak "));
    let peak = line.and_then(|(_, it)| it.split(' ').next()?.parse().ok());
    let peak = peak.unwrap_or_else(|| panic!("no peak in: {text}"));
    println!("{task}: {peak} MiB");
    peak
}

/// Decoded at once it has 512 MB of pixels, and as many again when it is rotated.
#[test]
fn a_hostile_image_is_converted_in_little_memory() {
    let peak = peak_of("fit");
    assert!(peak < 160, "{peak} MiB");
}

#[test]
fn a_hostile_image_is_checked_row_by_row() {
    let peak = peak_of("inspect");
    assert!(peak < 40, "{peak} MiB");
}
