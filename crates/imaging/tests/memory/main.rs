//! The memory that a hostile picture takes, measured in a process of its own.

use bytes::Bytes;
use std::process::Command;
use tintype_imaging::decoding::open_any;
use tintype_imaging::fit::{Accepts, fit};
use tintype_imaging::{DecodePermits, ImageKind};

/// Names what the child process is to do.
const TASK: &str = "TINTYPE_IMAGING_TASK";
const SIDE: u32 = 8_000;

/// A small file with 64 million pixels of 8 bytes, on its side.
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

/// The most memory that this process has had, in MiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|it| it.starts_with("VmHWM:"));
    let kibibytes = line.and_then(|it| it.split_whitespace().nth(1)?.parse::<u64>().ok());
    kibibytes.expect("the peak") / 1_024
}

/// Does nothing by itself: the other tests run it in a process that has done nothing else.
#[test]
fn child() {
    let Ok(task) = std::env::var(TASK) else {
        return;
    };
    let picture = hostile();
    DecodePermits::unshared(|permit| match task.as_str() {
        "fit" => {
            let accepts = Accepts {
                kinds: &[ImageKind::Png, ImageKind::Jpeg],
                max_bytes: 50_000_000,
                heeds_orientation: false,
            };
            let fitted = fit(permit, picture, Some(ImageKind::Png), accepts).expect("it fits");
            assert!(fitted.bytes.len() <= accepts.max_bytes);
        }
        _ => {
            let opened = open_any(permit, &picture).expect("a header");
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
    let told = text.lines().find_map(|it| it.split_once("peak "));
    let peak = told.and_then(|(_, it)| it.split(' ').next()?.parse().ok());
    let peak = peak.unwrap_or_else(|| panic!("no peak in: {text}"));
    println!("{task}: {peak} MiB");
    peak
}

/// Decoded whole it has 512 MB of pixels, and as many again once it is turned.
#[test]
fn a_hostile_picture_is_made_to_fit_in_little_memory() {
    let peak = peak_of("fit");
    assert!(peak < 160, "{peak} MiB");
}

#[test]
fn a_hostile_picture_is_checked_row_by_row() {
    let peak = peak_of("inspect");
    assert!(peak < 40, "{peak} MiB");
}
