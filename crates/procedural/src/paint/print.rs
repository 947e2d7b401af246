//! Prints a plate: flat strokes, few levels of lightness, outlines, and colours half from the palette.

use crate::colour::Rgb;
use crate::exact::mix;
use crate::lexicon::{Style, Time, Weather};
use crate::studio::Studio;

use super::plate::{Plate, lightness};

/// Radius of the brush on the plate.
const BRUSH: usize = 4;
/// Levels of lightness in the print.
const LEVELS: f32 = 9.0;

/// Kuwahara filter: each pixel gets the mean of the most uniform of four squares around it, which gives flat strokes and keeps edges.
pub fn brush(plate: &Plate) -> Plate {
    let (w, h) = (plate.w, plate.h);
    let stride = w + 1;
    // Sums over all pixels above and to the left: red, green, blue, lightness, its square. Integers, so exact.
    let mut sums = vec![[0u64; 5]; stride * (h + 1)];
    for y in 0..h {
        let mut row = [0u64; 5];
        for x in 0..w {
            let [r, g, b] = plate.px[y * w + x].map(|v| v as u64);
            let light = (r * 3 + g * 6 + b) / 10;
            for (slot, v) in row.iter_mut().zip([r, g, b, light, light * light]) {
                *slot += v;
            }
            let above = sums[y * stride + x + 1];
            for (k, slot) in sums[(y + 1) * stride + x + 1].iter_mut().enumerate() {
                *slot = above[k] + row[k];
            }
        }
    }
    let square = |x0: usize, y0: usize, x1: usize, y1: usize| {
        let a = sums[y0 * stride + x0];
        let b = sums[y0 * stride + x1];
        let c = sums[y1 * stride + x0];
        let d = sums[y1 * stride + x1];
        let n = ((x1 - x0) * (y1 - y0)) as f32;
        let mean = |k: usize| (d[k] + a[k] - b[k] - c[k]) as f32 / n;
        let light = mean(3);
        ([mean(0), mean(1), mean(2)], mean(4) - light * light)
    };
    let mut px = Vec::with_capacity(w * h);
    for y in 0..h {
        let (up, down) = (y.saturating_sub(BRUSH), (y + BRUSH + 1).min(h));
        for x in 0..w {
            let (left, right) = (x.saturating_sub(BRUSH), (x + BRUSH + 1).min(w));
            let quarters = [
                square(left, up, x + 1, y + 1),
                square(x, up, right, y + 1),
                square(left, y, x + 1, down),
                square(x, y, right, down),
            ];
            let best = quarters
                .iter()
                .fold(&quarters[0], |best, q| if q.1 < best.1 { q } else { best });
            px.push(best.0);
        }
    }
    Plate { w, h, px }
}

/// The ink of the outlines at each pixel, 0 to 1.
pub fn outline(plate: &Plate) -> Vec<f32> {
    let light: Vec<f32> = plate.px.iter().map(lightness).collect();
    let at = |x: usize, y: usize| light[y.min(plate.h - 1) * plate.w + x.min(plate.w - 1)];
    let mut ink = Vec::with_capacity(light.len());
    for y in 0..plate.h {
        for x in 0..plate.w {
            let (l, u) = (x.saturating_sub(1), y.saturating_sub(1));
            let gx = at(x + 1, u) + 2.0 * at(x + 1, y) + at(x + 1, y + 1)
                - at(l, u)
                - 2.0 * at(l, y)
                - at(l, y + 1);
            let gy = at(l, y + 1) + 2.0 * at(x, y + 1) + at(x + 1, y + 1)
                - at(l, u)
                - 2.0 * at(x, u)
                - at(x + 1, u);
            ink.push((((gx * gx + gy * gy).sqrt() - 70.0) / 240.0).clamp(0.0, 1.0));
        }
    }
    ink
}

/// The colours of the palette from dark to light, in 256 steps.
fn ramp(studio: &Studio<'_>, poster: bool) -> Vec<[f32; 3]> {
    let palette = &studio.palette;
    let [far, middle, near] = palette.range;
    let mut ends: [Rgb; 6] = [
        palette.dark,
        near,
        if poster { palette.accent } else { middle },
        far.to(palette.ground[0], 0.5),
        palette.sky[2],
        palette.light,
    ];
    ends.sort_by(|a, b| a.lightness().total_cmp(&b.lightness()));
    let tone = |i: usize| {
        let t = i as f32 / 255.0 * 5.0;
        let k = (t as usize).min(4);
        ends[k].to(ends[k + 1], t - k as f32).array()
    };
    (0..256).map(tone).collect()
}

/// Interpolates the colour of the plate and the ink of its outlines between pixels.
fn sample(plate: &Plate, ink: &[f32], u: f32, v: f32) -> ([f32; 3], f32) {
    let u = (u - 0.5).clamp(0.0, (plate.w - 1) as f32);
    let v = (v - 0.5).clamp(0.0, (plate.h - 1) as f32);
    let (left, fx, top, fy) = (u as usize, u - u.floor(), v as usize, v - v.floor());
    let (right, bottom) = ((left + 1).min(plate.w - 1), (top + 1).min(plate.h - 1));
    let (mut own, mut line) = ([0.0f32; 3], 0.0);
    for (x, y, weight) in [
        (left, top, (1.0 - fx) * (1.0 - fy)),
        (right, top, fx * (1.0 - fy)),
        (left, bottom, (1.0 - fx) * fy),
        (right, bottom, fx * fy),
    ] {
        let at = y * plate.w + x;
        for (sum, value) in own.iter_mut().zip(plate.px[at]) {
            *sum += value * weight;
        }
        line += ink[at] * weight;
    }
    (own, line)
}

/// Prints each pixel with stepped lightness, stippled between the steps, in colours half its own and half the palette's.
pub fn print(studio: &mut Studio<'_>, plate: &Plate, ink: &[f32]) {
    let plan = studio.plan;
    let lit = plan.time != Time::Any || plan.weather != Weather::Clear;
    let poster = plan.style.is_retro() || plan.style.is_neon();
    let share = match poster {
        true => 0.85,
        false if lit || plan.tint.is_some() => 0.55,
        false => 0.36,
    };
    let watery = plan.style == Style::Watercolour;
    let exposure = if plan.time == Time::Night { 0.72 } else { 1.0 };
    let inking = if watery { 0.35 } else { 0.75 };
    let ramp = ramp(studio, poster);
    let dark = studio.palette.dark.array();
    let canvas = &mut studio.canvas;
    let (sx, sy) = (plate.w as f32 / canvas.w(), plate.h as f32 / canvas.h());
    let columns = canvas.grain.mask();
    for (y, row) in canvas.pixels.chunks_exact_mut(canvas.width * 3).enumerate() {
        let grain = canvas.grain.row(y);
        for (x, pixel) in row.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            let (u, v) = ((x as f32 + 0.5) * sx, (y as f32 + 0.5) * sy);
            let (own, line) = sample(plate, ink, u, v);
            let light = lightness(&own).clamp(1.0, 255.0);
            let noise = f32::from(grain[x & columns]) / 255.0 - 0.5;
            let step = if watery {
                light
            } else {
                ((light / 255.0 * LEVELS + noise * 0.9).round() / LEVELS * 255.0).clamp(4.0, 255.0)
            };
            let print = ramp[step as usize];
            let gain = step / light * exposure;
            for c in 0..3 {
                let vivid = light + (own[c] - light) * 1.22;
                let value = mix(vivid * gain, print[c], share);
                pixel[c] = mix(value, dark[c], line * inking).clamp(0.0, 255.0) as u8;
            }
        }
    }
}
