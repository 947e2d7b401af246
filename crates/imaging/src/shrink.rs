//! Shrinks an image as its rows arrive: each pixel of the result is the mean of its source area. Memory holds only the result and two
//! rows.

/// An image while it is shrunk: 8 bits in three channels, or four with alpha.
pub struct Shrink {
    from: (u32, u32),
    to: (u32, u32),
    channels: usize,
    /// The number of rows that have arrived.
    arrived: u32,
    /// The current source row, scaled to the width of the result.
    narrow: Vec<f32>,
    /// The sums for the current row of the result.
    sums: Vec<f32>,
    out: Vec<u8>,
}

/// A shrunk image.
pub struct Shrunk {
    pub width: u32,
    pub height: u32,
    pub channels: usize,
    pub bytes: Vec<u8>,
}

impl Shrink {
    /// `from` is width and height. No side of the result is longer than `longest`.
    pub fn new(from: (u32, u32), longest: u32, channels: usize) -> Self {
        let to = scale_to_fit(from, longest);
        let line = to.0 as usize * channels;
        Self {
            from,
            to,
            channels,
            arrived: 0,
            narrow: vec![0.0; line],
            sums: vec![0.0; line],
            out: Vec::with_capacity(line * to.1 as usize),
        }
    }

    pub fn push(&mut self, row: &[u8]) {
        if self.from == self.to {
            self.out.extend_from_slice(row);
            return;
        }
        self.shrink_row(row);
        let step = f64::from(self.from.1) / f64::from(self.to.1);
        let (top, bottom) = (f64::from(self.arrived), f64::from(self.arrived + 1));
        self.arrived += 1;
        let mut at = top;
        while at < bottom {
            let line = (self.out.len() / self.narrow.len()) as u32;
            let end = f64::from(line + 1) * step;
            // Rounding may leave a remainder below the last row.
            if line >= self.to.1 {
                return;
            }
            let share = (bottom.min(end) - at) as f32;
            for (sum, value) in self.sums.iter_mut().zip(&self.narrow) {
                *sum += value * share;
            }
            at = bottom.min(end);
            if at >= end - 1e-6 {
                self.write_line();
            }
        }
    }

    /// Returns the image, after all rows have been pushed.
    pub fn finish(mut self) -> Shrunk {
        let whole = self.narrow.len() * self.to.1 as usize;
        if self.out.len() < whole && self.from != self.to {
            self.write_line();
        }
        self.out.resize(whole, 0);
        Shrunk {
            width: self.to.0,
            height: self.to.1,
            channels: self.channels,
            bytes: self.out,
        }
    }

    /// Scales a row to the width of the result. Weights colours by their alpha.
    fn shrink_row(&mut self, row: &[u8]) {
        let channels = self.channels;
        let step = f64::from(self.from.0) / f64::from(self.to.0);
        for (x, pixel) in self.narrow.chunks_exact_mut(channels).enumerate() {
            pixel.fill(0.0);
            let (start, end) = (x as f64 * step, (x as f64 + 1.0) * step);
            let last = (end.ceil() as usize).min(self.from.0 as usize);
            for at in start as usize..last {
                let share = (end.min(at as f64 + 1.0) - start.max(at as f64)) as f32;
                let source = &row[at * channels..][..channels];
                let weight = match source.get(3) {
                    Some(opacity) => share * f32::from(*opacity) / 255.0,
                    None => share,
                };
                for (sum, value) in pixel.iter_mut().zip(&source[..3]) {
                    *sum += f32::from(*value) * weight;
                }
                if let Some(opacity) = pixel.get_mut(3) {
                    *opacity += weight;
                }
            }
        }
    }

    fn write_line(&mut self) {
        let area = f64::from(self.from.0) / f64::from(self.to.0) * f64::from(self.from.1)
            / f64::from(self.to.1);
        let area = area as f32;
        for sums in self.sums.chunks_exact(self.channels) {
            let weight = sums.get(3).copied().unwrap_or(area);
            let byte = |value: f32| (value + 0.5) as u8;
            let colour = |sum: f32| byte(sum / weight.max(f32::MIN_POSITIVE));
            self.out.extend(sums[..3].iter().map(|sum| colour(*sum)));
            if self.channels == 4 {
                self.out.push(byte(weight / area * 255.0));
            }
        }
        self.sums.fill(0.0);
    }
}

/// Scales a size so that no side is longer than `longest`.
fn scale_to_fit((width, height): (u32, u32), longest: u32) -> (u32, u32) {
    let long = width.max(height);
    if long <= longest {
        return (width, height);
    }
    let side = |side: u32| {
        let scaled = (u64::from(side) * u64::from(longest) + u64::from(long) / 2) / u64::from(long);
        u32::try_from(scaled).map_or(longest, |it| it.clamp(1, longest))
    };
    (side(width), side(height))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shrunk(from: (u32, u32), longest: u32, channels: usize, bytes: &[u8]) -> Shrunk {
        let mut shrink = Shrink::new(from, longest, channels);
        bytes
            .chunks_exact(from.0 as usize * channels)
            .for_each(|row| shrink.push(row));
        shrink.finish()
    }

    #[test]
    fn a_flat_image_stays_flat_at_every_size() {
        for (width, height) in [(1, 1), (1, 50), (50, 1), (7, 13), (64, 48), (101, 100)] {
            for channels in [3, 4] {
                let flat: Vec<u8> = [201, 7, 99, 130][..channels].to_vec();
                let bytes = flat.repeat((width * height) as usize);
                for longest in 1..=width.max(height) {
                    let small = shrunk((width, height), longest, channels, &bytes);
                    assert_eq!(small.width.max(small.height), longest);
                    let count = (small.width * small.height) as usize;
                    assert_eq!(
                        small.bytes,
                        flat.repeat(count),
                        "{width}x{height} {longest}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_pixel_is_the_mean_of_its_area() {
        let grey = |values: &[u8]| -> Vec<u8> { values.iter().flat_map(|it| [*it; 3]).collect() };
        let small = shrunk((4, 2), 2, 3, &grey(&[0, 10, 100, 200, 20, 30, 100, 200]));
        assert_eq!(small.bytes, grey(&[15, 150]));
        let thirds = shrunk((3, 3), 2, 3, &grey(&[0, 90, 90, 0, 90, 90, 0, 90, 90]));
        assert_eq!(thirds.bytes, grey(&[30, 90, 30, 90]));
    }

    #[test]
    fn transparent_pixels_contribute_no_colour() {
        let small = shrunk((2, 1), 1, 4, &[200, 100, 50, 255, 0, 255, 0, 0]);
        assert_eq!(small.bytes, [200, 100, 50, 128]);
    }
}
