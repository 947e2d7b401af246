//! Light on water: reflections, and the glitter path under sun or moon.

use crate::exact::mix;
use crate::fill::Fill;
use crate::lexicon::Weather;
use crate::shape::Point;
use crate::studio::{Studio, noise};

use super::waves::lens;

/// Fills the strip from `line` down to `bottom` with the image above `line`, upside down, rippled and tinted.
pub fn flip(
    studio: &mut Studio<'_>,
    (left, right): (f32, f32),
    line: f32,
    bottom: f32,
    tint: f32,
    ripple: f32,
) {
    let key = studio.seed.branch(36).bits() as u32;
    let s = studio.short();
    let canvas = &mut studio.canvas;
    let (width, height) = (canvas.width as i32, canvas.height as i32);
    let x0 = (left as i32).clamp(0, width);
    let x1 = (right as i32).clamp(0, width);
    let y0 = (line as i32).clamp(1, height);
    let y1 = (bottom as i32).clamp(0, height);
    let [_, middle, low] = studio.palette.sky;
    let deep = studio.palette.range[2]
        .to(studio.palette.dark, 0.35)
        .to(middle, 0.25);
    let run = ((s / 260.0) as i32).max(1);
    for y in y0..y1 {
        let depth = (y - y0) as f32;
        let far = (depth / (s * 0.45)).min(1.0);
        let wave = s * (0.004 + 0.022 * far);
        let band = (y as f32) / wave;
        let source = (y0
            - 1
            - (depth * (0.9 + 0.35 * far)) as i32
            - ((noise(key, band) - 0.5) * wave * 2.0 * ripple) as i32)
            .clamp(0, y0 - 1);
        let toned = low.to(deep, 0.25 + 0.65 * far).array();
        let keep = 1.0 - mix(tint, (tint + 0.35).min(0.9), far);
        let grain = (canvas.grain.row(y as usize).to_vec(), canvas.grain.mask());
        let mut x = x0;
        while x < x1 {
            let along = x as f32 / (s * (0.03 + 0.07 * far));
            let push = (noise(key ^ 0x55, along + band * 0.8) - 0.5)
                * (noise(key ^ 0x99, band * 0.7) - 0.2)
                * s
                * (0.012 + 0.05 * far)
                * ripple;
            for k in x..(x + run).min(x1) {
                let from = (source * width + (k + push as i32).clamp(0, width - 1)) as usize * 3;
                let to = (y * width + k) as usize * 3;
                let dither = (f32::from(grain.0[k as usize & grain.1]) - 128.0) / 64.0;
                for (c, tone) in toned.iter().enumerate() {
                    let value =
                        f32::from(canvas.pixels[from + c]) * keep + tone * (1.0 - keep) + dither;
                    canvas.pixels[to + c] = value.clamp(0.0, 255.0) as u8;
                }
            }
            x += run;
        }
    }
}

/// Mirrors at the water line only what was drawn after the rows were copied.
pub fn reflect(studio: &mut Studio<'_>, before: &(usize, Vec<u8>), (x, line): Point, tall: f32) {
    let key = studio.seed.branch(38).bits() as u32;
    let canvas = &mut studio.canvas;
    let (width, height) = (canvas.width, canvas.height);
    let left = (x - tall * 0.7).max(0.0) as usize;
    let right = ((x + tall * 0.7).max(0.0) as usize).min(width);
    let (first, rows) = before;
    let line = line.max(1.0) as usize;
    for y in line..(line + (tall * 0.75) as usize).min(height) {
        let depth = (y - line) as f32 / tall;
        let band = depth * 38.0;
        let lift = ((noise(key, band) - 0.5) * 0.03 * tall * depth.sqrt()) as isize;
        let Some(source) = (2 * line)
            .saturating_sub(y + 1)
            .checked_add_signed(lift)
            .filter(|s| s >= first && *s < line)
        else {
            continue;
        };
        let push = ((noise(key ^ 5, band * 1.3) - 0.5) * tall * (0.01 + 0.09 * depth)) as isize;
        for column in left..right {
            let Some(from) = column.checked_add_signed(push).filter(|c| *c < width) else {
                continue;
            };
            let now = (source * width + from) * 3;
            let old = ((source - first) * width + from) * 3;
            let Some(was) = rows.get(old..old + 3) else {
                continue;
            };
            if canvas.pixels[now..now + 3] == *was {
                continue;
            }
            let to = (y * width + column) * 3;
            for c in 0..3 {
                let mixed = f32::from(canvas.pixels[now + c]) * 0.52 * (1.0 - depth * 0.7);
                canvas.pixels[to + c] =
                    (f32::from(canvas.pixels[to + c]) * (0.48 + 0.52 * depth * 0.7) + mixed) as u8;
            }
        }
    }
}

/// The path of light under sun or moon.
pub fn glitter(studio: &mut Studio<'_>, line: f32, bottom: f32, strength: f32) {
    if matches!(
        studio.plan.weather,
        Weather::Storm | Weather::Rain | Weather::Fog
    ) {
        return;
    }
    let mut seed = studio.seed.branch(37);
    let s = studio.short();
    let (x, colour) = (studio.sun.0, studio.palette.disc);
    studio.glow((x, line + s * 0.02), s * 0.42, colour, 0.34 * strength);
    for i in 0..170 {
        let t = i as f32 / 170.0;
        let y = line + (bottom - line) * t * t.sqrt();
        let near = ((y - line) / (s * 0.42)).clamp(0.0, 1.0);
        let spread = s * (0.030 + 0.085 * near);
        let at = (x + spread * (seed.unit() + seed.unit() - 1.0) * 1.3, y);
        let half = s * (0.010 + 0.045 * near) * seed.range(0.3, 1.0);
        let fill =
            Fill::flat(colour).faint(strength * seed.range(0.35, 0.85) * (1.0 - 0.45 * near));
        lens(studio, at, half, s * (0.0012 + 0.0042 * near), &fill);
    }
}
