//! Towers of a city, with their roofs, windows and signs.

use crate::colour::{Rgb, hex};
use crate::fill::Fill;
use crate::seed::Seed;
use crate::shape::{Point, Shape};
use crate::studio::Studio;

/// Towers farther away have no signs.
const SIGNS_WITHIN: f32 = 0.3;

/// One layer of towers; `lit` is the share of lit windows.
pub fn row(studio: &mut Studio<'_>, height: f32, distance: f32, lit: f32, seed: &mut Seed) {
    let (w, _, s) = studio.size();
    let base = studio.horizon;
    let near = studio.palette.at_distance(distance);
    let haze = near.to(studio.palette.sky[2], 0.35 + 0.2 * distance);
    let face = if studio.sun.0 > w / 2.0 { 1.0 } else { -1.0 };
    let neon = studio.plan.style.is_neon();
    let panes = panes(studio, near, lit, neon);
    let mut x = -s * 0.05;
    while x < w {
        let wide = s * seed.range(0.055, 0.12) * (1.0 - 0.25 * distance);
        let middle = 1.0 - ((x + wide / 2.0) / w - 0.5).abs() * 0.9;
        let tall = height * seed.range(0.30, 1.0) * middle;
        let top = base - tall;
        let tone = near
            .turn(seed.range(-0.15, 0.15))
            .lift(seed.range(-0.03, 0.04));
        let mut tower = Shape::rect(x, top, wide, tall + s * 0.02);
        roof(&mut tower, (x, top), (wide, tall), seed.below(5));
        let rim = studio.rim((face, -0.15), wide * 0.30, 0.30 * (1.1 - distance));
        let fill = Fill::down(&[tone, tone.to(haze, 0.35), haze], top - tall * 0.1, base)
            .stippled(0.4)
            .lit(rim);
        studio.fill(&tower, &fill);
        windows(
            studio,
            (x, top),
            (wide, tall),
            (lit, distance),
            &panes,
            seed,
        );
        if neon && distance < SIGNS_WITHIN && seed.chance(0.45) {
            let at = (x + wide * 0.2, top + tall * 0.2);
            sign(studio, at, (wide * 0.22, tall * 0.4), panes[seed.below(3)]);
        }
        x += wide * seed.range(0.92, 1.25);
    }
}

fn panes(studio: &Studio<'_>, near: Rgb, lit: f32, neon: bool) -> [Rgb; 3] {
    if neon {
        [hex(0xFF5FB0), hex(0x5CF2FF), hex(0xFFE66D)]
    } else if lit > 0.2 {
        [hex(0xFFD98A), hex(0xFFC062), hex(0xFFF0C4)]
    } else {
        let sky = studio.palette.sky[1].lift(0.05);
        [near.lift(-0.1), sky, near.lift(-0.06)]
    }
}

/// A stepped roof with a mast, a slope, a spire, a chimney, or nothing.
fn roof(tower: &mut Shape, (x, top): Point, (wide, tall): Point, kind: usize) {
    let gable = |peak: Point| Shape::polygon(vec![(x, top + 1.0), (x + wide, top + 1.0), peak]);
    match kind {
        0 => {
            let step = (x + wide * 0.22, top - tall * 0.10);
            let mast = (x + wide * 0.48, top - tall * 0.26);
            tower.add(Shape::rect(step.0, step.1, wide * 0.56, tall * 0.11));
            tower.add(Shape::rect(mast.0, mast.1, wide * 0.04, tall * 0.2));
        }
        1 => tower.add(gable((x + wide, top - wide * 0.5))),
        2 => tower.add(gable((x + wide / 2.0, top - wide * 1.1))),
        3 => {
            let (left, upper) = (x + wide * 0.6, top - wide * 0.16);
            tower.add(Shape::rect(left, upper, wide * 0.22, wide * 0.17));
        }
        _ => {}
    }
}

fn windows(
    studio: &mut Studio<'_>,
    (x, top): Point,
    (wide, tall): Point,
    (lit, distance): (f32, f32),
    panes: &[Rgb; 3],
    seed: &mut Seed,
) {
    let pitch = (studio.short() * 0.0155).max(3.0);
    let columns = ((wide - pitch * 0.6) / pitch) as usize;
    let rows = ((tall - pitch) / (pitch * 1.25)).min(90.0) as usize;
    let inset = (wide - columns as f32 * pitch) / 2.0;
    let mut shapes = [Shape::default(), Shape::default(), Shape::default()];
    let floor_lit = seed.unit() * 0.5;
    for row in 0..rows {
        let whole = seed.chance(0.06);
        for column in 0..columns {
            if whole || seed.chance(lit * (0.6 + floor_lit)) || (lit < 0.2 && seed.chance(0.75)) {
                let wx = x + inset + column as f32 * pitch + pitch * 0.22;
                let wy = top + pitch * 0.7 + row as f32 * pitch * 1.25;
                shapes[seed.below(3)].add(Shape::rect(wx, wy, pitch * 0.56, pitch * 0.66));
            }
        }
    }
    let opacity = (if lit > 0.2 { 0.95 } else { 0.4 }) * (1.0 - 0.55 * distance);
    for (shape, &pane) in shapes.into_iter().zip(panes) {
        studio.wash(shape, pane, opacity);
    }
}

/// A glowing sign down the front of a tower.
fn sign(studio: &mut Studio<'_>, (x, y): Point, (wide, tall): Point, colour: Rgb) {
    let middle = (x + wide / 2.0, y + tall / 2.0);
    studio.glow(middle, tall * 0.8, colour, 0.7);
    studio.wash(Shape::rect(x, y, wide, tall), colour, 1.0);
    let gap = tall / 6.0;
    for i in 0..5 {
        let top = y + gap * (i as f32 + 0.55);
        let letter = Shape::rect(x + wide * 0.2, top, wide * 0.6, gap * 0.55);
        studio.wash(letter, studio.palette.dark, 1.0);
    }
}
