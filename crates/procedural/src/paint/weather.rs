//! Weather in front of everything: snow, rain, fog, lightning.

use crate::colour::hex;
use crate::fill::{Along, Fill, Gradient};
use crate::lexicon::{Season, Weather};
use crate::shape::{Shape, stroke};
use crate::studio::Studio;

pub fn paint(studio: &mut Studio<'_>) {
    match studio.plan.weather {
        Weather::Snow => snowfall(studio),
        Weather::Rain => rain(studio, 1.0),
        Weather::Storm => rain(studio, 1.2),
        Weather::Fog | Weather::Clear => {}
    }
    if studio.plan.weather == Weather::Clear {
        match studio.plan.season {
            Season::Autumn => leaves(studio, [0xD8572A, 0xE9A23B, 0xB23A20]),
            Season::Spring => leaves(studio, [0xFBD3E0, 0xF7B0C8, 0xFFF0F4]),
            _ => {}
        }
    }
}

fn area(studio: &Studio<'_>) -> f32 {
    let (w, h, s) = studio.size();
    (w * h / (s * s)).min(8.0)
}

fn snowfall(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(60);
    let (w, h, s) = studio.size();
    let white = hex(0xFFFFFF).to(studio.palette.light, 0.25);
    for _ in 0..(area(studio) * 520.0) as usize {
        let near = seed.unit();
        let r = s * (0.0011 + 0.0030 * near * near);
        let at = (seed.unit() * w, seed.unit() * h);
        studio.dot(at, r, white, 0.45 + 0.45 * near);
    }
    for _ in 0..(area(studio) * 26.0) as usize {
        let at = (seed.unit() * w, seed.unit() * h);
        let r = s * seed.range(0.006, 0.012);
        studio.glow(at, r * 1.6, white, 0.55);
        studio.dot(at, r * 0.6, white, 0.55);
    }
}

fn rain(studio: &mut Studio<'_>, force: f32) {
    let mut seed = studio.seed.branch(61);
    let (w, h, s) = studio.size();
    let colour = studio.palette.light;
    let slant = seed.range(0.10, 0.24) * studio.side() * force;
    for _ in 0..(area(studio) * 420.0 * force) as usize {
        let x = seed.range(-0.1, 1.1) * w;
        let y = seed.range(-0.05, 1.0) * h;
        let long = s * seed.range(0.02, 0.07);
        let drop = [(x, y), (x - slant * long, y + long)];
        let drop = stroke(&drop, s * 0.0008, s * 0.0022);
        studio.wash(drop, colour, seed.range(0.10, 0.38));
    }
}

fn leaves(studio: &mut Studio<'_>, colours: [u32; 3]) {
    let mut seed = studio.seed.branch(62);
    let (w, h, s) = studio.size();
    for _ in 0..(area(studio) * 60.0) as usize {
        let x = seed.unit() * w;
        let y = seed.range(0.1, 1.0) * h;
        let r = s * seed.range(0.003, 0.008);
        let (dx, dy) = (seed.range(-1.0, 1.0), seed.range(-1.0, 1.0));
        let leaf = Shape::polygon(vec![
            (x - dx * r, y - dy * r),
            (x + dy * r * 0.5, y - dx * r * 0.5),
            (x + dx * r, y + dy * r),
            (x - dy * r * 0.5, y + dx * r * 0.5),
        ]);
        studio.wash(leaf, hex(colours[seed.below(3)]), 0.9);
    }
}

/// A bank of mist lying at a height.
pub fn mist(studio: &mut Studio<'_>, middle: f32, half: f32, opacity: f32) {
    let colour = studio.palette.sky[2].to(studio.palette.light, 0.2);
    let gradient = Gradient::fade(colour, &[0.0, 0.55, 0.8, 0.45, 0.0]);
    let (top, bottom) = (middle - half, middle + half);
    let fill = Fill::gradient(gradient, Along::Line((0.0, top), (0.0, bottom)))
        .stippled(0.18)
        .faint(opacity);
    studio.fill(&Shape::rect(0.0, top, studio.w(), half * 2.0), &fill);
}
