//! The progress and the previews of an image in generation. Kept in memory, lost at a restart; no decision depends on them.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// These bits are a NaN, which no fraction is.
const UNKNOWN: u32 = u32::MAX;
/// Larger previews are dropped.
const MAX_PREVIEW_BYTES: usize = 4 * 1024 * 1024;
/// Each read of a preview keeps the run watched for this time.
const WATCHED_FOR: Duration = Duration::from_secs(5);

/// A small, rough version of an unfinished image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    pub bytes: Arc<[u8]>,
    pub media_type: &'static str,
}

/// The progress of one run, reported by its generator. Clones share the same values.
#[derive(Clone, Debug)]
pub struct Progress(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    fraction: AtomicU32,
    preview: Mutex<PreviewSlot>,
}

#[derive(Debug, Default)]
struct PreviewSlot {
    until: Option<Instant>,
    preview: Option<Preview>,
}

impl PreviewSlot {
    fn is_watched(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() < until)
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self(Arc::new(Shared {
            fraction: AtomicU32::new(UNKNOWN),
            preview: Mutex::default(),
        }))
    }
}

impl Progress {
    /// Reports the finished fraction of the image. A value outside 0 to 1 is clamped, a NaN is ignored.
    pub fn report(&self, fraction: f32) {
        if !fraction.is_nan() {
            let bits = fraction.clamp(0.0, 1.0).to_bits();
            self.0.fraction.store(bits, Ordering::Relaxed);
        }
    }

    /// Resets the progress for the next attempt.
    pub fn reset(&self) {
        self.0.fraction.store(UNKNOWN, Ordering::Relaxed);
        self.0.preview.lock().preview = None;
    }

    /// The last report.
    pub fn fraction(&self) -> Option<f32> {
        match self.0.fraction.load(Ordering::Relaxed) {
            UNKNOWN => None,
            bits => Some(f32::from_bits(bits)),
        }
    }

    /// Does a page show the previews? If not, generators request none from their backends.
    pub fn is_watched(&self) -> bool {
        self.0.preview.lock().is_watched()
    }

    /// Sets the newest preview. Drops it if it is too large or no page shows it.
    pub fn show(&self, preview: Preview) {
        let mut watched = self.0.preview.lock();
        if watched.is_watched() && preview.bytes.len() <= MAX_PREVIEW_BYTES {
            watched.preview = Some(preview);
        }
    }

    /// Returns the last preview, and keeps the run watched for some seconds.
    pub fn watch(&self) -> Option<Preview> {
        let mut watched = self.0.preview.lock();
        watched.until = Some(Instant::now() + WATCHED_FOR);
        watched.preview.clone()
    }

    /// Drops a preview that no page shows any more. Returns true if the run is watched.
    pub fn is_watched_or_clear(&self) -> bool {
        let mut watched = self.0.preview.lock();
        let is_watched = watched.is_watched();
        if !is_watched {
            watched.preview = None;
        }
        is_watched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_clamped_and_nan_is_ignored() {
        let progress = Progress::default();
        for (reported, stored) in [
            (-1.0, 0.0),
            (0.0, 0.0),
            (1.0, 1.0),
            (7.5, 1.0),
            (f32::NEG_INFINITY, 0.0),
            (f32::INFINITY, 1.0),
        ] {
            progress.report(reported);
            assert_eq!(progress.fraction(), Some(stored), "{reported}");
        }
        progress.report(0.5);
        progress.report(f32::NAN);
        assert_eq!(progress.fraction(), Some(0.5));
    }

    fn preview(bytes: usize) -> Preview {
        Preview {
            bytes: vec![0; bytes].into(),
            media_type: "image/png",
        }
    }

    #[test]
    fn a_preview_is_stored_only_while_it_is_watched() {
        let progress = Progress::default();
        assert!(!progress.is_watched());
        progress.show(preview(1));
        assert_eq!(progress.watch(), None, "no page has asked");
        assert!(progress.is_watched());
        progress.show(preview(1));
        progress.show(preview(MAX_PREVIEW_BYTES + 1));
        assert_eq!(progress.watch(), Some(preview(1)));
        assert!(progress.is_watched_or_clear());
        progress.0.preview.lock().until = Some(Instant::now());
        assert!(!progress.is_watched() && !progress.is_watched_or_clear());
        assert_eq!(progress.watch(), None, "it was dropped");
        progress.show(preview(2));
        progress.reset();
        assert_eq!(progress.watch(), None, "another attempt has begun");
    }
}
