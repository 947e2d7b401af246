//! Waves: thin crests and troughs, and the breakers of a storm.

use crate::backends::procedural::ink::{Edge, Ink};
use crate::backends::procedural::lexicon::Weather;
use crate::backends::procedural::seed::Seed;
use crate::backends::procedural::shape::{Point, Shape};
use crate::backends::procedural::studio::{Studio, noise, rough};

use super::land;

/// Crests and troughs as thin lenses, wider toward the viewer.
pub fn paint(studio: &mut Studio<'_>, line: f32, bottom: f32, calm: bool, seed: &mut Seed) {
    let (w, s) = (studio.canvas.w(), studio.canvas.short());
    let stormy = studio.plan.weather == Weather::Storm;
    let bright = studio.palette.sky[2].to(studio.palette.light, 0.4);
    let dim = studio.palette.range[2].to(studio.palette.dark, 0.3);
    let count = (w / s * if calm { 46.0 } else { 150.0 }) as usize;
    for i in 0..count.min(1200) {
        let t = seed.unit();
        let y = line + (bottom - line) * t * t + 1.0;
        let near = ((y - line) / (s * 0.42)).clamp(0.02, 1.0);
        let (x, half) = (
            seed.unit() * w,
            s * (0.012 + 0.10 * near) * seed.range(0.5, 1.3),
        );
        let thick = s * (0.0010 + 0.0058 * near) * if stormy { 2.2 } else { 1.0 };
        let (colour, opacity) = if i % 3 == 0 {
            (dim, 0.20 + 0.16 * near)
        } else {
            (bright, 0.22 + 0.2 * near)
        };
        lens(
            studio,
            (x, y),
            half,
            thick,
            &Ink::flat(colour).faint(opacity),
        );
    }
    if stormy {
        for k in 0..5 {
            let base = line + (bottom - line) * (0.15 + 0.19 * k as f32);
            let key = seed.bits() as u32;
            let tone = dim.to(bright, 0.16 - 0.03 * k as f32);
            let ink = Ink::down(
                &[tone.lift(0.08), tone, tone.lift(-0.05)],
                base - s * 0.06,
                base + s * 0.14,
            )
            .lit(Edge {
                toward: (0.1, -1.0),
                reach: s * 0.014,
                colour: studio.palette.light,
                strength: 0.7,
            })
            .faint(0.88);
            let high = s * (0.03 + 0.025 * k as f32);
            land::bank(
                studio,
                |x| {
                    base - high
                        * (1.0 - (2.0 * noise(key, x / (s * (0.12 + 0.05 * k as f32))) - 1.0).abs())
                        - high * 0.4 * rough(key, x / s * 5.0)
                },
                bottom + s,
                &ink,
            );
        }
    }
}

/// A flat drop of light or shade on the water.
pub fn lens(studio: &mut Studio<'_>, (x, y): Point, half: f32, thick: f32, ink: &Ink) {
    let shape = Shape::polygon(vec![
        (x - half, y),
        (x - half * 0.45, y - thick * 0.8),
        (x + half * 0.3, y - thick * 0.9),
        (x + half, y),
        (x + half * 0.4, y + thick * 0.4),
        (x - half * 0.5, y + thick * 0.5),
    ]);
    studio.canvas.fill(&shape, ink);
}
