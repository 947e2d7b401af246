//! Sky: its gradient, sun or moon, stars, clouds, aurora, rainbow and birds.

use crate::colour::{Rgb, hex};
use crate::exact::{TURN, cos, sin};
use crate::ink::{Along, Ink, Ramp};
use crate::lexicon::{Light, Style, Time, Weather};
use crate::shape::{Shape, stroke};
use crate::studio::{Studio, noise, rough};

/// Paints everything behind the land.
pub fn paint(studio: &mut Studio<'_>) {
    gradient(studio);
    let night = studio.plan.time == Time::Night || studio.plan.style.is_neon();
    if night || studio.plan.has(Light::Stars) {
        stars(studio, 1.0);
    }
    if studio.plan.has(Light::Aurora) {
        aurora(studio);
    }
    let hidden =
        matches!(studio.plan.weather, Weather::Storm | Weather::Rain) && !named_disc(studio);
    if !hidden {
        disc(studio, night);
    }
    if studio.plan.has(Light::Rainbow) {
        rainbow(studio);
    }
    clouds(studio);
}

fn named_disc(studio: &Studio<'_>) -> bool {
    studio.plan.has(Light::Sun) || studio.plan.has(Light::Moon)
}

fn gradient(studio: &mut Studio<'_>) {
    let (w, h) = (studio.canvas.w(), studio.canvas.h());
    let [top, middle, low] = studio.palette.sky;
    let colours = [top, top.to(middle, 0.5), middle, middle.to(low, 0.6), low];
    let ink = Ink::down(&colours, 0.0, studio.horizon).stippled(0.05);
    studio.canvas.fill(&Shape::rect(0.0, 0.0, w, h), &ink);
    if studio.plan.weather != Weather::Storm {
        let reach = (studio.canvas.short() * 0.9).max(studio.horizon * 0.6);
        let (sun, disc) = (studio.sun, studio.palette.disc);
        studio.canvas.glow(sun, reach, disc, 0.42);
    }
}

/// Sun or moon, with its halo.
pub fn disc(studio: &mut Studio<'_>, night: bool) {
    let (sun, r, colour) = (studio.sun, studio.sun_radius, studio.palette.disc);
    if studio.plan.style.is_retro() || studio.plan.style.is_neon() {
        return poster_sun(studio);
    }
    studio.canvas.glow(sun, r * 4.5, colour, 0.45);
    if night || studio.plan.has(Light::Moon) {
        let bright = colour.lift(0.02);
        let ink = Ink::ramp(
            Ramp::of(&[bright, bright, colour.lift(-0.06)]),
            Along::Line((sun.0 - r, sun.1 - r), (sun.0 + r, sun.1 + r)),
        );
        studio
            .canvas
            .fill(&Shape::ellipse(sun.0, sun.1, r, r), &ink);
        for (dx, dy, size) in [
            (-0.3, -0.25, 0.24),
            (0.28, 0.1, 0.3),
            (-0.12, 0.42, 0.18),
            (0.36, -0.42, 0.12),
            (-0.5, 0.2, 0.1),
        ] {
            let crater = Shape::ellipse(sun.0 + dx * r, sun.1 + dy * r, size * r, size * r * 0.92);
            studio
                .canvas
                .fill(&crater, &Ink::flat(colour.lift(-0.10)).faint(0.5));
        }
    } else {
        let ink = Ink::ramp(
            Ramp::of(&[colour.lift(0.04), colour]),
            Along::Radius(sun, r),
        );
        studio
            .canvas
            .fill(&Shape::ellipse(sun.0, sun.1, r, r), &ink);
    }
}

/// The large striped or plain sun of posters.
fn poster_sun(studio: &mut Studio<'_>) {
    let (x, s) = (studio.sun.0, studio.canvas.short());
    let (r, y) = (s * 0.24, studio.horizon - s * 0.20);
    let neon = studio.plan.style.is_neon();
    let colours = if neon {
        [hex(0xFFE66D), hex(0xFF4F9A)]
    } else {
        [studio.palette.disc, studio.palette.disc.lift(-0.04)]
    };
    if neon {
        studio.canvas.glow((x, y), r * 2.4, hex(0xFF5FB0), 0.7);
    }
    let mut shape = Shape::ellipse(x, y, r, r);
    if neon {
        // The sun is a stack of bands: the polygon is cut by leaving gaps between slices of the circle.
        shape = Shape::default();
        let slices = 9;
        for i in 0..slices {
            let t0 = -1.0 + 2.0 * i as f32 / slices as f32;
            let gap = 0.012 * i as f32;
            let t1 = -1.0 + 2.0 * (i + 1) as f32 / slices as f32 - gap;
            let half = |t: f32| (1.0 - t * t).max(0.0).sqrt() * r;
            let steps = 10;
            let mut points = Vec::new();
            for k in 0..=steps {
                let t = t0 + (t1 - t0) * k as f32 / steps as f32;
                points.push((x + half(t), y + t * r));
            }
            for k in (0..=steps).rev() {
                let t = t0 + (t1 - t0) * k as f32 / steps as f32;
                points.push((x - half(t), y + t * r));
            }
            shape.add(Shape::polygon(points));
        }
    }
    studio
        .canvas
        .fill(&shape, &Ink::down(&colours, y - r, y + r));
}

/// Stars over the sky, more of them and smaller toward the top.
pub fn stars(studio: &mut Studio<'_>, density: f32) {
    let mut seed = studio.seed.branch(20);
    let (w, h, s) = (studio.canvas.w(), studio.horizon, studio.canvas.short());
    let count = (density * 240.0 * (w * h / (s * s)).min(6.0)) as usize;
    for _ in 0..count {
        let (x, y) = (seed.unit() * w, seed.unit() * seed.range(0.3, 1.0) * h);
        let size = seed.unit();
        let r = s * (0.0006 + 0.0016 * size * size * size);
        let colour = hex(0xFFFFFF).to(studio.palette.light, seed.unit());
        studio
            .canvas
            .dot((x, y), r, colour, 0.35 + 0.6 * seed.unit());
        if size > 0.965 {
            studio.canvas.glow((x, y), r * 12.0, colour, 0.6);
        }
    }
}

fn aurora(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(21);
    let (w, h, s) = (studio.canvas.w(), studio.horizon, studio.canvas.short());
    let colours = [hex(0x3DF5A6), hex(0x4FD6E8), hex(0x9A6BFF)];
    for (band, &colour) in colours.iter().enumerate() {
        let (key, base) = (seed.bits() as u32, h * seed.range(0.42, 0.74));
        let strips = (w / s * 130.0) as usize;
        let tall = h * seed.range(0.36, 0.5);
        let fade = Ramp::with_opacity(&[
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
            let ink = Ink::ramp(fade.clone(), Along::Line((0.0, top), (0.0, y + s * 0.02)))
                .faint(0.35 + 0.6 * ray);
            let width = w / strips as f32;
            studio
                .canvas
                .fill(&Shape::rect(x, top, width, y - top + s * 0.02), &ink);
        }
    }
}

fn rainbow(studio: &mut Studio<'_>) {
    let s = studio.canvas.short();
    let x = studio.canvas.w() - studio.sun.0;
    let centre = (x, studio.horizon + s * 0.15);
    let bands = [0xE8483A, 0xF29A3A, 0xF6DE5A, 0x6CC46A, 0x4AA0DA, 0x7A62C4];
    for (i, &band) in bands.iter().enumerate() {
        let r = s * (0.72 - 0.022 * i as f32);
        let arc: Vec<_> = (0..=90)
            .map(|k| TURN / 2.0 * (1.0 + k as f32 / 90.0))
            .map(|a| (centre.0 + r * cos(a), centre.1 + r * sin(a)))
            .collect();
        studio.canvas.fill(
            &stroke(&arc, s * 0.023, s * 0.023),
            &Ink::flat(hex(band)).faint(0.36),
        );
    }
}

/// Clouds: long streaks in low light, heaps by day, a lid in bad weather.
fn clouds(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(22);
    let (w, s) = (studio.canvas.w(), studio.canvas.short());
    let bad = matches!(studio.plan.weather, Weather::Storm | Weather::Rain);
    let sparse = studio.plan.style == Style::Minimal || studio.plan.time == Time::Night;
    let wanted = studio.plan.has(Light::Clouds);
    let across = (w / s).max(1.0) * (studio.horizon / (0.6 * s)).clamp(1.0, 2.5);
    let count = (across
        * if bad {
            9.0
        } else if wanted {
            7.0
        } else if sparse {
            2.0
        } else {
            4.0
        }) as usize;
    let low = matches!(studio.plan.time, Time::Sunset | Time::Dawn | Time::Night) && !wanted;
    for i in 0..count.min(90) {
        let x = (i as f32 + seed.unit()) / count as f32 * w;
        let depth = seed.unit();
        let y = studio.horizon
            * if bad {
                0.02 + 0.5 * depth
            } else {
                0.08 + 0.66 * depth
            };
        let size = s * (0.30 - 0.16 * depth) * seed.range(0.7, 1.3) * if bad { 1.7 } else { 1.0 };
        let (dx, dy) = ((x - studio.sun.0).abs(), (y - studio.sun.1).abs());
        if !bad && dx < size * 1.1 + studio.sun_radius && dy < size * 0.3 + studio.sun_radius {
            continue;
        }
        if low && !bad {
            streak(studio, (x, y), size * 1.2, seed.bits() as u32);
        } else {
            heap(studio, (x, y), size, seed.bits() as u32, bad);
        }
    }
}

/// A long thin cloud, lit from below when the sun is low.
fn streak(studio: &mut Studio<'_>, at: (f32, f32), size: f32, key: u32) {
    let n = 40;
    let edge = |i: usize, up: bool| {
        let t = i as f32 / n as f32;
        let body = (1.0 - (2.0 * t - 1.0).abs()).max(0.0).sqrt();
        let swell = rough(key ^ u32::from(up), t * 5.0);
        let y = if up { -0.10 * swell } else { 0.045 * swell } * body * size;
        (at.0 + (t - 0.5) * 2.0 * size, at.1 + y)
    };
    let points = (0..=n)
        .map(|i| edge(i, true))
        .chain((0..=n).rev().map(|i| edge(i, false)))
        .collect();
    let t = (at.1 / studio.horizon).clamp(0.0, 1.0);
    let body = studio.palette.sky[1].to(studio.palette.sky[0], 0.5 * (1.0 - t));
    let bright = studio.palette.sky[2].to(studio.palette.disc, 0.4);
    let ramp = Ramp::with_opacity(&[(body, 0.35), (body.to(bright, 0.5), 0.75), (bright, 0.85)]);
    let ink = Ink::ramp(
        ramp,
        Along::Line((0.0, at.1 - size * 0.09), (0.0, at.1 + size * 0.04)),
    )
    .stippled(0.5)
    .faint(0.75);
    studio.canvas.fill(&Shape::polygon(points), &ink);
}

/// A heaped cloud with a flat, dissolving base.
fn heap(studio: &mut Studio<'_>, at: (f32, f32), size: f32, key: u32, bad: bool) {
    let mut shape = Shape::default();
    let lumps = 9;
    for i in 0..lumps {
        let t = i as f32 / (lumps - 1) as f32;
        let bulge = (1.0 - (2.0 * t - 1.0) * (2.0 * t - 1.0)).max(0.0);
        let r = size * (0.07 + 0.19 * bulge * (0.5 + noise(key, i as f32 * 1.7)));
        shape.add(Shape::ellipse(
            at.0 + (t - 0.5) * 1.7 * size,
            at.1 - r * 0.45,
            r * 1.25,
            r,
        ));
    }
    let base = at.1 + size * 0.05;
    for point in shape.contours.iter_mut().flatten() {
        if point.1 > base {
            point.1 = base + (point.1 - base) * 0.15;
        }
    }
    let (sky, pale) = (studio.palette.sky, studio.palette.disc);
    let (top, low): (Rgb, Rgb) = if bad {
        (sky[1].to(sky[2], 0.35), sky[0])
    } else {
        (pale.to(sky[2], 0.25), sky[1].to(sky[2], 0.4))
    };
    let ramp = Ramp::with_opacity(&[
        (top, 0.95),
        (top, 0.92),
        (low, if bad { 0.9 } else { 0.6 }),
        (low, if bad { 0.6 } else { 0.0 }),
    ]);
    let ink = Ink::ramp(
        ramp,
        Along::Line((0.0, at.1 - size * 0.30), (0.0, base + size * 0.01)),
    )
    .stippled(0.4)
    .faint(if bad { 0.8 } else { 0.85 });
    let ink = if bad {
        ink
    } else {
        studio.modelled(ink, at, size * 0.05, 0.5)
    };
    studio.canvas.fill(&shape, &ink);
}

/// A few birds far away.
pub fn birds(studio: &mut Studio<'_>, count: usize) {
    let mut seed = studio.seed.branch(23);
    let (w, s) = (studio.canvas.w(), studio.canvas.short());
    let colour = studio.palette.dark.to(studio.palette.sky[1], 0.25);
    let (cx, cy) = (
        w * seed.range(0.35, 0.65),
        studio.horizon * seed.range(0.35, 0.55),
    );
    for _ in 0..count {
        let (x, y) = (
            cx + s * seed.range(-0.18, 0.18),
            cy + s * seed.range(-0.08, 0.08),
        );
        let (size, bend) = (s * seed.range(0.010, 0.022), seed.range(0.25, 0.75));
        for side in [-1.0, 1.0] {
            let wing: Vec<_> = (0..=8)
                .map(|k| k as f32 / 8.0)
                .map(|t| {
                    (
                        x + side * size * t,
                        y - size * bend * (sin(t * 2.4) - 0.55 * t),
                    )
                })
                .collect();
            studio
                .canvas
                .fill(&stroke(&wing, size * 0.2, size * 0.05), &Ink::flat(colour));
        }
    }
}
