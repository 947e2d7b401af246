//! Pictures are decoded here alone: within limits, and no more than two at a time in the whole process.
//!
//! A few bytes can unpack into hundreds of megabytes, and how many jobs run is the operator's choice. So what bounds the
//! memory is not the number of jobs but the gate: its permit lives as long as the work itself, also when nobody waits for
//! the outcome any more.

use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits};
use std::io::Cursor;
use tokio::sync::Semaphore;
use tokio::task::JoinError;

/// Longest side that is decoded: the longest of the published sizes has 12,288.
pub const MAX_SIDE: u32 = 16_384;
/// Most pixels that are decoded; the largest of the published sizes has 19 million.
pub const MAX_PIXELS: u64 = 64_000_000;
/// Memory that a decoder may take: that many pixels of four channels of 16 bits.
const MAX_ALLOC: u64 = MAX_PIXELS * 8;
/// Pictures that are decoded at a time.
const AT_A_TIME: usize = 2;

static GATE: Semaphore = Semaphore::const_new(AT_A_TIME);

/// Leave to decode. There is no other way to one than [`at_the_gate`], so nothing is decoded past it.
#[derive(Debug)]
pub struct Leave(());

impl Leave {
    /// For tests of what is decoded, which run in one thread each.
    #[cfg(test)]
    pub fn of_a_test() -> Self {
        Self(())
    }
}

/// Why a picture is not decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecodable {
    /// It is none, or a damaged one.
    Damaged,
    /// It would take too much memory.
    TooLarge,
}

impl From<ImageError> for Undecodable {
    fn from(error: ImageError) -> Self {
        match error {
            ImageError::Limits(_) => Self::TooLarge,
            _ => Self::Damaged,
        }
    }
}

/// Does work that decodes on the blocking pool, once it is its turn.
///
/// # Errors
/// The work has panicked, as decoders are known to do on hostile bytes, or the process is ending.
pub async fn at_the_gate<T: Send + 'static>(
    work: impl FnOnce(&Leave) -> T + Send + 'static,
) -> Result<T, JoinError> {
    // The gate is never closed, and there are more permits than none: an error cannot come.
    let permit = GATE.acquire().await.ok();
    tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work(&Leave(()))
    })
    .await
}

/// A picture whose header has been read, and nothing else yet.
pub struct Opened<D> {
    decoder: D,
    /// How it is to be turned for whoever looks at it.
    pub orientation: Orientation,
}

/// Reads the header of a picture.
///
/// # Errors
/// It cannot be decoded within the limits.
pub fn open(
    _: &Leave,
    bytes: &[u8],
    format: ImageFormat,
) -> Result<Opened<impl ImageDecoder>, Undecodable> {
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_ALLOC);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits);
    let mut decoder = reader.into_decoder()?;
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    // The limits are the decoder's own affair; these bounds hold whatever it makes of them.
    if width.max(height) > MAX_SIDE || pixels > MAX_PIXELS || decoder.total_bytes() > MAX_ALLOC {
        return Err(Undecodable::TooLarge);
    }
    if pixels == 0 {
        return Err(Undecodable::Damaged);
    }
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    Ok(Opened {
        decoder,
        orientation,
    })
}

impl<D: ImageDecoder> Opened<D> {
    /// Width and height as they are stored, before it is turned.
    pub fn dimensions(&self) -> (u32, u32) {
        self.decoder.dimensions()
    }

    /// The pixels of its first frame, turned upright.
    ///
    /// # Errors
    /// It is damaged further on, or larger than its header says.
    pub fn decode(self) -> Result<DynamicImage, Undecodable> {
        let mut image = DynamicImage::from_decoder(self.decoder)?;
        image.apply_orientation(self.orientation);
        Ok(image)
    }
}

/// The pixels of a picture of whichever known format, as they are stored.
///
/// # Errors
/// It cannot be decoded within the limits.
pub fn decode(leave: &Leave, bytes: &[u8]) -> Result<DynamicImage, Undecodable> {
    let format = image::guess_format(bytes)?;
    Ok(DynamicImage::from_decoder(
        open(leave, bytes, format)?.decoder,
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use futures_util::future::join_all;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use tokio::sync::mpsc::unbounded_channel;

    #[tokio::test]
    async fn two_at_a_time_are_decoded_also_when_nobody_waits_any_more() {
        let running = Arc::new(AtomicUsize::new(0));
        let (release, held) = mpsc::channel::<()>();
        let held = Arc::new(parking_lot::Mutex::new(held));
        let (begun, mut begins) = unbounded_channel();
        let work = || {
            let (running, held, begun) = (running.clone(), held.clone(), begun.clone());
            move |_: &Leave| {
                let others = running.fetch_add(1, Ordering::SeqCst);
                let _ = begun.send(others + 1);
                let _ = held.lock().recv();
                running.fetch_sub(1, Ordering::SeqCst);
            }
        };
        let given_up = [(); AT_A_TIME].map(|()| tokio::spawn(at_the_gate(work())));
        for number in 1..=AT_A_TIME {
            assert_eq!(begins.recv().await, Some(number));
        }
        for waiting in given_up {
            waiting.abort();
            assert!(waiting.await.unwrap_err().is_cancelled());
        }
        let mut further = std::pin::pin!(join_all((0..4).map(|_| at_the_gate(work()))));
        assert!(further.as_mut().now_or_never().is_none());
        assert!(begins.try_recv().is_err(), "no place is free");
        drop(release);
        assert!(further.await.iter().all(Result::is_ok));
        for _ in 0..4 {
            assert!(begins.recv().await.is_some_and(|it| it <= AT_A_TIME));
        }
    }

    #[tokio::test]
    async fn a_panic_gives_its_place_back() {
        for _ in 0..=AT_A_TIME {
            let panicked = at_the_gate(|_| panic!("as decoders do")).await;
            assert!(panicked.is_err_and(|it| it.is_panic()));
        }
    }

    #[test]
    fn what_unpacks_into_too_much_is_not_begun() {
        // A flat GIF of 10,000 x 10,000 is small, and has 400 MB of pixels.
        let screen = [0x10, 0x27, 0x10, 0x27, 0, 0, 0];
        let frame = [
            0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0x80, 0, 0, 0, 9, 9, 9, 2, 2, 0x44, 1, 0, 0x3b,
        ];
        let gif = [&b"GIF89a"[..], &screen, &frame].concat();
        let leave = Leave::of_a_test();
        let opened = open(&leave, &gif, ImageFormat::Gif);
        assert_eq!(opened.err(), Some(Undecodable::TooLarge));
        assert_eq!(
            decode(&leave, b"<html>").err(),
            Some(Undecodable::Damaged),
            "no picture"
        );
    }
}
