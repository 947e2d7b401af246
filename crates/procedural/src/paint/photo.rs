//! Image-to-image: the inputs, laid out and printed anew in the colours of the prompt.

use image::RgbImage;

use crate::colour::{Rgb, hex};
use crate::exact::mix;
use crate::ink::Ink;
use crate::lexicon::{Light, Style, Time, Weather};
use crate::seed::Seed;
use crate::studio::{Studio, rough};

use super::{bank, cast, places, sky, weather};

/// Long side of the working copy in pixels: the strokes are a few of these pixels wide.
const WORKING: f32 = 900.0;
/// Radius of the brush on the working copy.
const BRUSH: usize = 4;
/// Steps of lightness that are printed.
const LEVELS: f32 = 9.0;

/// The inputs at working size, three values per pixel.
struct Plate {
    w: usize,
    h: usize,
    px: Vec<[f32; 3]>,
}

/// Prints the photographs over the whole canvas and adds what the prompt names.
pub fn paint(studio: &mut Studio<'_>, photos: &[RgbImage]) {
    let scale = (WORKING / studio.w().max(studio.h())).min(1.0);
    let w = (studio.w() * scale).max(1.0) as usize;
    let h = (studio.h() * scale).max(1.0) as usize;
    let mut plate = lay_out(photos, w, h);
    stretch(&mut plate);
    let brushed = brush(&plate);
    let inked = outline(&brushed);
    print(studio, &brushed, &inked);
    add(studio);
}

/// One picture fills the plate; two share its long side; more make a grid. Between them is a strip of paper.
fn lay_out(photos: &[RgbImage], w: usize, h: usize) -> Plate {
    let paper = hex(0xF4EEE0).array();
    let mut plate = Plate {
        w,
        h,
        px: vec![paper; w * h],
    };
    let n = photos.len();
    let wide = w as f32 / h as f32;
    let columns = match n {
        1 => 1,
        2 => {
            if wide >= 1.0 {
                2
            } else {
                1
            }
        }
        3 if wide >= 1.7 => 3,
        3 if wide <= 0.6 => 1,
        _ => ((n as f32 * wide).sqrt().round() as usize).clamp(1, n),
    };
    let rows = n.div_ceil(columns);
    let gap = if n == 1 { 0.0 } else { w.min(h) as f32 * 0.022 };
    let tall = (h as f32 - gap * (rows as f32 + 1.0)) / rows as f32;
    for (i, photo) in photos.iter().enumerate() {
        let (row, column) = (i / columns, i % columns);
        // The last row shares its width among what is left.
        let in_row = if row + 1 == rows {
            n - row * columns
        } else {
            columns
        };
        let cell = (w as f32 - gap * (in_row as f32 + 1.0)) / in_row as f32;
        let x = gap + column as f32 * (cell + gap);
        let y = gap + row as f32 * (tall + gap);
        place(&mut plate, photo, (x, y, cell, tall));
    }
    plate
}

/// Spreads the lightness over the whole range, without the darkest and brightest fiftieth: prints need contrast.
fn stretch(plate: &mut Plate) {
    let mut counts = [0usize; 256];
    for p in &plate.px {
        counts[((0.3 * p[0] + 0.6 * p[1] + 0.1 * p[2]) as usize).min(255)] += 1;
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

/// Covers a cell with a photograph, cropped more below than above: faces are seldom in the lower third.
fn place(plate: &mut Plate, photo: &RgbImage, (x, y, w, h): (f32, f32, f32, f32)) {
    let (pw, ph) = (photo.width() as f32, photo.height() as f32);
    let scale = (pw / w).min(ph / h);
    let (ox, oy) = ((pw - w * scale) / 2.0, (ph - h * scale) * 0.36);
    let taps = (scale.ceil() as usize).clamp(1, 6);
    for py in (y as usize)..((y + h).round() as usize).min(plate.h) {
        for px in (x as usize)..((x + w).round() as usize).min(plate.w) {
            let mut sum = [0.0f32; 3];
            for ty in 0..taps {
                for tx in 0..taps {
                    let sx = ox + (px as f32 - x.floor() + (tx as f32 + 0.5) / taps as f32) * scale
                        - 0.5;
                    let sy = oy + (py as f32 - y.floor() + (ty as f32 + 0.5) / taps as f32) * scale
                        - 0.5;
                    let texel = bilinear(photo, sx, sy);
                    for (slot, value) in sum.iter_mut().zip(texel) {
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
        photo
            .get_pixel((cx + dx).min(w - 1), (cy + dy).min(h - 1))
            .0
            .map(f32::from)
    };
    let (a, b, c, d) = (at(0, 0), at(1, 0), at(0, 1), at(1, 1));
    [0, 1, 2].map(|i| mix(mix(a[i], b[i], fx), mix(c[i], d[i], fx), fy))
}

/// Kuwahara's filter: each pixel takes the mean of the calmest of four squares around it, which paints flat strokes
/// and keeps edges.
fn brush(plate: &Plate) -> Plate {
    let (w, h) = (plate.w, plate.h);
    let stride = w + 1;
    // Sums over all pixels above and to the left: red, green, blue, lightness, its square. Whole numbers, so exact.
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

/// How much ink the outlines take at each pixel, 0 to 1.
fn outline(plate: &Plate) -> Vec<f32> {
    let light: Vec<f32> = plate
        .px
        .iter()
        .map(|p| 0.3 * p[0] + 0.6 * p[1] + 0.1 * p[2])
        .collect();
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

/// Lightness of a pixel in steps, stippled between them, in colours half its own and half the palette's.
fn print(studio: &mut Studio<'_>, plate: &Plate, ink: &[f32]) {
    let palette = &studio.palette;
    let strong = studio.plan.time != Time::Any
        || studio.plan.weather != Weather::Clear
        || studio.plan.tint.is_some();
    let poster = studio.plan.style.is_retro() || studio.plan.style.is_neon();
    let share = if poster {
        0.85
    } else if strong {
        0.55
    } else {
        0.36
    };
    let watery = studio.plan.style == Style::Watercolour;
    let night = studio.plan.time == Time::Night;
    let ends = [
        palette.dark,
        palette.range[2],
        palette.range[1],
        palette.range[0].to(palette.ground[0], 0.5),
        palette.sky[2],
        palette.light,
    ];
    let ends = {
        let mut ends = ends;
        if poster {
            ends[2] = palette.accent;
        }
        ends.sort_by(|a, b| a.lightness().total_cmp(&b.lightness()));
        ends
    };
    let tone = |i: usize| {
        let t = i as f32 / 255.0 * 5.0;
        let k = (t as usize).min(4);
        ends[k].to(ends[k + 1], t - k as f32)
    };
    let ramp: Vec<[f32; 3]> = (0..256).map(|i| tone(i).array()).collect();
    let dark = palette.dark.array();
    let canvas = &mut studio.canvas;
    let (sx, sy) = (plate.w as f32 / canvas.w(), plate.h as f32 / canvas.h());
    let columns = canvas.grain.mask();
    for y in 0..canvas.height {
        let grain = canvas.grain.row(y);
        let v = ((y as f32 + 0.5) * sy - 0.5).clamp(0.0, (plate.h - 1) as f32);
        let (cy, fy) = (v as usize, v - v.floor());
        let below = (cy + 1).min(plate.h - 1);
        let out = &mut canvas.pixels[y * canvas.width * 3..(y + 1) * canvas.width * 3];
        for (x, pixel) in out.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            let u = ((x as f32 + 0.5) * sx - 0.5).clamp(0.0, (plate.w - 1) as f32);
            let (cx, fx) = (u as usize, u - u.floor());
            let beside = (cx + 1).min(plate.w - 1);
            let corners = [
                cy * plate.w + cx,
                cy * plate.w + beside,
                below * plate.w + cx,
                below * plate.w + beside,
            ];
            let weights = [
                (1.0 - fx) * (1.0 - fy),
                fx * (1.0 - fy),
                (1.0 - fx) * fy,
                fx * fy,
            ];
            let (mut own, mut line) = ([0.0f32; 3], 0.0);
            for (corner, weight) in corners.into_iter().zip(weights) {
                for (sum, value) in own.iter_mut().zip(plate.px[corner]) {
                    *sum += value * weight;
                }
                line += ink[corner] * weight;
            }
            let light = (0.3 * own[0] + 0.6 * own[1] + 0.1 * own[2]).clamp(1.0, 255.0);
            let noise = f32::from(grain[x & columns]) / 255.0 - 0.5;
            let step = if watery {
                light
            } else {
                ((light / 255.0 * LEVELS + noise * 0.9).round() / LEVELS * 255.0).clamp(4.0, 255.0)
            };
            let print = ramp[step as usize];
            let gain = step / light * if night { 0.72 } else { 1.0 };
            let outline = line * if watery { 0.35 } else { 0.75 };
            for c in 0..3 {
                let vivid = light + (own[c] - light) * 1.22;
                let value = mix(vivid * gain, print[c], share);
                pixel[c] = mix(value, dark[c], outline).clamp(0.0, 255.0) as u8;
            }
        }
    }
}

/// What the prompt names, over the print.
fn add(studio: &mut Studio<'_>) {
    let (_, h, s) = studio.size();
    if studio.plan.has(Light::Stars)
        || (studio.plan.time == Time::Night && studio.plan.has(Light::Moon))
    {
        sky::stars(studio, 0.6);
    }
    if studio.plan.has(Light::Moon) || studio.plan.has(Light::Sun) {
        sky::disc(studio, studio.plan.has(Light::Moon));
    }
    if matches!(studio.plan.time, Time::Sunset | Time::Dawn) {
        let (sun, colour): (_, Rgb) = (studio.sun, studio.palette.disc);
        studio.glow(sun, s * 0.9, colour, 0.45);
    }
    if studio.plan.weather == Weather::Fog {
        weather::mist(studio, h * 0.62, s * 0.4, 0.8);
    }
    let mut seed = studio.seed.branch(70);
    if cast::fills(studio.plan, cast::Spot::Front) {
        drift(studio, &mut seed);
    }
    places::front(studio, h * 0.955, &mut seed);
}

/// A strip of ground at the lower edge, so that what stands before the photograph stands on something.
fn drift(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (_, h, s) = studio.size();
    let key = seed.bits() as u32;
    let [bright, shade] = studio.palette.ground;
    let base = h - s * 0.10;
    let light = studio.rim((0.1, -1.0), s * 0.02, 0.6);
    let ink = Ink::down(&[bright, bright.to(shade, 0.6), shade], base - s * 0.04, h)
        .stippled(0.6)
        .lit(light);
    bank::fill(
        studio,
        |x| base - s * 0.06 * (rough(key, x / s * 0.9) - 0.4),
        h + s,
        &ink,
    );
}
