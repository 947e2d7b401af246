//! Image-to-image: lays out the inputs on a plate, prints it in flat strokes, few levels of lightness and outlines, with colours half
//! from the palette, and adds the things that the prompt names.

use image::RgbImage;

use super::{cast, places, sky, weather};
use crate::colour::{Rgb, hex};
use crate::exact::mix;
use crate::fill::Fill;
use crate::lexicon::{Light, Style, Time, Weather};
use crate::seed::Seed;
use crate::studio::{Studio, rough};

/// Long side of the plate in pixels: the strokes are a few of these pixels wide.
const WORKING: f32 = 900.0;

/// Prints the photographs over the whole canvas and adds the things that the prompt names.
pub fn paint(studio: &mut Studio<'_>, photos: &[RgbImage]) {
    let scale = (WORKING / studio.w().max(studio.h())).min(1.0);
    let [w, h] = [studio.w(), studio.h()].map(|side| (side * scale).max(1.0) as usize);
    let mut plate = lay_out(photos, w, h);
    stretch(&mut plate);
    let brushed = brush(&plate);
    let ink = outline(&brushed);
    print(studio, &brushed, &ink);
    add(studio);
}

/// Draws the things that the prompt names over the print.
fn add(studio: &mut Studio<'_>) {
    let (_, h, s) = studio.size();
    let plan = studio.plan;
    let moon = plan.has(Light::Moon);
    if plan.has(Light::Stars) || (plan.time == Time::Night && moon) {
        sky::stars(studio, 0.6);
    }
    if moon || plan.has(Light::Sun) {
        sky::disc(studio, moon);
    }
    if matches!(plan.time, Time::Sunset | Time::Dawn) {
        studio.glow(studio.sun, s * 0.9, studio.palette.disc, 0.45);
    }
    if plan.weather == Weather::Fog {
        weather::mist(studio, h * 0.62, s * 0.4, 0.8);
    }
    let mut seed = studio.seed.branch(70);
    if cast::fills(studio.plan, cast::Spot::Front) {
        drift(studio, &mut seed);
    }
    places::front(studio, h * 0.955, &mut seed);
}

/// A strip of ground at the lower edge for things in front of the photograph.
fn drift(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (_, h, s) = studio.size();
    let key = seed.bits() as u32;
    let [bright, shade] = studio.palette.ground;
    let base = h - s * 0.10;
    let light = studio.rim((0.1, -1.0), s * 0.02, 0.6);
    let ink = Fill::down(&[bright, bright.to(shade, 0.6), shade], base - s * 0.04, h)
        .stippled(0.6)
        .lit(light);
    studio.fill_below(
        |x| base - s * 0.06 * (rough(key, x / s * 0.9) - 0.4),
        h + s,
        &ink,
    );
}

/// Rows of pixels with three values each.
struct Plate {
    w: usize,
    h: usize,
    /// Red, green and blue, row by row.
    px: Vec<[f32; 3]>,
}

/// How light a pixel is, from 0 to 255.
fn lightness(p: &[f32; 3]) -> f32 {
    0.3 * p[0] + 0.6 * p[1] + 0.1 * p[2]
}

/// One image fills the plate. Two share its long side. More form a grid. Strips of paper separate them.
fn lay_out(photos: &[RgbImage], w: usize, h: usize) -> Plate {
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
fn stretch(plate: &mut Plate) {
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

/// Radius of the brush on the plate.
const BRUSH: usize = 4;
/// Levels of lightness in the print.
const LEVELS: f32 = 9.0;

/// Kuwahara filter: each pixel gets the mean of the most uniform of four squares around it, which gives flat strokes and keeps edges.
fn brush(plate: &Plate) -> Plate {
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
fn outline(plate: &Plate) -> Vec<f32> {
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
fn print(studio: &mut Studio<'_>, plate: &Plate, ink: &[f32]) {
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
