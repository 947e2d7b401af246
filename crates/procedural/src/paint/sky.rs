//! Sky: its gradient, sun or moon, stars, aurora, rainbow and birds.

use crate::colour::hex;
use crate::exact::{TURN, cos, sin};
use crate::fill::{Along, Fill, Gradient};
use crate::lexicon::{Light, Time, Weather};
use crate::shape::{Shape, stroke, trace};
use crate::studio::{Studio, noise, rough};

use super::clouds;

/// Paints everything behind the land.
pub fn paint(studio: &mut Studio<'_>) {
    gradient(studio);
    let plan = studio.plan;
    let night = plan.time == Time::Night || plan.style.is_neon();
    if night || plan.has(Light::Stars) {
        stars(studio, 1.0);
    }
    if plan.has(Light::Aurora) {
        aurora(studio);
    }
    let named = plan.has(Light::Sun) || plan.has(Light::Moon);
    if named || !matches!(plan.weather, Weather::Storm | Weather::Rain) {
        disc(studio, night);
    }
    if plan.has(Light::Rainbow) {
        rainbow(studio);
    }
    clouds::paint(studio);
}

fn gradient(studio: &mut Studio<'_>) {
    let [top, middle, low] = studio.palette.sky;
    let colours = [top, top.to(middle, 0.5), middle, middle.to(low, 0.6), low];
    studio.cover(&Fill::down(&colours, 0.0, studio.horizon).stippled(0.05));
    if studio.plan.weather != Weather::Storm {
        let reach = (studio.short() * 0.9).max(studio.horizon * 0.6);
        studio.glow(studio.sun, reach, studio.palette.disc, 0.42);
    }
}

/// Sun or moon, with its halo.
pub fn disc(studio: &mut Studio<'_>, night: bool) {
    let (sun, r, colour) = (studio.sun, studio.sun_radius, studio.palette.disc);
    if studio.plan.style.is_retro() || studio.plan.style.is_neon() {
        return poster_sun(studio);
    }
    studio.glow(sun, r * 4.5, colour, 0.45);
    let moon = night || studio.plan.has(Light::Moon);
    let fill = if moon {
        let bright = colour.lift(0.02);
        let gradient = Gradient::of(&[bright, bright, colour.lift(-0.06)]);
        let span = Along::Line((sun.0 - r, sun.1 - r), (sun.0 + r, sun.1 + r));
        Fill::gradient(gradient, span)
    } else {
        let gradient = Gradient::of(&[colour.lift(0.04), colour]);
        Fill::gradient(gradient, Along::Radius(sun, r))
    };
    studio.fill(&Shape::circle(sun, r), &fill);
    let craters = [
        (-0.3, -0.25, 0.24),
        (0.28, 0.1, 0.3),
        (-0.12, 0.42, 0.18),
        (0.36, -0.42, 0.12),
        (-0.5, 0.2, 0.1),
    ];
    for (dx, dy, size) in craters.into_iter().filter(|_| moon) {
        let (x, y) = (sun.0 + dx * r, sun.1 + dy * r);
        let crater = Shape::ellipse(x, y, size * r, size * r * 0.92);
        studio.wash(crater, colour.lift(-0.10), 0.5);
    }
}

/// The large striped or plain sun of posters.
fn poster_sun(studio: &mut Studio<'_>) {
    let (x, s) = (studio.sun.0, studio.short());
    let (r, y) = (s * 0.24, studio.horizon - s * 0.20);
    if !studio.plan.style.is_neon() {
        let disc = studio.palette.disc;
        let fill = Fill::down(&[disc, disc.lift(-0.04)], y - r, y + r);
        return studio.fill(&Shape::circle((x, y), r), &fill);
    }
    studio.glow((x, y), r * 2.4, hex(0xFF5FB0), 0.7);
    // The sun is a stack of bands: slices of the circle with gaps between them.
    let mut shape = Shape::default();
    for i in 0..9 {
        let top = -1.0 + 2.0 * i as f32 / 9.0;
        let bottom = -1.0 + 2.0 * (i + 1) as f32 / 9.0 - 0.012 * i as f32;
        let rim = |k: i32, side: f32| {
            let t = top + (bottom - top) * k as f32 / 10.0;
            let half = (1.0 - t * t).max(0.0).sqrt() * r;
            (x + side * half, y + t * r)
        };
        let right = (0..=10).map(|k| rim(k, 1.0));
        let left = (0..=10).rev().map(|k| rim(k, -1.0));
        shape.add(Shape::polygon(right.chain(left).collect()));
    }
    let colours = [hex(0xFFE66D), hex(0xFF4F9A)];
    studio.fill(&shape, &Fill::down(&colours, y - r, y + r));
}

/// Stars over the sky, more of them and smaller toward the top.
pub fn stars(studio: &mut Studio<'_>, density: f32) {
    let mut seed = studio.seed.branch(20);
    let (w, _, s) = studio.size();
    let h = studio.horizon;
    let count = (density * 240.0 * (w * h / (s * s)).min(6.0)) as usize;
    for _ in 0..count {
        let (x, y) = (seed.unit() * w, seed.unit() * seed.range(0.3, 1.0) * h);
        let size = seed.unit();
        let r = s * (0.0006 + 0.0016 * size * size * size);
        let colour = hex(0xFFFFFF).to(studio.palette.light, seed.unit());
        studio.dot((x, y), r, colour, 0.35 + 0.6 * seed.unit());
        if size > 0.965 {
            studio.glow((x, y), r * 12.0, colour, 0.6);
        }
    }
}

fn aurora(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(21);
    let (w, _, s) = studio.size();
    let h = studio.horizon;
    let colours = [hex(0x3DF5A6), hex(0x4FD6E8), hex(0x9A6BFF)];
    for (band, &colour) in colours.iter().enumerate() {
        let (key, base) = (seed.bits() as u32, h * seed.range(0.42, 0.74));
        let strips = (w / s * 130.0) as usize;
        let tall = h * seed.range(0.36, 0.5);
        let fade = Gradient::with_opacity(&[
            (colour, 0.0),
            (colour, 0.10),
            (colour, 0.34),
            (colour.lift(0.1), 0.5),
            (colour, 0.0),
        ]);
        for i in 0..strips {
            let x = w * i as f32 / strips as f32;
            let wave = rough(key, x / s * 1.3 + band as f32 * 9.0) - 0.5;
            let ray = 0.35 + 0.65 * noise(key ^ 7, x / s * 24.0);
            let y = base + wave * h * 0.45;
            let top = y - tall * ray;
            let span = Along::Line((0.0, top), (0.0, y + s * 0.02));
            let strip = Shape::rect(x, top, w / strips as f32, y - top + s * 0.02);
            let fill = Fill::gradient(fade.clone(), span).faint(0.35 + 0.6 * ray);
            studio.fill(&strip, &fill);
        }
    }
}

fn rainbow(studio: &mut Studio<'_>) {
    let s = studio.short();
    let (x, y) = (studio.w() - studio.sun.0, studio.horizon + s * 0.15);
    let bands = [0xE8483A, 0xF29A3A, 0xF6DE5A, 0x6CC46A, 0x4AA0DA, 0x7A62C4];
    for (i, &band) in bands.iter().enumerate() {
        let r = s * (0.72 - 0.022 * i as f32);
        let bow = trace(90, |t| {
            let a = TURN / 2.0 * (1.0 + t);
            (x + r * cos(a), y + r * sin(a))
        });
        studio.wash(stroke(&bow, s * 0.023, s * 0.023), hex(band), 0.36);
    }
}

/// A few distant birds.
pub fn birds(studio: &mut Studio<'_>, count: usize) {
    let mut seed = studio.seed.branch(23);
    let (w, _, s) = studio.size();
    let colour = studio.palette.dark.to(studio.palette.sky[1], 0.25);
    let cx = w * seed.range(0.35, 0.65);
    let cy = studio.horizon * seed.range(0.35, 0.55);
    for _ in 0..count {
        let x = cx + s * seed.range(-0.18, 0.18);
        let y = cy + s * seed.range(-0.08, 0.08);
        let (size, bend) = (s * seed.range(0.010, 0.022), seed.range(0.25, 0.75));
        for side in [-1.0, 1.0] {
            let wing = trace(8, |t| {
                let up = size * bend * (sin(t * 2.4) - 0.55 * t);
                (x + side * size * t, y - up)
            });
            studio.wash(stroke(&wing, size * 0.2, size * 0.05), colour, 1.0);
        }
    }
}
