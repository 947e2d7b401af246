//! Cities: layers of towers with windows, above a river that mirrors them.

use crate::colour::{Rgb, hex};
use crate::ink::{Edge, Ink};
use crate::lexicon::{Time, Weather};
use crate::seed::Seed;
use crate::shape::Shape;
use crate::studio::Studio;

use super::{mirror, places, sky, weather};

/// Paints a city with its actors.
pub fn paint(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(50);
    let (w, h, s) = (studio.canvas.w(), studio.canvas.h(), studio.canvas.short());
    studio.horizon = (h * 0.68).max(h - 1.6 * s);
    let base = studio.horizon;
    let stretch = (h / w).clamp(1.0, 8.0).min(1.6 + h / w * 0.45);
    sky::paint(studio);
    let night = matches!(studio.plan.time, Time::Night) || studio.plan.style.is_neon();
    let lit = if night {
        0.42
    } else if matches!(studio.plan.time, Time::Sunset | Time::Dawn)
        || studio.plan.weather != Weather::Clear
    {
        0.26
    } else {
        0.10
    };
    for (layer, distance) in [0.85, 0.55, 0.22].into_iter().enumerate() {
        row(
            studio,
            base,
            distance,
            s * [0.40, 0.46, 0.38][layer] * stretch,
            lit,
            layer,
            &mut seed,
        );
        weather::mist(studio, base, s * 0.10, if night { 0.18 } else { 0.45 });
    }
    quay(studio, base, night, &mut seed);
    mirror::flip(studio, (0.0, w), base + s * 0.012, h, 0.30, 1.0);
    if night {
        mirror::glitter(studio, base + s * 0.02, h, 0.35);
    }
    if studio.plan.actors.is_empty() {
        return;
    }
    let front = studio.front_y();
    let tone = studio.palette.dark.to(studio.palette.range[2], 0.45);
    let ink = Ink::down(&[tone.lift(0.06), tone], front - s * 0.02, h).lit(Edge {
        toward: (0.0, -1.0),
        reach: s * 0.014,
        colour: studio.palette.light,
        strength: 0.6,
    });
    studio
        .canvas
        .fill(&Shape::rect(-s, front - s * 0.02, w + 2.0 * s, h), &ink);
    places::cast_all(studio, front + s * 0.04, front + s * 0.02, &mut seed);
}

/// One layer of towers.
fn row(
    studio: &mut Studio<'_>,
    base: f32,
    distance: f32,
    height: f32,
    lit: f32,
    layer: usize,
    seed: &mut Seed,
) {
    let (w, s) = (studio.canvas.w(), studio.canvas.short());
    let near = studio.palette.at_distance(distance);
    let haze = near.to(studio.palette.sky[2], 0.35 + 0.2 * distance);
    let left_lit = studio.sun.0 > w / 2.0;
    let neon = studio.plan.style.is_neon();
    let panes: [Rgb; 3] = if neon {
        [hex(0xFF5FB0), hex(0x5CF2FF), hex(0xFFE66D)]
    } else if lit > 0.2 {
        [hex(0xFFD98A), hex(0xFFC062), hex(0xFFF0C4)]
    } else {
        [
            near.lift(-0.1),
            studio.palette.sky[1].lift(0.05),
            near.lift(-0.06),
        ]
    };
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
        match seed.below(5) {
            0 => {
                tower.add(Shape::rect(
                    x + wide * 0.22,
                    top - tall * 0.10,
                    wide * 0.56,
                    tall * 0.11,
                ));
                tower.add(Shape::rect(
                    x + wide * 0.48,
                    top - tall * 0.26,
                    wide * 0.04,
                    tall * 0.2,
                ));
            }
            1 => tower.add(Shape::polygon(vec![
                (x, top + 1.0),
                (x + wide, top + 1.0),
                (x + wide, top - wide * 0.5),
            ])),
            2 => tower.add(Shape::polygon(vec![
                (x, top + 1.0),
                (x + wide, top + 1.0),
                (x + wide / 2.0, top - wide * 1.1),
            ])),
            3 => tower.add(Shape::rect(
                x + wide * 0.6,
                top - wide * 0.16,
                wide * 0.22,
                wide * 0.17,
            )),
            _ => {}
        }
        let face = if left_lit {
            (1.0, -0.15)
        } else {
            (-1.0, -0.15)
        };
        let ink = Ink::down(&[tone, tone.to(haze, 0.35), haze], top - tall * 0.1, base)
            .stippled(0.4)
            .lit(Edge {
                toward: face,
                reach: wide * 0.30,
                colour: studio.palette.light,
                strength: 0.30 * (1.1 - distance),
            });
        studio.canvas.fill(&tower, &ink);
        windows(studio, (x, top, wide, tall), lit, &panes, distance, seed);
        if neon && layer == 2 && seed.chance(0.45) {
            sign(
                studio,
                (x + wide * 0.2, top + tall * 0.2),
                wide * 0.22,
                tall * 0.4,
                panes[seed.below(3)],
            );
        }
        x += wide * seed.range(0.92, 1.25);
    }
}

fn windows(
    studio: &mut Studio<'_>,
    (x, top, wide, tall): (f32, f32, f32, f32),
    lit: f32,
    panes: &[Rgb; 3],
    distance: f32,
    seed: &mut Seed,
) {
    let s = studio.canvas.short();
    let pitch = (s * 0.0155).max(3.0);
    let columns = ((wide - pitch * 0.6) / pitch) as usize;
    let rows = ((tall - pitch) / (pitch * 1.25)).min(90.0) as usize;
    let inset = (wide - columns as f32 * pitch) / 2.0;
    let mut shapes = [Shape::default(), Shape::default(), Shape::default()];
    let floor_lit = seed.unit() * 0.5;
    for row in 0..rows {
        let whole = seed.chance(0.06);
        for column in 0..columns {
            if whole || seed.chance(lit * (0.6 + floor_lit)) || (lit < 0.2 && seed.chance(0.75)) {
                let (wx, wy) = (
                    x + inset + column as f32 * pitch + pitch * 0.22,
                    top + pitch * 0.7 + row as f32 * pitch * 1.25,
                );
                shapes[seed.below(3)].add(Shape::rect(wx, wy, pitch * 0.56, pitch * 0.66));
            }
        }
    }
    let opacity = (if lit > 0.2 { 0.95 } else { 0.4 }) * (1.0 - 0.55 * distance);
    for (shape, &pane) in shapes.iter().zip(panes) {
        studio.canvas.fill(shape, &Ink::flat(pane).faint(opacity));
    }
}

/// A glowing sign down the front of a tower.
fn sign(studio: &mut Studio<'_>, at: (f32, f32), wide: f32, tall: f32, colour: Rgb) {
    studio.canvas.glow(
        (at.0 + wide / 2.0, at.1 + tall / 2.0),
        tall * 0.8,
        colour,
        0.7,
    );
    studio
        .canvas
        .fill(&Shape::rect(at.0, at.1, wide, tall), &Ink::flat(colour));
    let gap = tall / 6.0;
    for i in 0..5 {
        let y = at.1 + gap * (i as f32 + 0.55);
        studio.canvas.fill(
            &Shape::rect(at.0 + wide * 0.2, y, wide * 0.6, gap * 0.55),
            &Ink::flat(studio.palette.dark),
        );
    }
}

/// The bank of the river with trees and lamps.
fn quay(studio: &mut Studio<'_>, base: f32, night: bool, seed: &mut Seed) {
    let (w, s) = (studio.canvas.w(), studio.canvas.short());
    let dark = studio.palette.dark.to(studio.palette.range[2], 0.35);
    let mut trees = Shape::default();
    let mut x = 0.0;
    while x < w {
        let r = s * seed.range(0.008, 0.022);
        trees.add(Shape::ellipse(x, base - r * 0.6, r * 1.3, r));
        x += r * seed.range(1.0, 3.0);
    }
    studio
        .canvas
        .fill(&trees, &Ink::flat(dark.to(studio.palette.range[1], 0.25)));
    studio.canvas.fill(
        &Shape::rect(0.0, base - s * 0.004, w, s * 0.018),
        &Ink::flat(dark),
    );
    if !night {
        return;
    }
    let step = s * 0.075;
    for i in 0..(w / step) as usize {
        let at = (step * (i as f32 + 0.5), base - s * 0.018);
        studio.canvas.glow(at, s * 0.035, hex(0xFFC877), 0.8);
        studio.canvas.dot(at, s * 0.0028, hex(0xFFF2CC), 1.0);
    }
}
