//! Waves: thin crests and troughs, and the breakers of a storm.

use crate::colour::{Rgb, hex};
use crate::exact::{TURN, sin};
use crate::fill::{Edge, Fill};
use crate::lexicon::Weather;
use crate::seed::Seed;
use crate::shape::{Point, Shape};
use crate::studio::{Studio, noise, rough};

use super::bank;

/// Crests and troughs as thin lenses, wider toward the viewer.
pub fn paint(studio: &mut Studio<'_>, line: f32, bottom: f32, calm: bool, seed: &mut Seed) {
    let (w, _, s) = studio.size();
    let stormy = studio.plan.weather == Weather::Storm;
    let bright = studio.palette.sky[2].to(studio.palette.light, 0.4);
    let dim = studio.palette.range[2].to(studio.palette.dark, 0.3);
    let count = (w / s * if calm { 46.0 } else { 150.0 }) as usize;
    for i in 0..count.min(1200) {
        let t = seed.unit();
        let y = line + (bottom - line) * t * t + 1.0;
        let near = ((y - line) / (s * 0.42)).clamp(0.02, 1.0);
        let x = seed.unit() * w;
        let half = s * (0.012 + 0.10 * near) * seed.range(0.5, 1.3);
        let thick = s * (0.0010 + 0.0058 * near) * if stormy { 2.2 } else { 1.0 };
        let (colour, opacity) = if i % 3 == 0 {
            (dim, 0.20 + 0.16 * near)
        } else {
            (bright, 0.22 + 0.2 * near)
        };
        let fill = Fill::flat(colour).faint(opacity);
        lens(studio, (x, y), half, thick, &fill);
    }
    if stormy {
        breakers(studio, line, bottom, [dim, bright], seed);
    }
}

/// Rows of steep waves with foam on their crests.
fn breakers(
    studio: &mut Studio<'_>,
    line: f32,
    bottom: f32,
    [dim, bright]: [Rgb; 2],
    seed: &mut Seed,
) {
    let (w, _, s) = studio.size();
    let foam = bright.to(hex(0xFFFFFF), 0.5);
    for row in 0..6 {
        let near = row as f32 / 5.0;
        let base = line + (bottom - line) * (0.10 + 0.82 * near);
        let (key, wide) = (seed.bits() as u32, s * (0.14 + 0.26 * near));
        let high = s * (0.03 + 0.085 * near);
        let crest = move |x: f32| {
            let p = x / wide + 0.9 * noise(key, x / wide * 0.6);
            let swell = 1.0 - sin(p * TURN / 2.0).abs();
            swell * swell.sqrt() * (0.45 + 0.75 * noise(key ^ 9, x / wide * 0.9))
        };
        let surface = move |x: f32| base - high * crest(x) - high * 0.10 * rough(key, x / s * 9.0);
        let tone = dim.to(bright, 0.40 - 0.20 * near);
        let crest_tone = tone.to(bright, 0.45);
        let tones = [crest_tone, tone, tone.lift(-0.05), tone.lift(-0.08)];
        let fill = Fill::down(&tones, base - high, base + high * 1.2)
            .stippled(0.5)
            .lit(Edge::new((0.2, -0.98), s * 0.010, foam, 0.8));
        bank::fill(studio, surface, bottom + s, &fill.faint(0.96));
        for _ in 0..(w / s * 620.0) as usize {
            let x = seed.unit() * w;
            let top = crest(x);
            if top < 0.3 || seed.unit() > top {
                continue;
            }
            let drop = high * 0.5 * seed.unit() * seed.unit();
            let r = s * (0.0007 + 0.0017 * near) * seed.range(0.5, 1.4);
            studio.dot((x, surface(x) + drop - r), r, foam, 0.75);
        }
    }
}

/// A flat drop of light or shade on the water.
pub fn lens(studio: &mut Studio<'_>, (x, y): Point, half: f32, thick: f32, fill: &Fill) {
    let shape = Shape::polygon(vec![
        (x - half, y),
        (x - half * 0.45, y - thick * 0.8),
        (x + half * 0.3, y - thick * 0.9),
        (x + half, y),
        (x + half * 0.4, y + thick * 0.4),
        (x - half * 0.5, y + thick * 0.5),
    ]);
    studio.fill(&shape, fill);
}
