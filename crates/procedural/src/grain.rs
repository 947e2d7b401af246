//! The grain: a tile of noise without clumps, for stippled shading, dither and paper texture.

use super::seed::lattice;

/// A square, seamlessly repeating tile in which every value from 0 to 255 is equally frequent.
#[derive(Debug)]
pub struct Grain {
    tile: Vec<u8>,
    /// Side minus one; the side is a power of two.
    mask: usize,
    shift: u32,
}

impl Grain {
    /// Grain whose specks are about `size` pixels wide (1 to 4).
    ///
    /// White noise has clumps that look like dirt. Subtracting a blurred copy leaves only fine detail, and ranking the result makes the
    /// distribution flat. All arithmetic uses integers.
    pub fn new(size: u32) -> Self {
        let size = size.clamp(1, 4) as usize;
        let shift = if size == 1 { 8 } else { 9 };
        let side = 1usize << shift;
        let mut noise: Vec<i32> = (0..side * side)
            .map(|i| (lattice(0xA5, (i % side) as i32, (i / side) as i32) * 4096.0) as i32)
            .collect();
        let mut low = noise.clone();
        if size > 1 {
            blur(&mut noise, side, size / 2);
            low.clone_from(&noise);
        }
        blur(&mut low, side, size + 1);
        let window = (2 * (size + 1) + 1) * (2 * (size + 1) + 1);
        let fine: Vec<i32> = noise
            .iter()
            .zip(&low)
            .map(|(n, l)| n - l / window as i32)
            .collect();
        Self {
            tile: rank(&fine),
            mask: side - 1,
            shift,
        }
    }

    /// The row of the tile for image row `y`. Index it with `x & mask`.
    pub fn row(&self, y: usize) -> &[u8] {
        let start = (y & self.mask) << self.shift;
        &self.tile[start..start + self.mask + 1]
    }

    /// The mask for column indices.
    pub fn mask(&self) -> usize {
        self.mask
    }
}

/// Box sums of radius `r` (not divided), wrapping at the edges, rows first and then columns.
fn blur(field: &mut [i32], side: usize, r: usize) {
    let mask = side - 1;
    let mut line = vec![0i32; side];
    for axis in 0..2 {
        let (step, stride) = if axis == 0 { (1, side) } else { (side, 1) };
        for start in (0..side).map(|i| i * stride) {
            for (i, slot) in line.iter_mut().enumerate() {
                *slot = field[start + i * step];
            }
            let mut sum: i32 = (0..=2 * r).map(|k| line[(side + k - r) & mask]).sum();
            for i in 0..side {
                field[start + i * step] = sum;
                sum += line[(i + r + 1) & mask] - line[(side + i - r) & mask];
            }
        }
    }
}

/// Replaces each value by its rank, scaled to 0..=255.
fn rank(values: &[i32]) -> Vec<u8> {
    let low = values.iter().copied().min().unwrap_or(0);
    let high = values.iter().copied().max().unwrap_or(1);
    let bins = 8192usize;
    let scale = i64::from(high - low).max(1);
    let bin = |v: i32| (i64::from(v - low) * (bins as i64 - 1) / scale) as usize;
    let mut counts = vec![0u32; bins];
    for &v in values {
        counts[bin(v)] += 1;
    }
    let mut below = 0u64;
    let total = values.len().max(1) as u64;
    let levels: Vec<u8> = counts
        .iter()
        .map(|&count| {
            let middle = below + u64::from(count) / 2;
            below += u64::from(count);
            (middle * 256 / total).min(255) as u8
        })
        .collect();
    values.iter().map(|&v| levels[bin(v)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_is_about_equally_frequent() {
        for size in [1, 2, 4] {
            let grain = Grain::new(size);
            let mut counts = [0usize; 4];
            for &v in &grain.tile {
                counts[usize::from(v) / 64] += 1;
            }
            let quarter = grain.tile.len() / 4;
            for count in counts {
                assert!(
                    count.abs_diff(quarter) < quarter / 20,
                    "{counts:?} of {quarter}"
                );
            }
        }
    }

    #[test]
    fn grain_rows_repeat_periodically() {
        let grain = Grain::new(1);
        assert_eq!(grain.row(3), grain.row(3 + 256));
        assert_eq!(grain.row(0).len(), grain.mask() + 1);
    }
}
