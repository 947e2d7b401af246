//! Cities: layers of towers above a river that mirrors them.

use crate::colour::hex;
use crate::fill::Fill;
use crate::lexicon::{Time, Weather};
use crate::seed::Seed;
use crate::shape::Shape;
use crate::studio::Studio;

use super::{mirror, places, sky, towers, weather};

/// Paints a city with its actors.
pub fn paint(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(50);
    let (w, h, s) = studio.size();
    studio.horizon = (h * 0.68).max(h - 1.6 * s);
    let base = studio.horizon;
    let stretch = (h / w).clamp(1.0, 8.0).min(1.6 + h / w * 0.45);
    sky::paint(studio);
    let plan = studio.plan;
    let night = plan.time == Time::Night || plan.style.is_neon();
    let low = matches!(plan.time, Time::Sunset | Time::Dawn);
    let lit = match plan.weather {
        _ if night => 0.42,
        Weather::Clear if !low => 0.10,
        _ => 0.26,
    };
    for (layer, distance) in [0.85, 0.55, 0.22].into_iter().enumerate() {
        let height = s * [0.40, 0.46, 0.38][layer] * stretch;
        towers::row(studio, height, distance, lit, &mut seed);
        weather::mist(studio, base, s * 0.10, if night { 0.18 } else { 0.45 });
    }
    quay(studio, base, night, &mut seed);
    mirror::flip(studio, (0.0, w), base + s * 0.012, h, 0.30, 1.0);
    if night {
        mirror::glitter(studio, base + s * 0.02, h, 0.35);
    }
    if plan.actors.is_empty() {
        return;
    }
    let front = studio.front_y();
    let tone = studio.palette.dark.to(studio.palette.range[2], 0.45);
    let rim = studio.rim((0.0, -1.0), s * 0.014, 0.6);
    let fill = Fill::down(&[tone.lift(0.06), tone], front - s * 0.02, h).lit(rim);
    studio.fill(&Shape::rect(-s, front - s * 0.02, w + 2.0 * s, h), &fill);
    places::cast_all(studio, front + s * 0.04, front + s * 0.02, &mut seed);
}

/// The bank of the river with trees and lamps.
fn quay(studio: &mut Studio<'_>, base: f32, night: bool, seed: &mut Seed) {
    let (w, _, s) = studio.size();
    let dark = studio.palette.dark.to(studio.palette.range[2], 0.35);
    let mut trees = Shape::default();
    let mut x = 0.0;
    while x < w {
        let r = s * seed.range(0.008, 0.022);
        trees.add(Shape::ellipse(x, base - r * 0.6, r * 1.3, r));
        x += r * seed.range(1.0, 3.0);
    }
    studio.wash(trees, dark.to(studio.palette.range[1], 0.25), 1.0);
    studio.wash(Shape::rect(0.0, base - s * 0.004, w, s * 0.018), dark, 1.0);
    let step = s * 0.075;
    let lamps = if night { (w / step) as usize } else { 0 };
    for i in 0..lamps {
        let at = (step * (i as f32 + 0.5), base - s * 0.018);
        studio.glow(at, s * 0.035, hex(0xFFC877), 0.8);
        studio.dot(at, s * 0.0028, hex(0xFFF2CC), 1.0);
    }
}
