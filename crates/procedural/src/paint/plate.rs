//! The plate of a print: the input images side by side, at working size.

use image::RgbImage;

use crate::colour::hex;
use crate::exact::mix;

/// Rows of pixels with three values each.
pub struct Plate {
    pub w: usize,
    pub h: usize,
    /// Red, green and blue, row by row.
    pub px: Vec<[f32; 3]>,
}

/// How light a pixel is, from 0 to 255.
pub fn lightness(p: &[f32; 3]) -> f32 {
    0.3 * p[0] + 0.6 * p[1] + 0.1 * p[2]
}

/// One image fills the plate. Two share its long side. More form a grid. Strips of paper separate them.
pub fn lay_out(photos: &[RgbImage], w: usize, h: usize) -> Plate {
    let px = vec![hex(0xF4EEE0).array(); w * h];
    let mut plate = Plate { w, h, px };
    let n = photos.len();
    let wide = w as f32 / h as f32;
    let columns = match n {
        2 if wide >= 1.0 => 2,
        3 if wide >= 1.7 => 3,
        1 | 2 => 1,
        3 if wide <= 0.6 => 1,
        _ => ((n as f32 * wide).sqrt().round() as usize).clamp(1, n),
    };
    let rows = n.div_ceil(columns);
    let gap = if n == 1 { 0.0 } else { w.min(h) as f32 * 0.022 };
    let tall = (h as f32 - gap * (rows as f32 + 1.0)) / rows as f32;
    for (i, photo) in photos.iter().enumerate() {
        let (row, column) = (i / columns, i % columns);
        // The remaining images share the width of the last row.
        let in_row = columns.min(n - row * columns);
        let cell = (w as f32 - gap * (in_row as f32 + 1.0)) / in_row as f32;
        let x = gap + column as f32 * (cell + gap);
        let y = gap + row as f32 * (tall + gap);
        place(&mut plate, photo, (x, y, cell, tall));
    }
    plate
}

/// Stretches the lightness to the whole range, except the darkest and brightest fiftieth, because prints need contrast.
pub fn stretch(plate: &mut Plate) {
    let mut counts = [0usize; 256];
    for p in &plate.px {
        counts[(lightness(p) as usize).min(255)] += 1;
    }
    let part = |share: f32| {
        let mut left = (plate.px.len() as f32 * share) as usize;
        counts.iter().position(|&n| {
            let found = n > left;
            left = left.saturating_sub(n);
            found
        })
    };
    let low = part(0.02).unwrap_or(0) as f32 * 0.8;
    let high = (part(0.98).unwrap_or(255) as f32 + 1.0).max(low + 60.0);
    let gain = 246.0 / (high - low).min(246.0);
    for value in plate.px.iter_mut().flatten() {
        *value = (5.0 + (*value - low) * gain).clamp(0.0, 255.0);
    }
}

/// Covers a cell with a photograph, cropped more below than above, because faces are seldom in the lower third.
fn place(plate: &mut Plate, photo: &RgbImage, (x, y, w, h): (f32, f32, f32, f32)) {
    let (pw, ph) = (photo.width() as f32, photo.height() as f32);
    let scale = (pw / w).min(ph / h);
    let (ox, oy) = ((pw - w * scale) / 2.0, (ph - h * scale) * 0.36);
    let taps = (scale.ceil() as usize).clamp(1, 6);
    let tap = |i: usize| (i as f32 + 0.5) / taps as f32;
    for py in (y as usize)..((y + h).round() as usize).min(plate.h) {
        for px in (x as usize)..((x + w).round() as usize).min(plate.w) {
            let mut sum = [0.0f32; 3];
            for ty in 0..taps {
                for tx in 0..taps {
                    let sx = ox + (px as f32 - x.floor() + tap(tx)) * scale - 0.5;
                    let sy = oy + (py as f32 - y.floor() + tap(ty)) * scale - 0.5;
                    for (slot, value) in sum.iter_mut().zip(bilinear(photo, sx, sy)) {
                        *slot += value;
                    }
                }
            }
            plate.px[py * plate.w + px] = sum.map(|v| v / (taps * taps) as f32);
        }
    }
}

fn bilinear(photo: &RgbImage, x: f32, y: f32) -> [f32; 3] {
    let (w, h) = (photo.width(), photo.height());
    let (x, y) = (x.clamp(0.0, (w - 1) as f32), y.clamp(0.0, (h - 1) as f32));
    let (cx, cy) = (x as u32, y as u32);
    let (fx, fy) = (x - cx as f32, y - cy as f32);
    let at = |dx: u32, dy: u32| {
        let pixel = photo.get_pixel((cx + dx).min(w - 1), (cy + dy).min(h - 1));
        pixel.0.map(f32::from)
    };
    let (a, b, c, d) = (at(0, 0), at(1, 0), at(0, 1), at(1, 1));
    [0, 1, 2].map(|i| mix(mix(a[i], b[i], fx), mix(c[i], d[i], fx), fy))
}
