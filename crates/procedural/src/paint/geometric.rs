//! Abstract pictures: tiles of arcs, floating forms, or layered waves.

use crate::colour::{Rgb, hex};
use crate::exact::{TURN, cos, sin};
use crate::ink::{Along, Edge, Ink, Ramp};
use crate::seed::Seed;
use crate::shape::{Point, Shape, stroke};
use crate::studio::{Studio, rough};

use super::bank;

/// Five colours that go together, and paper.
const SETS: [[u32; 6]; 6] = [
    [0xF3E6CC, 0xE2572E, 0xF0A93A, 0x2E6E72, 0x1F2E4A, 0xE9B7A0],
    [0xF5EBDD, 0x2F4B7C, 0xE4683C, 0xF4C35A, 0x7AA6A0, 0xC33C54],
    [0xEFE9DB, 0x274046, 0x5E9A86, 0xE9C46A, 0xE76F51, 0xA8C8BC],
    [0xF6EFE4, 0x5B3A6E, 0xE0607E, 0xF6A45C, 0x3E7CA6, 0xF2CFA8],
    [0xF1E7D6, 0x8A2E3A, 0xD9803A, 0x38543C, 0xE8C88C, 0x2A2A36],
    [0xECEDE6, 0x14466B, 0x3E8FB0, 0xF2B441, 0xE4572E, 0xB9D3D0],
];

/// Paints an abstract picture.
pub fn paint(studio: &mut Studio<'_>) {
    let mut seed = studio.seed.branch(48);
    let bend = |c: u32| {
        let c = hex(c);
        studio.plan.tint.map_or(c, |t| c.tint(t, 0.5))
    };
    let colours = SETS[seed.below(SETS.len())].map(bend);
    match seed.below(3) {
        0 => tiles(studio, &colours, &mut seed),
        1 => forms(studio, &colours, &mut seed),
        _ => waves(studio, &colours, &mut seed),
    }
}

fn shaded(tone: Rgb, from: Point, to: Point) -> Ink {
    Ink::ramp(
        Ramp::of(&[tone.lift(0.05), tone, tone.lift(-0.12)]),
        Along::Line(from, to),
    )
    .stippled(0.8)
}

/// Squares with quarter circles, rings, leaves and dots.
fn tiles(studio: &mut Studio<'_>, colours: &[Rgb; 6], seed: &mut Seed) {
    let (w, h, s) = (studio.canvas.w(), studio.canvas.h(), studio.canvas.short());
    let across = [4.0, 5.0, 6.0][seed.below(3)];
    let columns = (w / s * across).round().max(1.0) as usize;
    let rows = (h / s * across).round().max(1.0) as usize;
    let (tw, th) = (w / columns as f32, h / rows as f32);
    let mut last = 0;
    for row in 0..rows {
        for column in 0..columns {
            let (x, y) = (column as f32 * tw, row as f32 * th);
            let ground = (last + 1 + seed.below(5)) % 6;
            last = ground;
            let (a, b) = (
                (ground + 1 + seed.below(5)) % 6,
                (ground + 1 + seed.below(5)) % 6,
            );
            studio.canvas.fill(
                &Shape::rect(x, y, tw + 1.0, th + 1.0),
                &shaded(colours[ground], (x, y), (x + tw * 0.4, y + th * 1.6)),
            );
            tile(studio, (x, y, tw, th), colours[a], colours[b], seed);
        }
    }
}

fn tile(
    studio: &mut Studio<'_>,
    (x, y, tw, th): (f32, f32, f32, f32),
    a: Rgb,
    b: Rgb,
    seed: &mut Seed,
) {
    let corner = seed.below(4);
    let (cx, cy) = [(x, y), (x + tw, y), (x + tw, y + th), (x, y + th)][corner];
    let start = corner as f32 * TURN / 4.0;
    let pie = |r: f32| {
        let mut points = vec![(cx, cy)];
        points.extend(
            (0..=36)
                .map(|k| start + TURN / 4.0 * k as f32 / 36.0)
                .map(|t| (cx + r * tw * cos(t), cy + r * th * sin(t))),
        );
        Shape::polygon(points)
    };
    let ink = |c: Rgb| {
        shaded(
            c,
            (cx, cy),
            (
                x + tw / 2.0 + (x + tw / 2.0 - cx),
                y + th / 2.0 + (y + th / 2.0 - cy),
            ),
        )
    };
    match seed.below(6) {
        0 => {
            for (k, c) in [(1.0, a), (0.75, b), (0.5, a), (0.25, b)] {
                studio.canvas.fill(&pie(k), &ink(c));
            }
        }
        1 => {
            studio.canvas.fill(&pie(1.0), &ink(a));
            studio.canvas.fill(
                &Shape::ellipse(x + tw / 2.0, y + th / 2.0, tw * 0.16, th * 0.16),
                &Ink::flat(b),
            );
        }
        2 => {
            studio.canvas.fill(
                &Shape::ellipse(x + tw / 2.0, y + th / 2.0, tw * 0.42, th * 0.42),
                &ink(a),
            );
            let half: Vec<Point> = (0..=40)
                .map(|k| start + TURN / 2.0 * k as f32 / 40.0)
                .map(|t| {
                    (
                        x + tw / 2.0 + tw * 0.42 * cos(t),
                        y + th / 2.0 + th * 0.42 * sin(t),
                    )
                })
                .collect();
            studio.canvas.fill(&Shape::polygon(half), &ink(b));
        }
        3 => {
            let (ox, oy) = (2.0 * x + tw - cx, 2.0 * y + th - cy);
            let bow = |fx: f32, fy: f32, tx: f32, ty: f32, mx: f32, my: f32| {
                (0..=24).map(move |k| k as f32 / 24.0).map(move |t| {
                    let u = 1.0 - t;
                    (
                        u * u * fx + 2.0 * u * t * mx + t * t * tx,
                        u * u * fy + 2.0 * u * t * my + t * t * ty,
                    )
                })
            };
            let leaf = bow(cx, cy, ox, oy, ox, cy)
                .chain(bow(ox, oy, cx, cy, cx, oy))
                .collect();
            studio.canvas.fill(&Shape::polygon(leaf), &ink(a));
            studio.canvas.fill(
                &stroke(&[(cx, cy), (ox, oy)], tw * 0.02, tw * 0.02),
                &Ink::flat(b),
            );
        }
        4 => studio.canvas.fill(
            &Shape::polygon(vec![
                (cx, cy),
                (2.0 * x + tw - cx, cy),
                (cx, 2.0 * y + th - cy),
            ]),
            &ink(a),
        ),
        _ => {
            for i in 0..4 {
                studio.canvas.fill(
                    &Shape::rect(
                        x + tw * (0.06 + 0.25 * i as f32),
                        y + th * 0.1,
                        tw * 0.12,
                        th * 0.8,
                    ),
                    &ink(if i % 2 == 0 { a } else { b }),
                );
            }
        }
    }
}

/// Discs, bars, arcs and dots that float over paper, on one diagonal.
fn forms(studio: &mut Studio<'_>, colours: &[Rgb; 6], seed: &mut Seed) {
    let (w, h, s) = (studio.canvas.w(), studio.canvas.h(), studio.canvas.short());
    studio.canvas.fill(
        &Shape::rect(0.0, 0.0, w, h),
        &Ink::down(
            &[colours[0].lift(0.02), colours[0], colours[0].lift(-0.05)],
            0.0,
            h,
        )
        .stippled(0.4),
    );
    let count = ((w / s).max(h / s) * 9.0) as usize + 4;
    let slope = seed.range(-0.5, 0.5);
    for i in 0..count {
        let t = (i as f32 + 0.5) / count as f32;
        let (bx, by) = if w >= h {
            (t * w, h * (0.5 + slope * (t - 0.5)))
        } else {
            (w * (0.5 + slope * (t - 0.5)), t * h)
        };
        let at = (
            bx + s * seed.range(-0.22, 0.22),
            by + s * seed.range(-0.28, 0.28),
        );
        let tone = colours[1 + (i + seed.below(2)) % 5];
        let r = s * seed.range(0.05, 0.20);
        let ink = shaded(tone, (at.0 - r, at.1 - r), (at.0 + r, at.1 + r)).faint(0.92);
        match seed.below(6) {
            0 | 1 => studio.canvas.fill(&Shape::ellipse(at.0, at.1, r, r), &ink),
            2 => {
                let turn = seed.unit() * TURN;
                let half = (0..=48)
                    .map(|k| turn + TURN / 2.0 * k as f32 / 48.0)
                    .map(|a| (at.0 + r * cos(a), at.1 + r * sin(a)))
                    .collect();
                studio.canvas.fill(&Shape::polygon(half), &ink);
            }
            3 => {
                let turn = seed.unit() * TURN;
                for k in 0..4 {
                    let d = r * (1.0 - 0.2 * k as f32);
                    let arc: Vec<Point> = (0..=40)
                        .map(|j| turn + TURN * 0.42 * j as f32 / 40.0)
                        .map(|a| (at.0 + d * cos(a), at.1 + d * sin(a)))
                        .collect();
                    studio
                        .canvas
                        .fill(&stroke(&arc, r * 0.07, r * 0.07), &Ink::flat(tone));
                }
            }
            4 => {
                let a = slope + seed.range(-0.9, 0.9);
                let (dx, dy) = (cos(a) * r * 2.0, sin(a) * r * 2.0);
                studio.canvas.fill(
                    &stroke(
                        &[(at.0 - dx, at.1 - dy), (at.0 + dx, at.1 + dy)],
                        r * 0.22,
                        r * 0.22,
                    ),
                    &ink,
                );
                studio.canvas.dot(
                    (at.0 + dx * 1.15, at.1 + dy * 1.15),
                    r * 0.16,
                    colours[4],
                    1.0,
                );
            }
            _ => {
                let a = seed.unit() * TURN;
                let p = |k: f32| {
                    (
                        at.0 + r * cos(a + k * TURN / 3.0),
                        at.1 + r * sin(a + k * TURN / 3.0),
                    )
                };
                studio
                    .canvas
                    .fill(&Shape::polygon(vec![p(0.0), p(1.0), p(2.0)]), &ink);
            }
        }
    }
    for _ in 0..count {
        let at = (seed.unit() * w, seed.unit() * h);
        let tone = colours[1 + seed.below(5)];
        studio
            .canvas
            .dot(at, s * seed.range(0.003, 0.010), tone, 1.0);
    }
    for _ in 0..4 {
        let (a, b) = (
            (seed.unit() * w, seed.unit() * h),
            (seed.unit() * w, seed.unit() * h),
        );
        studio.canvas.fill(
            &stroke(&[a, b], s * 0.002, s * 0.004),
            &Ink::flat(colours[4]),
        );
    }
}

/// Folds of colour, one behind the other, under a disc.
fn waves(studio: &mut Studio<'_>, colours: &[Rgb; 6], seed: &mut Seed) {
    let (w, h, s) = (studio.canvas.w(), studio.canvas.h(), studio.canvas.short());
    studio.canvas.fill(
        &Shape::rect(0.0, 0.0, w, h),
        &Ink::down(&[colours[0], colours[0].to(colours[2], 0.35)], 0.0, h).stippled(0.3),
    );
    let centre = (studio.sun.0, h * 0.30);
    studio.canvas.fill(
        &Shape::ellipse(centre.0, centre.1, s * 0.17, s * 0.17),
        &shaded(
            colours[1],
            (centre.0, centre.1 - s * 0.17),
            (centre.0, centre.1 + s * 0.22),
        ),
    );
    let count = (6.0 * (h / s).sqrt()) as usize + 3;
    for i in 0..count {
        let t = i as f32 / count as f32;
        let (base, key) = (h * (0.26 + 0.74 * t), seed.bits() as u32);
        let tone = colours[1 + i % 5].to(colours[0], 0.30 * (1.0 - t));
        let swing = s * (0.10 + 0.14 * t);
        let phase = seed.unit() * TURN;
        let toward = if studio.right {
            (-0.4, -0.9)
        } else {
            (0.4, -0.9)
        };
        let ink = Ink::down(
            &[tone.lift(0.07), tone, tone.lift(-0.12)],
            base - swing,
            base + h * 0.16,
        )
        .stippled(0.7)
        .lit(Edge {
            toward,
            reach: s * 0.02,
            colour: hex(0xFFF3D8),
            strength: 0.6,
        });
        let line = |x: f32| {
            base + swing * (sin(x / s * 2.6 + phase) * 0.5 + rough(key, x / s * 0.8) - 0.5)
        };
        bank::fill(studio, line, h + s, &ink);
    }
}
