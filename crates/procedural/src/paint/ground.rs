//! The ground of a landscape: three banks with their trees, fields, snow and grass.

use crate::colour::hex;
use crate::exact::smooth;
use crate::fill::Fill;
use crate::lexicon::{Place, Season, Style, Subject};
use crate::seed::Seed;
use crate::studio::{Studio, rough};

use super::cast::{self, Spot};
use super::{bank, flora, places, plants, relief};

/// Paints three banks, each with a lit brow, and trees on the outer ones.
pub fn paint(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (w, h, s) = studio.size();
    let ([bright, shade], haze) = (studio.palette.ground, studio.palette.sky[2]);
    let top = studio.horizon + s * 0.045;
    let deep = h - studio.horizon - s * 0.045;
    for (i, start) in [0.0, 0.20, 0.56].into_iter().enumerate() {
        let key = seed.bits() as u32;
        let base = top + deep * start;
        let swell = s * (0.05 + 0.045 * i as f32);
        let far = 1.0 - i as f32 / 2.0;
        let near = bright.to(haze, 0.40 * far);
        let low = shade.to(haze, 0.30 * far);
        let tilt = seed.range(-0.06, 0.06);
        let line = move |x: f32| {
            base - swell * (rough(key, x / s * (1.0 - 0.2 * i as f32)) - 0.35)
                + (x - w / 2.0).clamp(-s, s) * tilt
        };
        let tones = [near, near.to(low, 0.4), low, low.lift(-0.05)];
        let fill = Fill::down(&tones, base - swell, base + deep * 0.6)
            .stippled(0.55)
            .lit(studio.rim((0.15, -0.98), s * 0.022, 0.6));
        bank::fill(studio, line, h + s, &fill);
        if i == 1 {
            places::back(studio, &line, seed);
        }
        if studio.plan.style != Style::Minimal || i == 1 {
            trees(studio, &line, i, seed);
        }
    }
    growth(studio, top, deep, seed);
}

/// Paints the cover of the ground: corn, grass, snow, flowers.
fn growth(studio: &mut Studio<'_>, top: f32, deep: f32, seed: &mut Seed) {
    let h = studio.h();
    let plan = studio.plan;
    let [bright, shade] = studio.palette.ground;
    let (meadow, snowy) = (plan.at(Place::Meadow), plan.is_snowy());
    let flowers = plan.shows(Subject::Flower);
    if !snowy && (meadow || flowers || plan.at(Place::Field)) {
        let ripe = if meadow || flowers {
            bright.to(hex(0x7DB356), 0.5).to(shade, 0.35)
        } else {
            bright.to(hex(0xE8C25A), 0.5)
        };
        let ripe = plan.ground_colour.unwrap_or(ripe);
        relief::crop(studio, top + deep * 0.18, ripe, seed);
    }
    if meadow && !snowy && !flowers {
        let tone = studio.palette.accent.to(hex(0xFFF4E0), 0.45);
        plants::carpet(studio, top + deep * 0.2, h * 1.02, tone, 0.22, seed);
    }
    if snowy {
        snowfield(studio, top + deep * 0.5, seed);
    }
    if let Some(actor) = plan.actor(Subject::Flower) {
        let tone = cast::colour(&actor, seed);
        plants::carpet(studio, top + deep * 0.14, h * 1.02, tone, 1.0, seed);
    }
}

/// Paints details that make snow look deep: footprints from between the trees, dry stalks, glints.
fn snowfield(studio: &mut Studio<'_>, top: f32, seed: &mut Seed) {
    let (w, h, s) = studio.size();
    let shade = studio.palette.ground[1];
    if cast::fills(studio.plan, Spot::Front) {
        prints(studio, top);
    }
    for _ in 0..(w / s * 16.0) as usize {
        let x = seed.unit() * w;
        if (x - studio.stage_x()).abs() / s < 0.24 {
            continue;
        }
        let y = h * seed.range(0.90, 1.0);
        let tone = studio.palette.dark.to(hex(0xB98A52), seed.range(0.35, 0.7));
        let hollow = shade.lift(-0.10);
        studio.canvas.pool((x, y), s * 0.04, s * 0.008, hollow, 0.6);
        flora::tuft(studio, (x, y), s * seed.range(0.03, 0.075), tone, seed);
    }
    for _ in 0..(w / s * 70.0) as usize {
        let at = (seed.unit() * w, top + (h - top) * seed.unit());
        studio.dot(at, s * seed.range(0.0006, 0.0014), hex(0xFFFFFF), 0.9);
    }
}

/// A trail of footprints from between the trees to the stage.
fn prints(studio: &mut Studio<'_>, top: f32) {
    let (s, side) = (studio.short(), studio.side());
    let shade = studio.palette.ground[1].lift(-0.14);
    let light = studio.palette.light;
    let start = studio.front_y() + s * 0.01;
    for i in 0..26 {
        let t = i as f32 / 26.0;
        let bend = (t * 3.4 + 0.4) * t;
        let x = studio.stage_x() - side * s * (0.16 + 0.62 * t - 0.10 * bend);
        let step = if i % 2 == 0 { s * 0.008 } else { 0.0 };
        let y = start - (start - top) * (t * 1.05).min(1.0) + step;
        let r = s * 0.0135 * (1.0 - 0.78 * t);
        let canvas = &mut studio.canvas;
        canvas.pool((x, y), r * 1.25, r * 0.62, shade, 0.8);
        canvas.pool((x, y + r * 0.42), r * 1.1, r * 0.3, light, 0.5);
    }
}

/// Trees on a bank. On nearer banks they stay closer to the sides.
fn trees(studio: &mut Studio<'_>, line: &dyn Fn(f32) -> f32, bank: usize, seed: &mut Seed) {
    let (w, h, s) = studio.size();
    let plan = studio.plan;
    if plan.is_desert() {
        return relief::cacti(studio, line, bank, seed);
    }
    let (forest, field) = (plan.at(Place::Forest), plan.at(Place::Field));
    let dense = match (forest, field) {
        (true, _) => 2.0,
        (false, true) => 0.4,
        _ => 1.0,
    };
    let count = (w / s * [9.0, 5.0, 2.6][bank] * dense) as usize;
    let stretch = (h / w).clamp(1.0, 3.0).sqrt();
    let middle = studio.stage_x().min(w - s * 0.3).max(s * 0.3);
    for i in 0..count {
        let x = (i as f32 + seed.unit()) / count as f32 * w;
        let framing = bank == 2 && w < 2.0 * s && smooth(0.26, 0.40, (x - middle).abs() / s) < 0.5;
        let before_sun = bank == 2 && (x - studio.sun.0).abs() < s * 0.15;
        if places::is_taken(studio, x, bank) || framing || before_sun {
            continue;
        }
        let distance = [0.34, 0.18, 0.02][bank];
        let tall = s * [0.17, 0.32, 0.68][bank] * seed.range(0.65, 1.2) * stretch;
        let foot = (x, line(x) + s * [0.010, 0.02, 0.05][bank]);
        flora::of_place(studio, foot, tall, distance, seed);
    }
}

/// Grass at the lower edge, dark and near.
pub fn verge(studio: &mut Studio<'_>, seed: &mut Seed) {
    let (w, h, s) = studio.size();
    let shade = studio.palette.ground[1];
    let deep = studio.palette.dark.to(shade, 0.25);
    let autumn = studio.plan.season == Season::Autumn;
    for _ in 0..(w / s * 60.0) as usize {
        let x = seed.unit() * w;
        let away = smooth(0.1, 0.5, (x - studio.stage_x()).abs() / s);
        let mut tone = deep.to(shade, seed.range(0.0, 0.5));
        if autumn {
            tone = tone.to(hex(0x8A4A1E), 0.3);
        }
        let height = s * seed.range(0.04, 0.09) * (0.55 + 0.9 * away);
        flora::tuft(studio, (x, h + s * 0.015), height, tone, seed);
    }
}
