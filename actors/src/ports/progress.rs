//! How far a running picture is. It lives in memory, is lost at a restart, and no decision depends on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// No fraction has these bits: they are those of a NaN.
const UNKNOWN: u32 = u32::MAX;

/// Where a generator reports the progress of one run. Clones share the same value.
#[derive(Clone, Debug)]
pub struct Progress(Arc<AtomicU32>);

impl Default for Progress {
    fn default() -> Self {
        Self(Arc::new(AtomicU32::new(UNKNOWN)))
    }
}

impl Progress {
    /// Reports that this fraction of the picture is done. A value outside of 0 to 1 is clamped, a NaN is ignored.
    pub fn report(&self, fraction: f32) {
        if !fraction.is_nan() {
            let bits = fraction.clamp(0.0, 1.0).to_bits();
            self.0.store(bits, Ordering::Relaxed);
        }
    }

    /// Forgets the last report: another try begins from nothing.
    pub fn forget(&self) {
        self.0.store(UNKNOWN, Ordering::Relaxed);
    }

    /// The last report.
    pub fn fraction(&self) -> Option<f32> {
        match self.0.load(Ordering::Relaxed) {
            UNKNOWN => None,
            bits => Some(f32::from_bits(bits)),
        }
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
}
