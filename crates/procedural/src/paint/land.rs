//! Landscapes: their composition, and the scenery behind the first bank.

use crate::fill::Fill;
use crate::lexicon::{Place, Style, Subject, Weather};
use crate::seed::Seed;
use crate::studio::{Studio, rough};

use super::{flora, ground, peaks, places, relief, sky, weather};

/// Paints a landscape with its actors.
pub fn paint(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(30);
    let s = studio.short();
    sky::paint(studio);
    backdrop(studio, &mut seed);
    ground::paint(studio, &mut seed);
    places::front(studio, studio.front_y(), &mut seed);
    if !studio.plan.is_snowy() && !studio.plan.is_desert() && studio.plan.style != Style::Minimal {
        ground::verge(studio, &mut seed);
    }
    if studio.plan.weather == Weather::Fog {
        weather::mist(studio, studio.horizon + s * 0.08, s * 0.26, 0.85);
    }
    if !studio.plan.shows(Subject::Bird) && studio.plan.weather == Weather::Clear {
        sky::birds(studio, 5);
    }
}

/// Paints the scenery behind the first bank: mountains or hills, then woods.
pub fn backdrop(studio: &mut Studio<'_>, seed: &mut Seed) {
    let s = studio.short();
    let horizon = studio.horizon;
    if studio.plan.is_desert() {
        relief::desert(studio, seed);
        return;
    }
    scroll(studio, seed);
    if studio.plan.at(Place::Mountain) || (studio.plan.is_snowy() && !studio.plan.at(Place::Hill)) {
        peaks::range(studio, 0.95, horizon + s * 0.02, s * 0.26, seed);
        peaks::range(studio, 0.70, horizon + s * 0.04, s * 0.38, seed);
    } else {
        relief::hills(studio, 0.98, horizon - s * 0.05, s * 0.15, seed);
        relief::hills(studio, 0.80, horizon - s * 0.02, s * 0.11, seed);
        relief::hills(studio, 0.62, horizon + s * 0.01, s * 0.09, seed);
    }
    weather::mist(studio, horizon, s * 0.12, 0.7);
    if studio.plan.style == Style::Minimal {
        return;
    }
    for (i, distance) in [0.60, 0.40].into_iter().enumerate() {
        let key = seed.bits() as u32;
        let base = horizon + s * (0.012 + 0.022 * i as f32);
        let colour = studio.palette.at_distance(distance);
        let tall = s * (0.085 + 0.06 * i as f32);
        let tones = [colour, colour, colour.to(studio.palette.sky[2], 0.4)];
        let fill = Fill::down(&tones, base - tall, base + s * 0.03).stippled(0.4);
        let line = |x: f32| base - s * 0.03 * rough(key, x / s * 2.0);
        flora::far(studio, line, tall, tall * 0.6, &fill, seed);
        weather::mist(studio, base + s * 0.01, s * 0.06, 0.6);
    }
}

/// On a tall image, ranges with woods and mist rise one behind the other, as on a hanging scroll.
fn scroll(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (w, h, s) = studio.size();
    if h < 1.9 * w {
        return;
    }
    let top = h * 0.27;
    let count = ((studio.horizon - top) / (s * 0.80)) as usize;
    for i in 0..count.min(9) {
        let t = (i as f32 + 0.5) / count as f32;
        let step = (studio.horizon - top) / count as f32;
        let base = top + step * (i as f32 + 0.75 + seed.range(-0.22, 0.22));
        let distance = 1.02 - 0.34 * t;
        let height = s * seed.range(0.45, 0.95);
        peaks::paint(studio, distance, base, height, 0.62, seed);
        weather::mist(studio, base - s * 0.02, s * 0.16, 0.9);
        let key = seed.bits() as u32;
        let line = |x: f32| base + s * (0.05 - 0.06 * rough(key, x / s * 2.0));
        let colour = studio.palette.at_distance(distance - 0.12);
        let tones = [colour, colour.to(studio.palette.sky[2], 0.6)];
        let fill = Fill::down(&tones, base - s * 0.1, base + s * 0.08).stippled(0.5);
        let (pines, crowns) = (s * (0.07 + 0.05 * t), s * (0.05 + 0.03 * t));
        flora::far(studio, line, pines, crowns, &fill, seed);
        weather::mist(studio, base + s * 0.10, s * 0.13, 0.95);
    }
}
