//! Clouds: long streaks in low light, heaps by day, a lid in bad weather.

use crate::fill::{Along, Fill, Gradient};
use crate::lexicon::{Light, Style, Time, Weather};
use crate::shape::{Point, Shape, trace};
use crate::studio::{Studio, noise, rough};

pub fn paint(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(22);
    let (plan, (w, _, s)) = (studio.plan, studio.size());
    let bad = matches!(plan.weather, Weather::Storm | Weather::Rain);
    let wanted = plan.has(Light::Clouds);
    let density = match plan.style {
        _ if bad => 9.0,
        _ if wanted => 7.0,
        Style::Minimal => 2.0,
        _ if plan.time == Time::Night => 2.0,
        _ => 4.0,
    };
    let across = (w / s).max(1.0) * (studio.horizon / (0.6 * s)).clamp(1.0, 2.5);
    let count = (across * density) as usize;
    let low = matches!(plan.time, Time::Sunset | Time::Dawn | Time::Night) && !wanted;
    for i in 0..count.min(90) {
        let x = (i as f32 + seed.unit()) / count as f32 * w;
        let depth = seed.unit();
        let (top, range) = if bad { (0.02, 0.5) } else { (0.08, 0.66) };
        let y = studio.horizon * (top + range * depth);
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
fn streak(studio: &mut Studio<'_>, at: Point, size: f32, key: u32) {
    let edge = |t: f32, side: u32, height: f32| {
        let body = (1.0 - (2.0 * t - 1.0).abs()).max(0.0).sqrt();
        let swell = rough(key ^ side, t * 5.0);
        (
            at.0 + (t - 0.5) * 2.0 * size,
            at.1 + height * swell * body * size,
        )
    };
    let mut points = trace(40, |t| edge(t, 1, -0.10));
    points.extend(trace(40, |t| edge(t, 0, 0.045)).into_iter().rev());
    let t = (at.1 / studio.horizon).clamp(0.0, 1.0);
    let [top, middle, low] = studio.palette.sky;
    let body = middle.to(top, 0.5 * (1.0 - t));
    let bright = low.to(studio.palette.disc, 0.4);
    let gradient =
        Gradient::with_opacity(&[(body, 0.35), (body.to(bright, 0.5), 0.75), (bright, 0.85)]);
    let span = Along::Line((0.0, at.1 - size * 0.09), (0.0, at.1 + size * 0.04));
    let fill = Fill::gradient(gradient, span).stippled(0.5).faint(0.75);
    studio.fill(&Shape::polygon(points), &fill);
}

/// A heaped cloud with a flat, dissolving base.
fn heap(studio: &mut Studio<'_>, at: Point, size: f32, key: u32, bad: bool) {
    let mut shape = Shape::default();
    for i in 0..9 {
        let t = i as f32 / 8.0;
        let bulge = (1.0 - (2.0 * t - 1.0) * (2.0 * t - 1.0)).max(0.0);
        let r = size * (0.07 + 0.19 * bulge * (0.5 + noise(key, i as f32 * 1.7)));
        let (x, y) = (at.0 + (t - 0.5) * 1.7 * size, at.1 - r * 0.45);
        shape.add(Shape::ellipse(x, y, r * 1.25, r));
    }
    let base = at.1 + size * 0.05;
    let shape = shape.map(|(x, y)| {
        (
            x,
            if y > base {
                base + (y - base) * 0.15
            } else {
                y
            },
        )
    });
    let ([high, middle, low], pale) = (studio.palette.sky, studio.palette.disc);
    let gradient = Gradient::with_opacity(&if bad {
        let top = middle.to(low, 0.35);
        [(top, 0.95), (top, 0.92), (high, 0.9), (high, 0.6)]
    } else {
        let (top, foot) = (pale.to(low, 0.25), middle.to(low, 0.4));
        [(top, 0.95), (top, 0.92), (foot, 0.6), (foot, 0.0)]
    });
    let span = Along::Line((0.0, at.1 - size * 0.30), (0.0, base + size * 0.01));
    let mut fill = Fill::gradient(gradient, span).stippled(0.4);
    if bad {
        fill = fill.faint(0.8);
    } else {
        fill = studio.modelled(fill.faint(0.85), at, size * 0.05, 0.5);
    }
    studio.fill(&shape, &fill);
}
